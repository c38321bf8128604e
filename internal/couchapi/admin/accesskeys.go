package admin

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// accessKeyRoutes are the access keys of users, for the DynamoDB API.
func accessKeyRoutes() []couchhttp.Route {
	return []couchhttp.Route{
		{Methods: "GET", Pattern: "/_access_keys/{user}", Rights: couchhttp.AdminOnly, Run: listAccessKeys, Class: couchhttp.ClassAdmin, Allow: "GET,POST"},
		{Methods: "POST", Pattern: "/_access_keys/{user}", Rights: couchhttp.AdminOnly, Run: createAccessKey, Class: couchhttp.ClassAdmin},
		{Methods: "DELETE", Pattern: "/_access_keys/{user}/{key}", Rights: couchhttp.AdminOnly, Run: revokeAccessKey, Class: couchhttp.ClassAdmin},
	}
}

// keyAnswer is a key in answers; only the one that makes it has the secret.
type keyAnswer struct {
	OK   bool   `json:"ok"`
	User string `json:"user"`
	auth.AccessKey
	Secret string `json:"secret"`
}

// createAccessKey answers POST /_access_keys/{user}: it makes a key, for the tables and
// the access that the body names, and shows the secret this once.
func createAccessKey(r *couchhttp.Request) error {
	want, err := wantedKey(r)
	if err != nil {
		return err
	}
	name := r.Arg("user")
	k, err := r.API.Auth.NewAccessKey(name)
	if err != nil {
		return err
	}
	k.Tables, k.ReadOnly = want.Tables, want.ReadOnly
	err = changeAccessKeys(r, name, func(keys []auth.AccessKey) ([]auth.AccessKey, error) { return append(keys, k), nil })
	if err != nil {
		return err
	}
	return r.Marshal(http.StatusCreated, keyAnswer{true, name, k, r.API.Auth.AccessSecret(k.ID)})
}

// wantedKey reads the body: an object with tables and read_only, or nothing.
func wantedKey(r *couchhttp.Request) (want auth.AccessKey, err error) {
	raw, err := r.Body(nil)
	if err != nil || len(raw) == 0 {
		return want, err
	}
	var asked struct {
		Tables   []string `json:"tables"`
		ReadOnly bool     `json:"read_only"`
	}
	if json.Unmarshal(raw, &asked) != nil {
		return want, dberr.New(dberr.Invalid, "bad_request", "An access key may have `tables`, a list of names, and `read_only`.")
	}
	if asked.Tables != nil && len(asked.Tables) == 0 {
		return want, dberr.New(dberr.Invalid, "bad_request", "An access key for no table is of no use: leave out `tables` for all.")
	}
	return auth.AccessKey{Tables: asked.Tables, ReadOnly: asked.ReadOnly}, nil
}

// listAccessKeys answers GET /_access_keys/{user}, without secrets.
func listAccessKeys(r *couchhttp.Request) error {
	name := r.Arg("user")
	db, err := usersDatabase(r, name)
	if err != nil {
		return err
	}
	keys := []auth.AccessKey{}
	err = db.Whole().View(r.Ctx(), func(rd *store.Reader) error {
		w, err := rd.Winner(userID(name))
		if dberr.Is(err, dberr.NotFound) || err == nil && w.Deleted {
			return nil
		}
		if err != nil {
			return err
		}
		found, err := auth.AccessKeysOf(w.Body)
		keys = append(keys, found...)
		return err
	})
	if err != nil {
		return err
	}
	return r.Marshal(http.StatusOK, struct {
		User string           `json:"user"`
		Keys []auth.AccessKey `json:"access_keys"`
	}{name, keys})
}

// revokeAccessKey answers DELETE /_access_keys/{user}/{key}: from the answer on nothing
// that the key signs is accepted.
func revokeAccessKey(r *couchhttp.Request) error {
	id := r.Arg("key")
	err := changeAccessKeys(r, r.Arg("user"), func(keys []auth.AccessKey) ([]auth.AccessKey, error) {
		at := slices.IndexFunc(keys, func(k auth.AccessKey) bool { return k.ID == id })
		if at < 0 {
			return nil, dberr.New(dberr.NotFound, "not_found", "The user has no such access key.")
		}
		return slices.Delete(slices.Clone(keys), at, at+1), nil
	})
	if err != nil {
		return err
	}
	return r.OK(http.StatusOK)
}

func userID(name string) document.ID { return document.ID(auth.UserPrefix + name) }

// usersDatabase opens the database of users, if there is the user: one with a document, or
// an administrator of the configuration.
func usersDatabase(r *couchhttp.Request, name string) (*store.Database, error) {
	u, err := r.API.Auth.Named(r.Ctx(), name)
	if err == nil && u == nil {
		err = dberr.New(dberr.NotFound, "not_found", "There is no user of that name.")
	}
	if err != nil {
		return nil, err
	}
	return r.API.Store.Database(r.Ctx(), r.API.Auth.UsersDB())
}

// changeAccessKeys changes which keys a user document lists.
func changeAccessKeys(r *couchhttp.Request, name string, change func([]auth.AccessKey) ([]auth.AccessKey, error)) error {
	db, err := usersDatabase(r, name)
	if err != nil {
		return err
	}
	decide := func(now document.Current) (d document.Decision, err error) {
		var keys []auth.AccessKey
		if now.Exists() {
			if keys, err = auth.AccessKeysOf(now.Body); err != nil {
				return d, err
			}
		}
		if keys, err = change(keys); err != nil {
			return d, err
		}
		d.Body, err = auth.WithAccessKeys(name, now.Body, keys)
		return d, err
	}
	results, err := db.Whole().Write(r.Ctx(), []document.Edit{{ID: userID(name), Decide: decide}}, store.WriteOptions{})
	if err == nil {
		err = results[0].Err
	}
	return err
}
