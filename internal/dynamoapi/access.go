package dynamoapi

import (
	"errors"
	"sync"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/table"
)

// region and account are those in the names of resources. There is one of each.
const (
	region  = "sectional"
	account = "000000000000"
)

// arn returns the name of a table as a resource.
func arn(name string) string { return "arn:aws:dynamodb:" + region + ":" + account + ":table/" + name }

// tableAt is a table that a request is about.
type tableAt struct {
	*table.Definition
	name     string
	db       *store.Database
	security *auth.Security
}

// table opens a table, for reading or writing. Who is a member of the database may do
// so; whom rules let in is asked about each partition (mayPartition). Errors:
// ResourceNotFoundException, AccessDeniedException.
func (r *Request) table(name string, write bool) (*tableAt, error) {
	if !r.mayTable(name, write) {
		return nil, r.denied(name) // also for a table that is not there
	}
	t := &tableAt{name: name}
	database, ok := table.DatabaseOf(name)
	if !ok {
		return nil, errNoTable
	}
	var err error
	if t.db, err = r.api.Store.Database(r.Ctx(), database); err != nil {
		return nil, noTable(err)
	}
	if t.security, err = r.api.Rules.Security(t.db); err != nil {
		return nil, err
	}
	if !r.mayEnter(t, write) {
		return nil, r.denied(name)
	}
	if t.Definition, err = r.api.definition(r, t.db); err != nil {
		return nil, err
	}
	if t.IDs && !t.db.Partitioned() {
		return nil, errNoTable
	}
	return t, nil
}

// noTable is the error for a database that is not there.
func noTable(err error) error {
	if dberr.Is(err, dberr.NotFound) {
		return errNoTable
	}
	return err
}

// mayEnter reports whether the caller may do something in a table, if not everything.
func (r *Request) mayEnter(t *tableAt, write bool) bool {
	switch c := r.Caller; {
	case c.IsAdmin(), t.security.Rules(c):
		return true
	case write:
		return t.security.CheckWrite(c) == nil
	default:
		return t.security.Check(c, auth.Reader) == nil
	}
}

// mayAll reports whether the caller may read all partitions of a table, or write to them.
func (r *Request) mayAll(t *tableAt, write bool) bool {
	if r.Caller.IsAdmin() {
		return true
	}
	if write {
		return t.security.MayWrite(r.Caller)
	}
	return t.security.IsMember(r.Caller)
}

// mayPartition refuses a caller who may not read the partition, or write to it.
func (r *Request) mayPartition(t *tableAt, p document.Partition, write bool) error {
	need := auth.ReadAccess
	if write {
		need = auth.WriteAccess
	}
	if r.mayAll(t, write) || t.security.CheckPartition(r.Caller, p, need) == nil {
		return nil
	}
	return r.denied(t.name)
}

// requireAdmin refuses who does not administer the server: only administrators make and
// drop databases.
func (r *Request) requireAdmin(name string) error {
	if r.Caller.IsAdmin() && r.mayTable(name, true) {
		return nil
	}
	return r.denied(name)
}

// denied is AWS's refusal.
func (r *Request) denied(name string) error {
	return dberr.New(dberr.Forbidden, accessDenied, "User: arn:aws:iam::%s:user/%s is not authorized to perform: dynamodb:%s on resource: %s",
		account, r.Caller.Name, r.action.name, arn(name))
}

// definitions remembers what tables' design documents say, by their revisions, so that
// they are not parsed at each request. What it remembers counts only for the revision that
// a snapshot has.
type definitions struct {
	sync.RWMutex
	known map[uint64]definition // by the number of the database
}

type definition struct {
	rev document.Rev
	*table.Definition
}

// mostDefinitions bounds the memory; beyond it everything is parsed anew.
const mostDefinitions = 10000

func (ds *definitions) get(db uint64, rev document.Rev) *table.Definition {
	ds.RLock()
	defer ds.RUnlock()
	if d, ok := ds.known[db]; ok && d.rev == rev {
		return d.Definition
	}
	return nil
}

func (ds *definitions) put(db uint64, d definition) {
	ds.Lock()
	defer ds.Unlock()
	if ds.known == nil || len(ds.known) >= mostDefinitions {
		ds.known = map[uint64]definition{}
	}
	ds.known[db] = d
}

// definition reads the definition of a database's table: that of its design document, or
// of what it is without one.
func (a *API) definition(r *Request, db *store.Database) (d *table.Definition, err error) {
	err = db.Whole().View(r.Ctx(), func(rd *store.Reader) error {
		d, err = a.definitionAt(rd)
		return err
	})
	return d, noTable(err)
}

func (a *API) definitionAt(rd *store.Reader) (*table.Definition, error) {
	db := rd.Database()
	w, err := rd.Winner(table.DesignID)
	if dberr.Is(err, dberr.NotFound) || err == nil && w.Deleted {
		return table.Opened(db.Created()), nil
	}
	if err != nil {
		return nil, err
	}
	if known := a.definitions.get(db.Number(), w.Rev); known != nil {
		return known, nil
	}
	d, err := table.Parse(w.Body)
	if err == nil && d == nil {
		err = errors.New("the design document of a table defines none")
	}
	if err != nil {
		return table.Opened(db.Created()), nil //nolint:nilerr // written through the other API: it is no table's
	}
	a.definitions.put(db.Number(), definition{w.Rev, d})
	return d, nil
}
