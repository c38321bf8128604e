package couchapi

import (
	"encoding/json"
	"net/http"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
)

// configAll answers GET …/_config.
func configAll(r *request) error {
	s := r.api.config.Snapshot()
	all := map[string]map[string]string{}
	for _, section := range s.Sections() {
		all[section] = shownSection(s, section)
	}
	return r.marshal(http.StatusOK, all)
}

// configSection answers GET …/_config/{section}.
func configSection(r *request) error {
	return r.marshal(http.StatusOK, shownSection(r.api.config.Snapshot(), r.arg("section")))
}

func shownSection(s *config.Snapshot, section string) map[string]string {
	values := s.Section(section)
	for key, value := range values {
		values[key] = config.Shown(config.Setting{Section: section, Key: key, Value: value})
	}
	return values
}

// configGet answers GET …/_config/{section}/{key}.
func configGet(r *request) error {
	value, ok := r.api.config.Get(r.arg("section"), r.arg("key"))
	if !ok {
		return config.ErrUnknown
	}
	return r.text(config.Shown(r.setting(value)))
}

func (r *request) setting(value string) config.Setting {
	return config.Setting{Section: r.arg("section"), Key: r.arg("key"), Value: value}
}

// text answers with a JSON string.
func (r *request) text(s string) error { return r.json(http.StatusOK, appendString(nil, s)) }

// persists reports whether a change is to be written to the file: unless the
// header says otherwise, as in CouchDB.
func (r *request) persists() bool { return r.Header("X-Couch-Persist") != "false" }

// configPut answers PUT …/_config/{section}/{key} with the old value. A clear
// password of an administrator is stored as its hash.
func configPut(r *request) error {
	if err := config.CheckWritable(r.arg("section")); err != nil {
		return err
	}
	if r.arg("section") == "admins" {
		if err := auth.CheckName(r.arg("key")); err != nil {
			return err
		}
	}
	raw, err := r.Body(nil)
	if err != nil {
		return err
	}
	if err := checkJSON(raw); err != nil {
		return err
	}
	var value string
	if json.Unmarshal(raw, &value) != nil {
		return dberr.New(dberr.Invalid, "bad_request", "Only JSON strings are accepted as configuration values")
	}
	if err := config.CheckValue(r.setting(value)); err != nil {
		return err
	}
	if r.arg("section") == "admins" && value != "" && !r.Query.Is("raw") {
		if value, err = auth.HashAdmin(r.api.config.Snapshot(), value); err != nil {
			return err
		}
	}
	old, err := r.api.config.Set(r.setting(value), r.persists())
	if err != nil {
		return err
	}
	r.warn(config.Warning(r.setting(value)))
	return r.changed(old)
}

// changed answers a change of a setting with the old value. A database that is named
// the users' gets its design document.
func (r *request) changed(old string) error {
	if r.arg("key") == "authentication_db" {
		if err := r.api.makeAuthDesign(r.Ctx()); err != nil {
			return err
		}
	}
	return r.text(config.Shown(r.setting(old)))
}

// configDelete answers DELETE …/_config/{section}/{key} with the old value.
func configDelete(r *request) error {
	if err := config.CheckWritable(r.arg("section")); err != nil {
		return err
	}
	old, err := r.api.config.Delete(r.arg("section"), r.arg("key"), r.persists())
	if err != nil {
		return err
	}
	return r.changed(old)
}

// configReload answers POST …/_config/_reload.
func configReload(r *request) error {
	if err := r.Drain(); err != nil {
		return err
	}
	if err := r.api.config.Reload(); err != nil {
		return err
	}
	if err := r.api.makeAuthDesign(r.Ctx()); err != nil {
		return err
	}
	warnings := r.api.config.Snapshot().Warnings()
	for _, w := range warnings[:min(len(warnings), mostWarnings)] {
		r.warn(w)
	}
	return r.ok(http.StatusOK)
}

// warningHeader tells of a setting that has no effect.
const warningHeader = "X-Sectional-Warning"

// mostWarnings is how many warnings an answer tells; the log has them all.
const mostWarnings = 10

// warn puts a warning beside the answer.
func (r *request) warn(warning string) {
	if warning != "" {
		r.Answer().Add(warningHeader, warning)
	}
}
