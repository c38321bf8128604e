package admin

import (
	"encoding/json"
	"net/http"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
)

// configAll answers GET …/_config.
func configAll(r *couchhttp.Request) error {
	s := r.API.Config.Snapshot()
	all := map[string]map[string]string{}
	for _, section := range s.Sections() {
		all[section] = shownSection(s, section)
	}
	return r.Marshal(http.StatusOK, all)
}

// configSection answers GET …/_config/{section}.
func configSection(r *couchhttp.Request) error {
	return r.Marshal(http.StatusOK, shownSection(r.API.Config.Snapshot(), r.Arg("section")))
}

func shownSection(s *config.Snapshot, section string) map[string]string {
	values := s.Section(section)
	for key, value := range values {
		values[key] = config.Shown(config.Setting{Section: section, Key: key, Value: value})
	}
	return values
}

// configGet answers GET …/_config/{section}/{key}.
func configGet(r *couchhttp.Request) error {
	value, ok := r.API.Config.Get(r.Arg("section"), r.Arg("key"))
	if !ok {
		return config.ErrUnknown
	}
	return text(r, config.Shown(setting(r, value)))
}

func setting(r *couchhttp.Request, value string) config.Setting {
	return config.Setting{Section: r.Arg("section"), Key: r.Arg("key"), Value: value}
}

// text answers with a JSON string.
func text(r *couchhttp.Request, s string) error {
	return r.JSON(http.StatusOK, couchhttp.AppendString(nil, s))
}

// persists reports whether a change is to be written to the file: unless the
// header says otherwise, as in CouchDB.
func persists(r *couchhttp.Request) bool { return r.Header("X-Couch-Persist") != "false" }

// configPut answers PUT …/_config/{section}/{key} with the old value. A clear
// password of an administrator is stored as its hash.
func configPut(r *couchhttp.Request) error {
	if err := config.CheckWritable(r.Arg("section")); err != nil {
		return err
	}
	if r.Arg("section") == "admins" {
		if err := auth.CheckName(r.Arg("key")); err != nil {
			return err
		}
	}
	raw, err := r.Body(nil)
	if err != nil {
		return err
	}
	if err := couchhttp.CheckJSON(raw); err != nil {
		return err
	}
	var value string
	if json.Unmarshal(raw, &value) != nil {
		return dberr.New(dberr.Invalid, "bad_request", "Only JSON strings are accepted as configuration values")
	}
	if err := config.CheckValue(setting(r, value)); err != nil {
		return err
	}
	if r.Arg("section") == "admins" && value != "" && !r.Query.Is("raw") {
		if value, err = auth.HashAdmin(r.API.Config.Snapshot(), value); err != nil {
			return err
		}
	}
	old, err := r.API.Config.Set(setting(r, value), persists(r))
	if err != nil {
		return err
	}
	warn(r, config.Warning(setting(r, value)))
	return changed(r, old)
}

// changed answers a change of a setting with the old value. A database that is named
// the users' gets its design document.
func changed(r *couchhttp.Request, old string) error {
	if r.Arg("key") == "authentication_db" {
		if err := r.API.MakeAuthDesign(r.Ctx()); err != nil {
			return err
		}
	}
	return text(r, config.Shown(setting(r, old)))
}

// configDelete answers DELETE …/_config/{section}/{key} with the old value.
func configDelete(r *couchhttp.Request) error {
	if err := config.CheckWritable(r.Arg("section")); err != nil {
		return err
	}
	old, err := r.API.Config.Delete(r.Arg("section"), r.Arg("key"), persists(r))
	if err != nil {
		return err
	}
	return changed(r, old)
}

// configReload answers POST …/_config/_reload.
func configReload(r *couchhttp.Request) error {
	if err := r.Drain(); err != nil {
		return err
	}
	if err := r.API.Config.Reload(); err != nil {
		return err
	}
	if err := r.API.MakeAuthDesign(r.Ctx()); err != nil {
		return err
	}
	warnings := r.API.Config.Snapshot().Warnings()
	for _, w := range warnings[:min(len(warnings), maxWarnings)] {
		warn(r, w)
	}
	return r.OK(http.StatusOK)
}

// WarningHeader reports a setting that has no effect.
const WarningHeader = "X-Sectional-Warning"

// maxWarnings is how many warnings an answer has; the log has them all.
const maxWarnings = 10

// warn puts a warning beside the answer.
func warn(r *couchhttp.Request, warning string) {
	if warning != "" {
		r.Answer().Add(WarningHeader, warning)
	}
}
