package store

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/crashfs"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// expiresIn makes a body that expires some time after the world's now.
func (w *world) expiresIn(d time.Duration, more string) string {
	return fmt.Sprintf(`{"expires":%d%s}`, w.now.Add(d).Unix(), more)
}

// aging returns a database of a world a setting of expiry, and one of the age
// of tombstones.
func (w *world) aging(d *Database, ttl string) {
	w.t.Helper()
	err := d.Whole().SetExpiry(ctx, Expiry{Own: true, Field: "expires"})
	if err == nil && ttl != "" {
		err = d.SetDeletedTTL(ctx, Period{Text: ttl})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.sweep()
}

// pass lets time pass in steps in which the clock is believed.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	for ; d > 0; d -= 50 * time.Minute {
		w.later(min(d, 50*time.Minute))
		w.sweep()
	}
}

// leaves returns all documents with their leaves and whether these are deleted.
func (w *world) leaves(d *Database) (out []string) {
	w.t.Helper()
	err := d.Whole().View(ctx, func(r *Reader) error {
		for e, err := range r.Docs(Span{}, false) {
			if err != nil {
				return err
			}
			if err := r.Load(e.Doc); err != nil {
				return err
			}
			line := string(e.Doc.ID)
			for _, l := range e.Doc.Tree.Leaves() {
				path, _ := e.Doc.Tree.Path(l.Rev)
				line += fmt.Sprint(" ", path, l.Deleted)
			}
			out = append(out, line)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// replicate brings what one database has to another, as the protocol does: the
// other is asked what it lacks.
func (w *world) replicate(from, to *Database) (sent int) {
	w.t.Helper()
	var edits []document.Edit
	err := from.Whole().View(ctx, func(r *Reader) error {
		for c, err := range r.Changes(0, false) {
			if err != nil {
				return err
			}
			d, err := r.Doc(c.ID)
			if err == nil {
				err = r.Load(d)
			}
			var missing []document.Rev
			if err == nil {
				err = to.Whole().View(ctx, func(r *Reader) (err error) {
					missing, _, err = r.Missing(c.ID, c.Leaves)
					return err
				})
			}
			if err != nil {
				return err
			}
			for _, rev := range missing {
				found, err := r.Revision(d, rev)
				if err != nil {
					return err
				}
				path, _ := d.Tree.Path(rev)
				edits = append(edits, document.Edit{ID: c.ID, Path: path, Deleted: found.Deleted, Body: append([]byte(nil), found.Body...)})
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	rs, err := to.Whole().Write(ctx, edits, WriteOptions{})
	for _, r := range rs {
		if r.Err != nil {
			err = r.Err
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return len(edits)
}

// TestReplicasExpireAlike: two replicas whose sweeps come at different times
// have equal trees in the end without talking to each other, conflicts too.
func TestReplicasExpireAlike(t *testing.T) {
	testrun.Sequential(t)
	w := newWorld(t, Options{})
	a, b := w.create("a", true), w.create("b", true)
	w.aging(a, "")
	r := kvtest.NewRand(3)
	for i := range 60 {
		id := fmt.Sprintf("p:%d", i)
		for n := range 1 + r.IntN(3) {
			w.mustWrite(a, replicated(t, id, w.expiresIn(time.Duration(r.IntN(300))*time.Minute, fmt.Sprintf(`,"n":%d`, n)), fmt.Sprintf("2-%d", n), "1-a"))
		}
		if r.Chance(3) {
			w.mustWrite(a, replicated(t, id, `{}`, "3-never", "2-x", "1-a"))
		}
	}
	if n := w.replicate(a, b); n < 60 {
		t.Fatalf("%d revisions were sent", n)
	}
	w.pass(2 * time.Hour)
	w.aging(b, "") // it begins to expire when the other is half through
	w.pass(4 * time.Hour)
	if d := cmp.Diff(w.leaves(a), w.leaves(b)); d != "" {
		t.Errorf("replicas differ (-a +b):\n%s", d)
	}
	if n := w.replicate(a, b) + w.replicate(b, a); n > 0 {
		t.Errorf("%d revisions were sent between equal replicas", n)
	}
	dead := strings.Count(strings.Join(w.leaves(a), "\n"), "true")
	if live := strings.Count(strings.Join(w.leaves(a), "\n"), "false"); dead < 60 || live == 0 {
		t.Errorf("%d leaves have expired, %d have not", dead, live)
	}
}

// TestOldReplica: what was deleted and collected does not come back from a replica
// that was away; what was written since does, whoever writes it.
func TestOldReplica(t *testing.T) {
	w := newWorld(t, Options{})
	a, old, edited := w.create("a", false), w.create("old", false), w.create("edited", false)
	w.aging(a, "1_day")
	for _, id := range []string{"gone", "newer", "on top"} {
		first := w.put(a, id, "", `{"n":1}`)
		w.put(a, id, first, w.expiresIn(time.Hour, ""))
	}
	w.replicate(a, old)
	w.pass(2 * time.Hour)
	w.replicate(a, edited) // it has the tombstones
	w.pass(30 * time.Hour)
	if left := w.leaves(a); len(left) > 0 {
		t.Fatalf("there are still %v", left)
	}
	if n := w.replicate(old, a); n > 0 || len(w.leaves(a)) > 0 {
		t.Fatalf("%d revisions were sent, there are %v", n, w.leaves(a))
	}
	// Whoever sends without asking is not heard either.
	err := old.Whole().View(ctx, func(r *Reader) error {
		for e, err := range r.Docs(Span{}, true) {
			if err != nil {
				return err
			}
			path, _ := e.Doc.Tree.Path(e.Winner.Rev)
			if got := w.write(a, document.Edit{ID: e.Doc.ID, Path: path, Body: []byte(`{}`)}); got.Err != nil || got.Rev != path[0] {
				t.Errorf("%s: %+v", e.Doc.ID, got)
			}
		}
		return nil
	})
	if err != nil || len(w.leaves(a)) > 0 {
		t.Fatal(err, w.leaves(a))
	}

	w.put(edited, "on top", "", `{"again":true}`)
	second := w.get(old, "newer")[:34]
	third := w.put(old, "newer", second, `{"n":3}`)
	w.put(old, "newer", third, `{"n":4}`)
	w.replicate(edited, a)
	w.replicate(old, a)
	if w.get(a, "on top") != w.get(edited, "on top") || w.get(a, "newer") != w.get(old, "newer") || w.get(a, "gone") != "not_found: missing" {
		t.Errorf("on top: %s; newer: %s; gone: %s", w.get(a, "on top"), w.get(a, "newer"), w.get(a, "gone"))
	}
	// Written anew here, it has the revision that it has where the tombstone is.
	here, there := w.put(a, "gone", "", `{"new":1}`), w.put(edited, "gone", "", `{"new":1}`)
	if here != there {
		t.Errorf("%s over the deletion marker, %s over the tombstone", here, there)
	}
	w.replicate(old, a)
	if got := w.leaves(a); strings.Contains(strings.Join(got, "\n"), "false 2-") {
		t.Errorf("the old replica brought a conflict: %v", got)
	}
	for _, id := range []string{"gone", "newer", "on top"} {
		if !strings.Contains(w.get(a, id), `":`) {
			t.Errorf("%s: %s", id, w.get(a, id))
		}
	}
}

// TestCollectedInOneCommit: an old revision that comes in the very commit of the
// collection, after it or before it.
func TestCollectedInOneCommit(t *testing.T) {
	for _, first := range []bool{false, true} {
		w := newWorld(t, Options{})
		d := w.create("db", true)
		w.aging(d, "1_day")
		w.mustWrite(d, document.Edit{ID: "p:a", Parent: rev(t, w.put(d, "p:a", "", `{}`)), Deleted: true})
		page := tombstonePage{d: d}
		w.now = w.now.Add(time.Hour)
		if _, err := d.stepOf(jobCollect, ""); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(24 * time.Hour)
		if err := d.Whole().View(ctx, func(r *Reader) error { return page.read(r, nil) }); err != nil || len(page.docs) != 1 {
			t.Fatal(err, page)
		}
		collect := func(g *group) error {
			_, err := g.collect(page.docs[0], page.found.bodies)
			return err
		}
		_, write := writing(t, d, replicated(t, "p:a", `{}`, "1-zz"))
		fns := []func(*group) error{collect, write}
		if first {
			fns = []func(*group) error{write, collect}
		}
		for _, err := range together(d, fns...) {
			if err != nil {
				t.Error(err)
			}
		}
		w.check()
		want := "not_found: missing"
		if first { // it was there before the tombstone went, as a conflict
			want = "1-zz {}"
		}
		if got := w.get(d, "p:a"); got != want {
			t.Errorf("written first: %v: %s, want %s", first, got, want)
		}
	}
}

// TestSweepInPages: what expires takes several rounds of bounded commits, and between
// any two of them writers have their turn.
func TestSweepInPages(t *testing.T) {
	testrun.Sequential(t)
	const docs = 100 * expirePage
	w := newWorld(t, Options{})
	d := w.create("db", true)
	w.aging(d, "")
	var edits []document.Edit
	for i := range docs {
		edits = append(edits, document.Edit{ID: document.ID(fmt.Sprintf("p:%d", i)), Body: []byte(w.expiresIn(time.Minute, ""))})
	}
	if _, err := d.Whole().Write(ctx, edits, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(2 * time.Minute)
	swept := make(chan error)
	go func() { swept <- w.Sweep(ctx) }()
	writes := 0
	for done := false; !done; writes++ {
		w.put(d, fmt.Sprintf("q:%d", writes), "", `{}`)
		select {
		case err := <-swept:
			if done = true; err != nil {
				t.Fatal(err)
			}
		default:
		}
	}
	l, err := d.Whole().Totals(ctx)
	if err != nil || l.Deleted != docs || l.Docs != uint64(writes) {
		t.Errorf("%d have expired, %d are there, want %d and %d (%v)", l.Deleted, l.Docs, docs, writes, err)
	}
	if writes < 3 { // the sweep takes many commits, and a writer gets in between
		t.Errorf("a writer had its turn %d times", writes)
	}
}

// TestCrashInSweeps cuts the disk off in the midst of sweeps that expire, collect
// and drop, and of walks.
func TestCrashInSweeps(t *testing.T) {
	testrun.Sequential(t)
	rounds := 2
	if testrun.IsLong() {
		rounds = 20
	}
	for seed := range uint64(rounds) {
		r := kvtest.NewRand(seed)
		fs := crashfs.New()
		w, err := disk(t, fs)
		if err != nil {
			t.Fatal(err)
		}
		d := w.create("db", true)
		w.aging(d, "1_hour")
		var edits []document.Edit
		for i := range 700 {
			p := []string{"p", "q", "r"}[i%3]
			edits = append(edits, document.Edit{ID: document.ID(fmt.Sprintf("%s:%d", p, i)), Body: []byte(w.expiresIn(time.Duration(i%2)*time.Hour, ""))})
		}
		if _, err := d.Whole().Write(ctx, edits, WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		var clones []*crashfs.FS
		sweep := func() {
			var cutter sync.WaitGroup
			cutter.Go(func() {
				for range r.IntN(20) {
					runtime.Gosched()
				}
				clones = append(clones, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r.Rand}))
			})
			w.sweep()
			cutter.Wait()
		}
		for range 3 {
			w.now = w.now.Add(35 * time.Minute)
			sweep()
		}
		if err := d.Within("q").SetExpiry(ctx, Expiry{Own: true, Field: "n"}); err != nil {
			t.Fatal(err)
		}
		if err := d.DropPartition(ctx, "r", false); err != nil {
			t.Fatal(err)
		}
		sweep()
		w.closeAll()
		for _, after := range append(clones, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: r.Rand})) {
			w.finishes(after)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// finishes opens what a crash left and lets everything come to its end.
func (w *world) finishes(fs vfs.FS) {
	w.t.Helper()
	again, err := disk(w.t, fs)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer again.closeAll()
	again.check()
	again.now = w.now
	d, err := again.Database(ctx, "db")
	if err != nil {
		w.t.Error(err)
		return
	}
	again.sweep()
	again.pass(24 * time.Hour)
	again.check()
	if left := rows(w.t, again.engine, kv.Prefix(keyspace.Job.Key(0)), showKey); left != "" {
		w.t.Errorf("left: %s", left)
	}
	for _, line := range again.leaves(d) {
		if strings.HasPrefix(line, "p:") {
			w.t.Errorf("not collected: %s", line)
		}
	}
}

// TestClockLeaps: nothing expires by a clock that leaps and comes back.
func TestClockLeaps(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", false)
	w.aging(d, "1_day")
	w.mustWrite(d, document.Edit{ID: "dead", Parent: rev(t, w.put(d, "dead", "", `{}`)), Deleted: true})
	w.put(d, "a", "", w.expiresIn(30*24*time.Hour, ""))
	w.pass(time.Hour)
	right := w.now
	w.now = right.Add(10 * 365 * 24 * time.Hour)
	for range 9 {
		w.sweep()
		w.now = w.now.Add(time.Minute)
	}
	w.now = right.Add(9 * time.Minute) // and it is put right
	w.sweep()
	if got := w.get(d, "a"); !strings.HasPrefix(got, "1-") || w.get(d, "dead") != "not_found: deleted" {
		t.Fatalf("a: %s, dead: %s", got, w.get(d, "dead"))
	}
	// The same over a restart.
	w.Close()
	now := w.now
	w.Store = openWorld(t, w.engine, Options{}).Store
	w.o.Clock = func() time.Time { return w.now }
	w.now = now.Add(40 * 24 * time.Hour)
	d, err := w.Database(ctx, "db")
	if err != nil {
		t.Fatal(err)
	}
	w.sweep()
	if got := w.get(d, "a"); !strings.HasPrefix(got, "1-") {
		t.Fatalf("a: %s", got)
	}
	w.now = w.now.Add(clockHold)
	w.sweep()
	if got := w.get(d, "a"); got != "not_found: deleted" {
		t.Errorf("a: %s", got)
	}
}

// TestRowsWithExpiry reads heads and partitions in both forms, with and without what says when
// they expire.
func TestRowsWithExpiry(t *testing.T) {
	p := partition{seq: 7, lastWrite: time.UnixMilli(5), writes: 1, counts: counts{docs: 3}}
	for _, own := range []Expiry{{}, {Own: true}, {Own: true, Field: "until"}, {Own: true, Field: "until", Seconds: true},
		{Own: true, TTL: 5}, {Own: true, Field: "until", TTLField: "ttl", TTL: 1 << 33}} {
		p.expiry = own
		b := p.encode()
		if got, err := decodePartition(b); err != nil || got != p || (b[0] == rowVersion) == own.Own {
			t.Errorf("%+v, want %+v: %v", got, p, err)
		}
	}
	h := head{seq: 3}
	h.tree.Merge(nil, document.Node{Rev: rev(t, "1-a")})
	for _, due := range []uint64{0, 1, 1 << 40} {
		h.due = due
		b, _ := h.encode()
		if got, err := decodeHead(b, nil); err != nil || got.due != due || got.seq != 3 || (b[0] == rowVersion) != (due == 0) {
			t.Errorf("%+v: %v", got, err)
		}
	}
	if _, err := decodeHead([]byte{4, 0, 1}, nil); err == nil {
		t.Error("a version that nobody knows was read")
	}
}

// TestWaysToDocumentsThatExpire: their heads have a member more, and every way
// to read a winner knows it.
func TestWaysToDocumentsThatExpire(t *testing.T) {
	w, _ := newModelWorld(t, Options{})
	d := w.create("db", true)
	w.aging(d, "")
	w.put(d, "p:due", "", w.expiresIn(time.Hour, ""))
	w.put(d, "p:plain", "", `{}`)
	err := d.Whole().View(ctx, func(r *Reader) error {
		if err := sameWinners(r, Span{}); err != nil {
			return err
		}
		b := NewBatchReader()
		defer b.Release()
		ids := []document.ID{"p:plain", "p:due"}
		if err := b.Read(r, ids); err != nil {
			return err
		}
		for i, id := range ids {
			got, err := b.Winner(i)
			if err != nil {
				return err
			}
			want, err := r.Winner(id)
			if err != nil {
				return err
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s among several: %s", id, diff)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRelativeTimesOfReplicas: each server counts from when a revision came to
// it. The first tombstone is the one that the others would make, so they agree
// with it, whether they wait for it or not.
func TestRelativeTimesOfReplicas(t *testing.T) {
	w := newWorld(t, Options{})
	a, b, c := w.create("a", false), w.create("b", false), w.create("c", false)
	for _, d := range []*Database{a, b} {
		if err := d.Whole().SetExpiry(ctx, Expiry{Own: true, TTL: 3600}); err != nil {
			t.Fatal(err)
		}
	}
	w.sweep()
	w.put(a, "one", "", `{}`)
	w.put(a, "two", "", `{}`)
	w.pass(30 * time.Minute)
	w.replicate(a, b)
	w.replicate(a, c)
	w.replicate(a, b) // again: nothing is written, and the time goes on
	w.pass(31 * time.Minute)
	if w.get(a, "one") != "not_found: deleted" || !strings.HasPrefix(w.get(b, "one"), "1-") {
		t.Fatalf("after an hour a has %s, b %s", w.get(a, "one"), w.get(b, "one"))
	}
	w.replicate(a, c) // without a setting, by the tombstone
	if diff := cmp.Diff(w.leaves(a), w.leaves(c)); diff != "" {
		t.Error(diff)
	}
	w.pass(30 * time.Minute)
	if diff := cmp.Diff(w.leaves(a), w.leaves(b)); diff != "" {
		t.Error(diff)
	}
	if sent := w.replicate(a, b) + w.replicate(b, a); sent != 0 {
		t.Errorf("%d revisions were sent between replicas that agree", sent)
	}
	w.check()
}

// TestALeafExpiresAndOthersGoOn: a tombstone over one leaf is no write that the
// others' relative times would count from.
func TestALeafExpiresAndOthersGoOn(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", false)
	if err := d.Whole().SetExpiry(ctx, Expiry{Own: true, Field: "expires", TTL: 3600}); err != nil {
		t.Fatal(err)
	}
	w.sweep()
	w.mustWrite(d, document.Edit{ID: "x", Path: []document.Rev{rev(t, "1-a")}, Body: []byte(`{}`)})
	w.mustWrite(d, document.Edit{ID: "x", Path: []document.Rev{rev(t, "1-b")}, Body: []byte(w.expiresIn(30*time.Minute, ""))})
	w.pass(31 * time.Minute)
	if got := w.get(d, "x"); !strings.HasPrefix(got, "1-a") {
		t.Fatalf("after half an hour: %s", got)
	}
	w.check()
	w.pass(28 * time.Minute)
	if got := w.get(d, "x"); !strings.HasPrefix(got, "1-a") {
		t.Fatalf("before the hour: %s", got)
	}
	w.pass(2 * time.Minute)
	if got := w.get(d, "x"); got != "not_found: deleted" {
		t.Fatalf("after the hour: %s", got)
	}
	w.check()
}

// TestSecondsAlone: by a setting with Seconds nothing but numbers of seconds counts, until it
// is made anew without.
func TestSecondsAlone(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", false)
	old := Expiry{Own: true, Field: "expires", Seconds: true}
	if err := d.Whole().SetExpiry(ctx, old); err != nil {
		t.Fatal(err)
	}
	w.sweep()
	w.put(d, "seconds", "", w.expiresIn(time.Minute, ""))
	w.put(d, "date", "", `{"expires":"2026-01-01"}`)
	w.put(d, "millis", "", fmt.Sprintf(`{"expires":%d}`, w.now.UnixMilli()))
	w.put(d, "text", "", `{"expires":"soon"}`)
	w.pass(2 * time.Minute)
	w.check()
	if got := w.get(d, "seconds") + w.get(d, "date") + w.get(d, "millis"); !strings.HasPrefix(got, "not_found: deleted1-") {
		t.Errorf("by the old setting: %s", got)
	}
	if got, err := d.Whole().Expiry(ctx); err != nil || got.Holds != old || got.Unreadable != 0 {
		t.Errorf("the old setting is %+v, %v", got, err)
	}
	w.aging(d, "")
	w.sweep()
	w.check()
	if got := w.get(d, "date") + w.get(d, "millis"); got != "not_found: deletednot_found: deleted" {
		t.Errorf("by the new setting: %s", got)
	}
	if got, err := d.Whole().Expiry(ctx); err != nil || got.Unreadable != 1 || len(got.Examples) != 1 || got.Examples[0] != "text" {
		t.Errorf("the new setting is %+v, %v", got, err)
	}
}
