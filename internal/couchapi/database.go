package couchapi

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/store"
)

// databaseInfo answers GET /{db}, and the same of a partition.
func databaseInfo(r *request) error {
	b, err := r.appendInfo(nil, r.scope)
	if err != nil {
		return err
	}
	return r.json(http.StatusOK, b)
}

// appendInfo appends the information on a database, or on a partition, which has
// the same members and its name besides.
func (r *request) appendInfo(b []byte, s store.Scope) ([]byte, error) {
	t, err := s.Totals(r.Ctx())
	if err != nil {
		return nil, err
	}
	made, err := s.Made(r.Ctx())
	if err != nil {
		return nil, err
	}
	db := s.Database()
	b = appendStart(append(b, `{"instance_start_time":`...), made)
	b = append(b, `,"db_name":`...)
	b = appendString(b, s.Name())
	if p := s.Partition(); p != "" {
		b = appendString(append(b, `,"partition":`...), string(p))
	}
	b = append(b, `,"purge_seq":"`...)
	b = strconv.AppendUint(b, t.PurgeSeq, 10)
	b = append(b, `","update_seq":`...)
	b = appendString(b, s.FormatSeq(t.Seq))
	b = appendCount(b, `,"sizes":{"file":`, t.File)
	b = appendCount(b, `,"external":`, t.External)
	b = appendCount(b, `,"active":`, t.Active)
	b = append(b, `},"props":{`...)
	if s.Partitioned() {
		b = append(b, `"partitioned":true`...)
	}
	b = appendCount(b, `},"doc_del_count":`, t.Deleted)
	b = appendCount(b, `,"doc_count":`, t.Docs)
	b = append(b, `,"disk_format_version":8,"compact_running":`...)
	b = strconv.AppendBool(b, r.api.Tasks.Runs(compactionOf(db.Name())))
	return append(b, `,"cluster":{"q":1,"n":1,"w":1,"r":1}}`...), nil
}

// appendStart appends the time since when there is what a scope shows: a replicator
// that sees it change knows that it no longer writes to the database it began with.
func appendStart(b []byte, made time.Time) []byte {
	b = strconv.AppendInt(append(b, '"'), made.UnixMilli(), 10)
	return append(b, '"')
}

func appendCount(b []byte, name string, n uint64) []byte {
	return strconv.AppendUint(append(b, name...), n, 10)
}

// creation is what PUT /{db} takes of a query.
type creation struct{ store.Creation }

var creationParams = params[creation]{
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
func createDatabase(r *request) error {
	name := r.arg("db")
	if err := r.Drain(); err != nil {
		return err
	}
	var c creation
	if err := creationParams.read(r.Query, &c); err != nil {
		return err
	}
	if err := store.ParseName(name); err != nil {
		return err
	}
	if c.Partitioned && r.api.isSystemName(name) {
		return dberr.New(dberr.Invalid, "bad_request", "Cannot partition a system database")
	}
	c.Security = r.api.settings.Value().defaultAccess.JSON()
	if _, err := r.api.store.Create(r.Ctx(), name, c.Creation); err != nil {
		return err
	}
	if name == r.api.auth.UsersDB() {
		if err := r.api.makeAuthDesign(r.Ctx()); err != nil {
			return err
		}
	}
	r.location()
	return r.ok(http.StatusCreated)
}

// isSystemName reports whether a database is one of the system's, which is
// never partitioned: one of users, or by its whole name or its last part.
func (a *API) isSystemName(name string) bool {
	last := name[strings.LastIndexByte(name, '/')+1:]
	switch name {
	case replicatorDB, "_global_changes", "_dbs", "_nodes":
		return true
	}
	return a.auth.IsUsersDB(name) || last != name && last == replicatorDB
}

// deleteDatabase answers DELETE /{db}.
func deleteDatabase(r *request) error {
	if _, ok := r.Query.Get("rev"); ok {
		return dberr.New(dberr.Invalid, "bad_request", "You tried to DELETE a database with a ?=rev parameter. Did you mean to DELETE a document instead?")
	}
	if err := r.api.store.Drop(r.Ctx(), r.arg("db")); err != nil {
		return err
	}
	return r.ok(http.StatusOK)
}
