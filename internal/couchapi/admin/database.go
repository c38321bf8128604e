package admin

import (
	"net/http"
	"strconv"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
)

// databaseInfo answers GET /{db}, and the same of a partition.
func databaseInfo(r *couchhttp.Request) error {
	b, err := r.AppendInfo(nil, r.Scope)
	if err != nil {
		return err
	}
	return r.JSON(http.StatusOK, b)
}

// creation is what PUT /{db} takes of a query.
type creation struct{ store.Creation }

var creationParams = couchhttp.Params[creation]{
	"q": shardCount("q"),
	"n": shardCount("n"),
	"partitioned": func(c *creation, v string) error {
		c.Partitioned = v == "true"
		if v != "true" && v != "false" {
			return dberr.New(dberr.Invalid, "bad_request", "Invalid `partitioned` parameter")
		}
		return nil
	},
}

// shardCount checks a count of shards or copies, which has no effect here.
func shardCount(name string) func(*creation, string) error {
	return func(_ *creation, v string) error {
		if n, err := strconv.Atoi(v); err != nil || n < 1 {
			return dberr.New(dberr.Invalid, "bad_request", "The `"+name+"` value should be a positive integer.")
		}
		return nil
	}
}

// createDatabase answers PUT /{db}. Its body is not looked at.
func createDatabase(r *couchhttp.Request) error {
	name := r.Arg("db")
	if err := r.Drain(); err != nil {
		return err
	}
	var c creation
	if err := creationParams.Read(r.Query, &c); err != nil {
		return err
	}
	if err := store.ParseName(name); err != nil {
		return err
	}
	if c.Partitioned && r.API.IsSystemName(name) {
		return dberr.New(dberr.Invalid, "bad_request", "Cannot partition a system database")
	}
	c.Security = r.API.Settings.Value().DefaultAccess.JSON()
	if _, err := r.API.Store.Create(r.Ctx(), name, c.Creation); err != nil {
		return err
	}
	if name == r.API.Auth.UsersDB() {
		if err := r.API.MakeAuthDesign(r.Ctx()); err != nil {
			return err
		}
	}
	r.Location()
	return r.OK(http.StatusCreated)
}

// deleteDatabase answers DELETE /{db}.
func deleteDatabase(r *couchhttp.Request) error {
	if _, ok := r.Query.Get("rev"); ok {
		return dberr.New(dberr.Invalid, "bad_request", "You tried to DELETE a database with a ?=rev parameter. Did you mean to DELETE a document instead?")
	}
	if err := r.API.Store.Drop(r.Ctx(), r.Arg("db")); err != nil {
		return err
	}
	return r.OK(http.StatusOK)
}
