package admission

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// replicator makes a world with a replicator database of its own, which bob
// administers.
func replicator(t *testing.T) *world {
	w := newWorld(t)
	_, err := w.store.Create(context.Background(), "x/_replicator", store.Creation{Security: []byte(`{"admins":{"names":["bob"]}}`)})
	must(t, err)
	return w
}

func (w *world) body(id string) string {
	w.t.Helper()
	d, err := w.store.Database(context.Background(), "x/_replicator")
	must(w.t, err)
	var body string
	must(w.t, d.Whole().View(context.Background(), func(r *store.Reader) error {
		rev, err := r.Winner(document.ID(id))
		if err == nil {
			body = string(rev.Body)
		}
		return err
	}))
	return body
}

var (
	adm = &auth.Caller{Name: "adm", Roles: []string{auth.AdminRole}}
	bob = &auth.Caller{Name: "bob"}
	ann = &auth.Caller{Name: "ann", Roles: []string{"r1"}}
	eve = &auth.Caller{Name: "eve"}
)

func TestReplicationsHaveOwners(t *testing.T) {
	w := replicator(t)
	const ends = `"source":"a","target":"b"`
	const asAnn = `,"owner_ctx":{"from":"password","roles":["r1"]}`
	write := func(c *auth.Caller, id string, parent document.Rev, body string) (document.Rev, string) {
		t.Helper()
		rev, err := w.write(c, "x/_replicator", document.Edit{ID: document.ID(id), Parent: parent, Body: []byte(body)})
		var e *dberr.Error
		if errors.As(err, &e) {
			return rev, e.Code + ": " + e.Reason
		}
		must(t, err)
		return rev, ""
	}
	revs := map[string]document.Rev{}
	for _, c := range []struct {
		caller   *auth.Caller
		id, body string
		refused  string
		stored   string // "" as it was sent
	}{
		{ann, "of-ann", `{` + ends + `}`, "", `{` + ends + `,"owner":"ann"` + asAnn + `}`},
		{ann, "named", `{` + ends + `,"owner":"ann"}`, "", `{` + ends + `,"owner":"ann"` + asAnn + `}`},
		{ann, "null", `{` + ends + `,"owner":null}`, "", `{` + ends + `,"owner":"ann"` + asAnn + `}`},
		{ann, "for-eve", `{` + ends + `,"owner":"eve"}`, "forbidden: Can't update replication documents from other users.", ""},
		{ann, "for-adm", `{` + ends + `,"owner":"adm"}`, "forbidden: Can't update replication documents from other users.", ""},
		{bob, "by-bob", `{` + ends + `,"owner":"ann"}`, "forbidden: Can't update replication documents from other users.", ""},
		{adm, "for-ann", `{` + ends + `,"owner":"ann"}`, "", ""},
		{adm, "of-adm", `{` + ends + `}`, "", `{` + ends + `,"owner":"adm"}`},
		{&auth.Caller{}, "of-nobody", `{` + ends + `}`, "", `{` + ends + `,"owner":null}`},
		{nil, "of-server", `{` + ends + `}`, "", ""},
		{ann, "ctx", `{` + ends + `,"owner":"ann","user_ctx":{"name":"ann","roles":["r1"]}}`, "", `{` + ends + `,"owner":"ann","user_ctx":{"name":"ann","roles":["r1"]}` + asAnn + `}`},
		{ann, "ctx2", `{` + ends + `,"user_ctx":{"name":"eve"}}`, "forbidden: The given `user_ctx.name` is not valid", ""},
		{ann, "ctx3", `{` + ends + `,"user_ctx":{"name":"ann","roles":["_admin"]}}`, "forbidden: Invalid role (`_admin`) in the `user_ctx`", ""},
		{adm, "ctx4", `{` + ends + `,"owner":"adm","user_ctx":{"name":"eve","roles":["z"]}}`, "", ""},
		{ann, "bad", `{"source":"a"}`, "forbidden: Missing replicator database", ""},
		{adm, "bad", `{` + ends + `,"continuous":"yes"}`, "forbidden: parameter `continuous` must be a boolean", ""},
		{ann, "state", `{` + ends + `,"_replication_state":"completed"}`, "forbidden: Only the replicator may set `_replication_…` members.", ""},
		{ann, "failed", `{"source":"a","_replication_state":"failed"}`, "forbidden: Missing replicator database", ""},
		{adm, "failed", `{"source":"a","owner":"adm","_replication_state":"failed"}`, "", ""},
	} {
		rev, refused := write(c.caller, c.id, document.Rev{}, c.body)
		if refused != c.refused {
			t.Errorf("%s: %q, want %q", c.id, refused, c.refused)
			continue
		}
		if c.stored == "" {
			c.stored = c.body
		}
		if refused == "" {
			revs[c.id] = rev
			if got := w.body(c.id); got != c.stored {
				t.Errorf("%s: stored %s, want %s", c.id, got, c.stored)
			}
		}
	}
	// Whoever could take a document over could make its owner's rights their own.
	for _, c := range []*auth.Caller{eve, bob, {}} {
		for _, body := range []string{`{` + ends + `}`, `{` + ends + `,"owner":"` + c.Name + `"}`, `{` + ends + `,"owner":"ann"}`} {
			if _, refused := write(c, "of-ann", revs["of-ann"], body); !strings.Contains(refused, "other users") {
				t.Errorf("%s over ann's document: %q", c.Name, refused)
			}
		}
	}
	if _, refused := write(ann, "of-ann", revs["of-ann"], `{"source":"c","target":"b"}`); refused != "" {
		t.Errorf("ann over her own: %s", refused)
	}
}

func TestReplicationsAreDeletedByTheirOwners(t *testing.T) {
	w := replicator(t)
	for i, c := range []struct {
		caller *auth.Caller
		fine   bool
	}{{eve, false}, {&auth.Caller{}, false}, {ann, true}, {bob, true}, {adm, true}, {nil, true}} {
		id := document.ID(strings.Repeat("d", i+1))
		rev, err := w.write(ann, "x/_replicator", document.Edit{ID: id, Body: []byte(`{"source":"a","target":"b"}`)})
		must(t, err)
		_, err = w.write(c.caller, "x/_replicator", document.Edit{ID: id, Parent: rev, Deleted: true, Body: []byte(`{}`)})
		if c.fine && err != nil || !c.fine && !dberr.Is(err, dberr.Forbidden) {
			t.Errorf("%v deletes: %v", c.caller, err)
		}
	}
}

// TestStatesComeFromTheReplicator: what the replicator wrote may stay when a user
// changes the rest, and may be taken away.
func TestStatesComeFromTheReplicator(t *testing.T) {
	w := replicator(t)
	const ends = `"source":"a","target":"b","owner":"ann"`
	rev, err := w.write(nil, "x/_replicator", document.Edit{ID: "d", Body: []byte(`{` + ends + `,"_replication_state":"completed"}`)})
	must(t, err)
	if _, err := w.write(ann, "x/_replicator", document.Edit{ID: "d", Parent: rev, Body: []byte(`{` + ends + `,"_replication_state":"triggered"}`)}); !dberr.Is(err, dberr.Forbidden) {
		t.Errorf("another state: %v", err)
	}
	rev, err = w.write(ann, "x/_replicator", document.Edit{ID: "d", Parent: rev, Body: []byte(`{` + ends + `,"n":1,"_replication_state":"completed"}`)})
	must(t, err)
	_, err = w.write(ann, "x/_replicator", document.Edit{ID: "d", Parent: rev, Body: []byte(`{` + ends + `}`)})
	must(t, err)
}

// TestReplicatedReplications: a revision that comes with its id can't be given an
// owner, so it must have the right one.
func TestReplicatedReplications(t *testing.T) {
	w := replicator(t)
	n := 0
	write := func(c *auth.Caller, id, body string) error {
		n++
		rev := document.Rev{Gen: 1, Hash: strings.Repeat("a", 31) + string(rune('a'+n))}
		_, err := w.write(c, "x/_replicator", document.Edit{ID: document.ID(id), Path: []document.Rev{rev}, Body: []byte(body)})
		return err
	}
	must(t, write(ann, "a", `{"source":"a","target":"b","owner":"ann","owner_ctx":{"from":"password","roles":["r1"]}}`))
	must(t, write(adm, "b", `{"source":"a","target":"b"}`))
	for _, body := range []string{`{"source":"a","target":"b"}`, `{"source":"a","target":"b","owner":"adm"}`, `{"source":"a","target":"b","owner":"eve"}`,
		`{"source":"a","target":"b","owner":"ann"}`, `{"source":"a","target":"b","owner":"ann","owner_ctx":{"from":"password","roles":["_admin"]}}`} {
		if err := write(ann, "c", body); !dberr.Is(err, dberr.Forbidden) {
			t.Errorf("ann brings %s: %v", body, err)
		}
	}
	if err := write(eve, "a", `{"source":"a","target":"b","owner":"eve"}`); !dberr.Is(err, dberr.Forbidden) {
		t.Errorf("eve brings a conflict of ann's document: %v", err)
	}
}

func TestVisibleReplications(t *testing.T) {
	w := replicator(t)
	d, err := w.store.Database(context.Background(), "x/_replicator")
	must(t, err)
	const body = `{"source":"http://u:SECRET@h/a","target":{"url":"http://h/b","headers":{"A":"SECRET"}},"owner":"ann","owner_ctx":{"from":"password","roles":["SECRET"]}}`
	for name, c := range map[string]struct {
		caller *auth.Caller
		whole  bool
	}{"owner": {ann, true}, "database administrator": {bob, true}, "server administrator": {adm, true}, "the server": {nil, true}, "member": {eve, false}, "nobody": {&auth.Caller{}, false}} {
		got, err := w.rules.VisibleReplication(c.caller, d, &store.Revision{ID: "d", Body: []byte(body)})
		must(t, err)
		if c.whole && string(got) != body || !c.whole && (strings.Contains(string(got), "SECRET") || !strings.Contains(string(got), `"http://h/b"`)) {
			t.Errorf("%s sees %s", name, got)
		}
	}
}

// TestOwnersAreKnownByWhoVouchesForThem: a name in a token is not the user of a
// password, nor an administrator of the configuration.
func TestOwnersAreKnownByWhoVouchesForThem(t *testing.T) {
	w := replicator(t)
	d, err := w.store.Database(context.Background(), "x/_replicator")
	must(t, err)
	byToken := func(name string, roles ...string) *auth.Caller {
		return &auth.Caller{Name: name, Roles: roles, Handler: auth.JWTHandler}
	}
	const ends = `{"source":"a","target":"b"`
	for name, c := range map[string]struct {
		caller *auth.Caller
		body   string
		stored string // "": refused
	}{
		"token":                    {byToken("adm", "r"), ends + `}`, ends + `,"owner":"adm","owner_ctx":{"from":"jwt","roles":["r"]}}`},
		"token names itself":       {byToken("adm"), ends + `,"owner":"adm"}`, ends + `,"owner":"adm","owner_ctx":{"from":"jwt","roles":[]}}`},
		"forged by a token":        {byToken("adm"), ends + `,"owner_ctx":{"from":"password","roles":["_admin"]}}`, ends + `,"owner_ctx":{"from":"jwt","roles":[]},"owner":"adm"}`},
		"forged by a user":         {ann, ends + `,"owner_ctx":{"from":"password","roles":["_admin"]}}`, ends + `,"owner_ctx":{"from":"password","roles":["r1"]},"owner":"ann"}`},
		"taken away":               {ann, ends + `,"owner_ctx":null}`, ends + `,"owner_ctx":{"from":"password","roles":["r1"]},"owner":"ann"}`},
		"proxy":                    {&auth.Caller{Name: "adm", Handler: auth.ProxyHandler}, ends + `}`, ends + `,"owner":"adm","owner_ctx":{"from":"proxy","roles":[]}}`},
		"session":                  {&auth.Caller{Name: "ann", Handler: auth.CookieHandler}, ends + `}`, ends + `,"owner":"ann","owner_ctx":{"from":"password","roles":[]}}`},
		"administrator by a token": {byToken("op", auth.AdminRole), ends + `}`, ends + `,"owner":"op","owner_ctx":{"from":"jwt","roles":["_admin"]}}`},
		"administrator":            {adm, ends + `}`, ends + `,"owner":"adm"}`},
		"malformed":                {adm, ends + `,"owner_ctx":5}`, ""},
		"malformed, null":          {adm, ends + `,"owner_ctx":null}`, ""},
	} {
		id := strings.ReplaceAll(name, " ", "-")
		_, err := w.write(c.caller, "x/_replicator", document.Edit{ID: document.ID(id), Body: []byte(c.body)})
		if c.stored == "" {
			if !dberr.Is(err, dberr.Forbidden) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if got := w.body(id); err != nil || got != c.stored {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.stored)
		}
	}

	// The document of an administrator, and what others of the name make of it.
	rev, err := w.write(adm, "x/_replicator", document.Edit{ID: "of-adm", Body: []byte(ends + `}`)})
	must(t, err)
	for _, c := range []*auth.Caller{byToken("adm"), {Name: "adm", Handler: auth.ProxyHandler}} {
		for _, e := range []document.Edit{
			{ID: "of-adm", Parent: rev, Body: []byte(ends + `,"owner":"adm"}`)}, {ID: "of-adm", Parent: rev, Body: []byte(`{}`), Deleted: true},
			{ID: "of-adm", Path: []document.Rev{{Gen: 9, Hash: strings.Repeat("a", 32)}}, Body: []byte(ends + `,"owner":"adm"}`)},
			{ID: "new", Path: []document.Rev{{Gen: 9, Hash: strings.Repeat("a", 32)}}, Body: []byte(ends + `,"owner":"adm"}`)},
			{ID: "new", Path: []document.Rev{{Gen: 9, Hash: strings.Repeat("b", 32)}}, Body: []byte(ends + `,"owner":"adm","owner_ctx":{"from":"password","roles":["_admin"]}}`)},
		} {
			if _, err := w.write(c, "x/_replicator", e); !dberr.Is(err, dberr.Forbidden) {
				t.Errorf("%s by %s writes %s: %v", c.Name, c.Handler, e.Body, err)
			}
		}
		got, err := w.rules.VisibleReplication(c, d, &store.Revision{ID: "d", Body: []byte(`{"source":"http://u:SECRET@h/a","owner":"adm"}`)})
		if err != nil || strings.Contains(string(got), "SECRET") {
			t.Errorf("%s by %s sees %s, %v", c.Name, c.Handler, got, err)
		}
	}

	// An administrator who changes what a token wrote leaves it the token's.
	rev, err = w.write(byToken("adm"), "x/_replicator", document.Edit{ID: "left", Body: []byte(ends + `}`)})
	must(t, err)
	_, err = w.write(adm, "x/_replicator", document.Edit{ID: "left", Parent: rev, Body: []byte(ends + `,"owner":"adm","n":1}`)})
	must(t, err)
	if got := w.body("left"); !strings.Contains(got, `"owner_ctx":{"from":"jwt","roles":[]}`) {
		t.Errorf("stored %s", got)
	}
}
