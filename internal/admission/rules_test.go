package admission

import (
	"bytes"
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
)

// world is a store with these rules at its entry point.
type world struct {
	t     *testing.T
	store *store.Store
	users *Users
	// limits are for design documents of partitions.
	limits store.DesignLimits
	rules  *Rules
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c, err := config.Open(config.Options{Overrides: []config.Setting{{Section: "chttpd_auth", Key: "iterations", Value: "1"}}})
	must(t, err)
	e, err := pebblekv.Open(pebblekv.Options{Dir: "data", FS: vfs.NewMem()})
	must(t, err)
	w := &world{t: t, users: &Users{}}
	w.rules = New(Options{Auth: auth.New(auth.Options{Config: c, Users: w.users})})
	w.store, err = store.Open(context.Background(), e, store.Options{Admission: w.rules, Idle: true, DesignLimits: func() store.DesignLimits { return w.limits }})
	must(t, err)
	w.users.Use(w.store)
	for _, name := range []string{"db", auth.UsersDB} {
		_, err = w.store.Create(context.Background(), name, store.Creation{Security: []byte(`{"admins":{"names":["bob"]}}`)})
		must(t, err)
	}
	t.Cleanup(func() {
		w.users.Close()
		must(t, w.store.Close())
		must(t, e.Close())
	})
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes a document as a caller, nil for the server itself.
func (w *world) write(c *auth.Caller, db string, e document.Edit) (document.Rev, error) {
	w.t.Helper()
	ctx := context.Background()
	if c != nil {
		ctx = auth.WithCaller(ctx, c)
	}
	d, err := w.store.Database(ctx, db)
	must(w.t, err)
	got, err := d.Whole().Write(ctx, []document.Edit{e}, store.WriteOptions{})
	must(w.t, err)
	return got[0].Rev, got[0].Err
}

func user(name, password string) document.Edit {
	return document.Edit{ID: document.ID(auth.UserPrefix + name),
		Body: []byte(`{"name":"` + name + `","type":"user","roles":[],"password":"` + password + `"}`)}
}

func TestDesignDocumentsAreForAdministrators(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		caller *auth.Caller
		kind   dberr.Kind
	}{
		"anonymous":     {&auth.Caller{}, dberr.Unauthorized},
		"member":        {&auth.Caller{Name: "mia"}, dberr.Forbidden},
		"administrator": {&auth.Caller{Name: "bob"}, 0},
		"server admin":  {&auth.Caller{Name: "adm", Roles: []string{auth.AdminRole}}, 0},
		"the server":    {nil, 0},
	} {
		_, err := w.write(c.caller, "db", document.Edit{ID: document.ID("_design/" + name), Body: []byte(`{}`)})
		if c.kind == 0 && err != nil || c.kind != 0 && !dberr.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.write(nil, "db", document.Edit{ID: "_design/bad", Body: []byte(`{"views":1}`)}); !dberr.Is(err, dberr.Invalid) {
		t.Errorf("a bad design document: %v", err)
	}
	if _, err := w.write(&auth.Caller{Name: "mia"}, "db", document.Edit{ID: "plain", Body: []byte(`{"views":1}`)}); err != nil {
		t.Errorf("an ordinary document: %v", err)
	}
}

func TestPasswordsAreHashedOnEntry(t *testing.T) {
	w := newWorld(t)
	if _, err := w.write(nil, auth.UsersDB, user("ann", "clear text")); err != nil {
		t.Fatal(err)
	}
	d, err := w.store.Database(context.Background(), auth.UsersDB)
	must(t, err)
	must(t, d.Whole().View(context.Background(), func(r *store.Reader) error {
		rev, err := r.Winner("org.couchdb.user:ann")
		if err == nil && (bytes.Contains(rev.Body, []byte("clear text")) || !bytes.Contains(rev.Body, []byte(`"derived_key"`))) {
			t.Errorf("stored %s", rev.Body)
		}
		return err
	}))
	if _, err := w.write(nil, auth.UsersDB, document.Edit{ID: "org.couchdb.user:bad", Body: []byte(`{"name":"bad"}`)}); !dberr.Is(err, dberr.Forbidden) {
		t.Errorf("a bad user: %v", err)
	}
	if _, err := w.write(&auth.Caller{Name: "eve"}, auth.UsersDB, user("ann", "stolen")); err == nil {
		t.Errorf("somebody else's document was written")
	}
}

// TestUsersAreNeverOlderThanTheLastWrite reads a user after each write: what is
// remembered must not survive it.
func TestUsersAreNeverOlderThanTheLastWrite(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	if u, err := w.users.User(ctx, auth.UsersDB, "ann"); u != nil || err != nil {
		t.Fatalf("before: %v %v", u, err)
	}
	last := auth.Verifier{}
	rev := document.Rev{}
	for n := range 20 {
		e := user("ann", "pw")
		e.Parent = rev
		var err error
		if rev, err = w.write(nil, auth.UsersDB, e); err != nil {
			t.Fatal(err)
		}
		for range 2 { // read, and remembered
			u, err := w.users.User(ctx, auth.UsersDB, "ann")
			if err != nil || u == nil || u.Verifier == last {
				t.Fatalf("write %d: got %v %v", n, u, err)
			}
			if _, ok := w.users.remembered(ctx, auth.UsersDB, "ann"); !ok {
				t.Fatalf("write %d: not remembered", n)
			}
		}
		u, _ := w.users.User(ctx, auth.UsersDB, "ann")
		last = u.Verifier
	}
	if _, err := w.write(nil, auth.UsersDB, document.Edit{ID: "org.couchdb.user:ann", Parent: rev, Deleted: true, Body: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	if u, err := w.users.User(ctx, auth.UsersDB, "ann"); u != nil || err != nil {
		t.Errorf("after the deletion: %v %v", u, err)
	}
	must(t, w.store.Drop(ctx, auth.UsersDB))
	if u, err := w.users.User(ctx, auth.UsersDB, "ann"); u != nil || err != nil {
		t.Errorf("after the drop: %v %v", u, err)
	}
}

func TestSecurityFollowsChanges(t *testing.T) {
	w := newWorld(t)
	d, err := w.store.Database(context.Background(), "db")
	must(t, err)
	for _, name := range []string{"ann", "ben", "ann"} {
		must(t, d.SetSecurity(context.Background(), []byte(`{"admins":{"names":["`+name+`"]}}`)))
		s, err := w.rules.Security(d)
		if err != nil || !s.IsAdmin(&auth.Caller{Name: name}) || s.IsAdmin(&auth.Caller{Name: "other"}) {
			t.Errorf("%s: %v %v", name, s, err)
		}
	}
}

// TestTheDesignOfUsersIsNotRun: what the design document of users says is checked once.
// Here nothing can run functions, so whoever asked it would refuse the write.
func TestTheDesignOfUsersIsNotRun(t *testing.T) {
	w := newWorld(t)
	for db, kind := range map[string]dberr.Kind{auth.UsersDB: 0, "db": dberr.Unavailable} {
		if _, err := w.write(nil, db, document.Edit{ID: auth.DesignID, Body: auth.Design()}); err != nil {
			t.Fatal(err)
		}
		d, err := w.store.Database(context.Background(), db)
		must(t, err)
		_, err = d.Whole().Write(context.Background(), []document.Edit{user("ann", "pw")}, store.WriteOptions{})
		if kind == 0 && err != nil || kind != 0 && !dberr.Is(err, kind) {
			t.Errorf("%s: %v", db, err)
		}
	}
	other := document.Edit{ID: "_design/other", Body: auth.Design()}
	if _, err := w.write(nil, auth.UsersDB, other); err != nil {
		t.Fatal(err)
	}
	d, err := w.store.Database(context.Background(), auth.UsersDB)
	must(t, err)
	if _, err := d.Whole().Write(context.Background(), []document.Edit{user("eve", "pw")}, store.WriteOptions{}); !dberr.Is(err, dberr.Unavailable) {
		t.Errorf("another design document is not asked: %v", err)
	}
}
