package peruser

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// world is a Service that does nothing by itself.
type world struct {
	t  *testing.T
	k  *Service
	at store.Seq
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c, err := config.Open(config.Options{Overrides: []config.Setting{{Section: section, Key: "enable", Value: "true"}}})
	must(t, err)
	e, err := pebblekv.Open(pebblekv.Options{Dir: "data", FS: vfs.NewMem()})
	must(t, err)
	w := newWorldOn(t, e, c)
	_, err = w.k.o.Store.Create(t.Context(), auth.UsersDB, store.Creation{})
	must(t, err)
	return w
}

// newWorldOn is the world of a server over an engine, which is closed with it.
func newWorldOn(t *testing.T, e kv.Engine, c *config.Config) *world {
	t.Helper()
	s, err := store.Open(t.Context(), e, store.Options{Idle: true})
	must(t, err)
	t.Cleanup(func() {
		must(t, s.Close())
		must(t, e.Close())
	})
	return &world{t: t, k: newService(Options{Store: s, Config: c, Log: slog.New(slog.DiscardHandler)})}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) set(key, value string) {
	w.t.Helper()
	_, err := w.k.o.Config.Set(config.Setting{Section: section, Key: key, Value: value}, false)
	must(w.t, err)
}

// put writes a document of _users, remove deletes it.
func (w *world) put(id string)    { w.write(document.Edit{ID: document.ID(id), Body: []byte(`{}`)}) }
func (w *world) remove(id string) { w.write(document.Edit{ID: document.ID(id), Deleted: true}) }

func (w *world) write(e document.Edit) {
	w.t.Helper()
	db, err := w.k.o.Store.Database(w.t.Context(), auth.UsersDB)
	must(w.t, err)
	must(w.t, db.Whole().View(w.t.Context(), func(r *store.Reader) error {
		if rev, err := r.Winner(e.ID); err == nil {
			e.Parent = rev.Rev
		}
		return nil
	}))
	results, err := db.Whole().Write(w.t.Context(), []document.Edit{e}, store.WriteOptions{})
	must(w.t, err)
	must(w.t, results[0].Err)
}

// catchUp lets the Service do what there is to do and returns the databases with
// their _security.
func (w *world) catchUp() string {
	w.t.Helper()
	db, err := w.k.o.Store.Database(w.t.Context(), auth.UsersDB)
	must(w.t, err)
	w.at, err = w.k.catchUp(w.t.Context(), w.k.settings.Value(), db, w.at)
	must(w.t, err)
	return strings.Join(w.list(), "\n")
}

func (w *world) list() (out []string) {
	w.t.Helper()
	for name, err := range w.k.o.Store.Names(w.t.Context(), "", "", false) {
		must(w.t, err)
		if name != auth.UsersDB {
			db, err := w.k.o.Store.Database(w.t.Context(), name)
			must(w.t, err)
			out = append(out, fmt.Sprintf("%s %s", name, db.Security()))
		}
	}
	return out
}

func (w *world) check(want ...string) {
	w.t.Helper()
	if got := w.catchUp(); got != strings.Join(want, "\n") {
		w.t.Errorf("there is\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func owned(name string) string {
	return fmt.Sprintf(`{"members":{"roles":["_admin"],"names":[%[1]q]},"admins":{"roles":["_admin"],"names":[%[1]q]}}`, name)
}

const nobodys = `{"members":{"roles":["_admin"],"names":[]},"admins":{"roles":["_admin"],"names":[]}}`

func TestUsersHaveDatabases(t *testing.T) {
	w := newWorld(t)
	w.put("org.couchdb.user:bob")
	w.put("org.couchdb.user:Zoë")
	w.put("org.couchdb.user:" + strings.Repeat("x", 200)) // no database can have such a name
	w.put("_design/x")
	w.put("other")
	w.check("userdb-5a6fc3ab "+owned("Zoë"), "userdb-626f62 "+owned("bob"))

	// What was changed by hand stays, and who was taken out comes back with his next change.
	db, err := w.k.o.Store.Database(t.Context(), "userdb-626f62")
	must(t, err)
	must(t, db.SetSecurity(t.Context(), []byte(`{"members":{"names":["sue"]},"x":1}`)))
	w.check("userdb-5a6fc3ab "+owned("Zoë"), `userdb-626f62 {"members":{"names":["sue"]},"x":1}`)
	w.put("org.couchdb.user:bob")
	w.check("userdb-5a6fc3ab "+owned("Zoë"), `userdb-626f62 {"members":{"names":["bob","sue"]},"x":1,"admins":{"names":["bob"]}}`)

	// A user who goes leaves the database, which is nobody's.
	w.remove("org.couchdb.user:Zoë")
	w.remove("org.couchdb.user:bob")
	w.check("userdb-5a6fc3ab "+nobodys, `userdb-626f62 {"members":{"names":["sue"]},"x":1,"admins":{"names":[]}}`)
	w.put("org.couchdb.user:Zoë")
	w.check("userdb-5a6fc3ab "+owned("Zoë"), `userdb-626f62 {"members":{"names":["sue"]},"x":1,"admins":{"names":[]}}`)

	// With delete_dbs it goes too; that it is gone before hurts nobody.
	w.set("delete_dbs", "true")
	must(t, w.k.o.Store.Drop(t.Context(), "userdb-626f62"))
	w.put("org.couchdb.user:bob")
	w.remove("org.couchdb.user:Zoë")
	w.check("userdb-626f62 " + owned("bob"))
	must(t, w.k.o.Store.Drop(t.Context(), "userdb-626f62"))
	w.remove("org.couchdb.user:bob")
	w.check()

	// From the beginning again, under another prefix.
	w.set("database_prefix", "of/")
	w.put("org.couchdb.user:sue")
	w.at = 0
	w.check("of/737565 " + owned("sue"))
}

// TestServersFollow has two servers follow the users. One of them stands still before each of its
// transactions in turn while a user who was deleted comes back, is given a new database by
// the other and writes to it: what he wrote stays.
func TestServersFollow(t *testing.T) {
	reached := true
	for n := 1; reached; n++ {
		c, err := config.Open(config.Options{Overrides: []config.Setting{{Section: section, Key: "enable", Value: "true"}, {Section: section, Key: "delete_dbs", Value: "true"}}})
		must(t, err)
		e := kvtest.NewModel(kvtest.ModelOptions{})
		slow := kvtest.NewPausing(e)
		first, second := newWorldOn(t, kvtest.NewShared(slow), c), newWorldOn(t, kvtest.NewShared(e), c)
		_, err = second.k.o.Store.Create(t.Context(), auth.UsersDB, store.Creation{})
		must(t, err)
		second.put("org.couchdb.user:bob")
		first.check("userdb-626f62 " + owned("bob"))
		second.remove("org.couchdb.user:bob")
		reached = false
		slow.PauseBefore(n, func() {
			reached = true
			second.catchUp()
			second.put("org.couchdb.user:bob")
			second.check("userdb-626f62 " + owned("bob"))
			db, err := second.k.o.Store.Database(t.Context(), "userdb-626f62")
			must(t, err)
			_, err = db.Whole().Write(t.Context(), []document.Edit{{ID: "diary", Body: []byte("{}")}}, store.WriteOptions{})
			must(t, err)
		})
		first.catchUp()
		slow.PauseBefore(0, nil)
		if !reached {
			break
		}
		first.check("userdb-626f62 " + owned("bob"))
		db, err := first.k.o.Store.Database(t.Context(), "userdb-626f62")
		must(t, err)
		if totals, err := db.Whole().Totals(t.Context()); err != nil || totals.Docs != 1 {
			t.Errorf("before transaction %d: %d documents, %v", n, totals.Docs, err)
		}
	}
}

// TestManyUsers reads more users than a page has, with documents between them that are none.
func TestManyUsers(t *testing.T) {
	w := newWorld(t)
	var want []string
	for i := range pageSize*2 + 1 {
		name := fmt.Sprintf("u%d", i)
		w.put("org.couchdb.user:" + name)
		if i%100 == 0 {
			w.put(name)
		}
		want = append(want, w.k.settings.Value().databaseOf(name)+" "+owned(name))
	}
	slices.Sort(want)
	w.check(want...)
}

// TestNothingIsKeptWithoutASetting ends at the next change of the settings, having made nothing.
func TestNothingIsKeptWithoutASetting(t *testing.T) {
	for _, settings := range [][2]string{{"enable", "false"}, {"database_prefix", "User"}} {
		w := newWorld(t)
		w.set(settings[0], settings[1])
		w.put("org.couchdb.user:bob")
		w.k.changed <- struct{}{} // it waits for that alone
		must(t, w.k.follow(t.Context()))
		if got := w.list(); got != nil {
			t.Errorf("%v: %v", settings, got)
		}
	}
}
