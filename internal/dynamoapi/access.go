package dynamoapi

import (
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
	t, err := r.enter(name, write)
	if err != nil {
		return nil, err
	}
	err = t.db.Whole().View(r.Ctx(), func(rd *store.Reader) error { return r.api.define(t, rd) })
	return t, noTable(err)
}

// viewTable opens a table and has it read at the snapshot that its definition is of; errors as
// of table, and fn's.
func (r *Request) viewTable(name string, fn func(t *tableAt, rd *store.Reader) error) error {
	t, err := r.enter(name, false)
	if err != nil {
		return err
	}
	return noTable(t.db.Whole().View(r.Ctx(), func(rd *store.Reader) error {
		if err := r.api.define(t, rd); err != nil {
			return err
		}
		return fn(t, rd)
	}))
}

// enter opens a table, without its definition.
func (r *Request) enter(name string, write bool) (*tableAt, error) {
	if r.Database == "" {
		r.Database = name
	}
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
	r.Database = name
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

// definitions remembers what tables' design documents say, so that they are neither read
// nor parsed at each request. What it remembers counts only for the version of the
// database's definitions that a snapshot has.
type definitions struct {
	sync.RWMutex
	known map[uint64]definition // by the number of the database
}

type definition struct {
	version uint64
	*table.Definition
}

// maxDefinitions bounds the memory; beyond it everything is parsed anew.
const maxDefinitions = 10000

func (ds *definitions) get(db, version uint64) *table.Definition {
	ds.RLock()
	defer ds.RUnlock()
	if d, ok := ds.known[db]; ok && d.version == version {
		return d.Definition
	}
	return nil
}

func (ds *definitions) put(db uint64, d definition) {
	ds.Lock()
	defer ds.Unlock()
	if ds.known == nil || len(ds.known) >= maxDefinitions {
		ds.known = map[uint64]definition{}
	}
	ds.known[db] = d
}

// define gives a table its definition at a snapshot of the database. Errors:
// ResourceNotFoundException for a database that is no table.
func (a *API) define(t *tableAt, rd *store.Reader) (err error) {
	if t.Definition, err = a.definitionAt(rd); err == nil && t.IDs && !t.db.Partitioned() {
		err = errNoTable
	}
	return err
}

// definitionAt reads the definition of a database's table: that of its design document, or
// of what it is without one.
func (a *API) definitionAt(rd *store.Reader) (*table.Definition, error) {
	db := rd.Database()
	version, err := rd.DefinitionsVersion()
	if err != nil {
		return nil, err
	}
	if known := a.definitions.get(db.Number(), version); known != nil {
		return known, nil
	}
	d, err := readDefinition(rd)
	if err == nil {
		a.definitions.put(db.Number(), definition{version, d})
	}
	return d, err
}

func readDefinition(rd *store.Reader) (*table.Definition, error) {
	opened := table.Opened(rd.Database().Created())
	w, err := rd.Winner(table.DesignID)
	if dberr.Is(err, dberr.NotFound) || err == nil && w.Deleted {
		return opened, nil
	}
	if err != nil {
		return nil, err
	}
	d, err := table.Parse(w.Body)
	if err != nil || d == nil {
		return opened, nil //nolint:nilerr // written through the other API: it is no table's
	}
	return d, nil
}
