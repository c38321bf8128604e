package admin

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// cloudantRoutes are what Cloudant has below /_api/v2 and is of use to a server
// that belongs to one operator.
func cloudantRoutes() []couchhttp.Route {
	return []couchhttp.Route{
		{Methods: "POST", Pattern: "/_api/v2/api_keys", Rights: couchhttp.AdminOnly, Run: makeAPIKey, Class: couchhttp.ClassAdmin},
		{Methods: "GET", Pattern: "/_api/v2/db/{db}/_security", Rights: couchhttp.Securer, Run: GetSecurity, Class: couchhttp.ClassAdmin, Allow: "GET,PUT"},
		{Methods: "PUT", Pattern: "/_api/v2/db/{db}/_security", Rights: couchhttp.Securer, Run: putSecurity, Class: couchhttp.ClassAdmin},
		{Methods: "GET", Pattern: "/_api/v2/user/config/cors", Rights: couchhttp.AdminOnly, Run: getCORS, Class: couchhttp.ClassAdmin, Allow: "GET,PUT"},
		{Methods: "PUT", Pattern: "/_api/v2/user/config/cors", Rights: couchhttp.AdminOnly, Run: putCORS, Class: couchhttp.ClassAdmin},
	}
}

// makeAPIKey answers POST /_api/v2/api_keys: a user whose name and password are
// made up. The password is shown this once.
func makeAPIKey(r *couchhttp.Request) error {
	if err := r.Drain(); err != nil {
		return err
	}
	var id [16]byte
	var secret [30]byte
	rand.Read(id[:]) // never fails
	rand.Read(secret[:])
	key, password := "apikey-"+hex.EncodeToString(id[:]), base64.RawURLEncoding.EncodeToString(secret[:])
	body, err := json.Marshal(map[string]any{"name": key, "password": password, "roles": []string{}, "type": "user"})
	if err != nil {
		return err
	}
	db, err := r.API.Store.Database(r.Ctx(), r.API.Auth.UsersDB())
	if err != nil {
		return err
	}
	results, err := db.Whole().Write(r.Ctx(), []document.Edit{{ID: document.ID(auth.UserPrefix + key), Body: body}}, store.WriteOptions{})
	if err != nil {
		return err
	}
	if err := results[0].Err; err != nil {
		return err
	}
	return r.Marshal(http.StatusCreated, map[string]any{"ok": true, "key": key, "password": password})
}

// corsSettings are the settings that Cloudant's object stands for.
type corsSettings struct {
	Origins     *[]string `json:"origins"`
	Credentials *bool     `json:"allow_credentials"`
	Enabled     *bool     `json:"enable_cors"`
}

// getCORS answers GET /_api/v2/user/config/cors.
func getCORS(r *couchhttp.Request) error {
	now := r.API.Settings.Value().Web.CORS.For("")
	origins := now.Origins
	if origins == nil {
		origins = []string{}
	}
	return r.Marshal(http.StatusOK, corsSettings{Origins: &origins, Credentials: &now.Credentials, Enabled: &now.Enabled})
}

// putCORS answers PUT /_api/v2/user/config/cors. Origins must be given; of the
// others, what is not given stays as it is.
func putCORS(r *couchhttp.Request) error {
	members, err := r.Object()
	if err != nil {
		return err
	}
	s, err := parseCORSSettings(members)
	if err != nil {
		return err
	}
	list := []config.Setting{{Section: "cors", Key: "origins", Value: strings.Join(*s.Origins, ", ")}}
	if s.Credentials != nil {
		list = append(list, config.Setting{Section: "cors", Key: "credentials", Value: strconv.FormatBool(*s.Credentials)})
	}
	if s.Enabled != nil {
		enable := config.Setting{Section: "chttpd", Key: "enable_cors", Value: strconv.FormatBool(*s.Enabled)}
		if list = append(list, enable); !*s.Enabled {
			list[0], list[len(list)-1] = enable, list[0] // pages are shut out first, and let in last
		}
	}
	for _, setting := range list {
		if _, err := r.API.Config.Set(setting, true); err != nil {
			return err
		}
	}
	return r.OK(http.StatusOK)
}

// parseCORSSettings checks all of the object before anything is set.
func parseCORSSettings(members []document.Member) (s corsSettings, err error) {
	for _, m := range members {
		var into any
		wrong := "`" + m.Name + "` must be true or false."
		switch m.Name {
		case "origins":
			into, wrong = &s.Origins, "`origins` must be a list of strings."
		case "allow_credentials":
			into = &s.Credentials
		case "enable_cors":
			into = &s.Enabled
		default:
			return s, couchhttp.BadRequest("There is no `" + m.Name + "` in the settings for other origins.")
		}
		if json.Unmarshal(m.Value, into) != nil {
			return s, couchhttp.BadRequest(wrong)
		}
	}
	if s.Origins == nil {
		return s, couchhttp.BadRequest("`origins` must be a list of strings.")
	}
	for _, o := range *s.Origins {
		if u, err := url.Parse(o); o != "*" && (err != nil || u.Scheme == "" || u.Host == "" || o != u.Scheme+"://"+u.Host || strings.Contains(o, ",")) {
			return s, couchhttp.BadRequest("An origin is `*`, or a scheme and a host with no path, such as https://example.com; `" + o + "` is none.")
		}
	}
	return s, nil
}
