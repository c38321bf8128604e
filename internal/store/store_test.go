package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/testkit/enginetest"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// world is a store over Pebble on a file system in memory, with a clock that
// stands still until it is moved.
type world struct {
	*Store
	t   testing.TB
	now time.Time
	// passing guards now where time passes while something is under way.
	passing sync.Mutex
	// wrong is by how much the machine's clock is.
	wrong time.Duration
}

func newWorld(t testing.TB, o Options) *world {
	t.Helper()
	e := newEngine(t)
	w := openWorld(t, e, o)
	t.Cleanup(func() {
		if err := w.Check(context.Background()); err != nil {
			t.Errorf("Check: %v", err)
		}
		w.Close()
		e.Close()
	})
	return w
}

// newEngine returns Pebble on a file system in memory, or the engine that the environment asks for.
func newEngine(t testing.TB) kv.Engine {
	t.Helper()
	if e := enginetest.Open(t); e != nil {
		return e
	}
	e, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// time is the time.
func (w *world) time() time.Time {
	w.passing.Lock()
	defer w.passing.Unlock()
	return w.now
}

// later moves the clock.
func (w *world) later(d time.Duration) {
	w.passing.Lock()
	defer w.passing.Unlock()
	w.now = w.now.Add(d)
}

func openWorld(t testing.TB, e kv.Engine, o Options) *world {
	t.Helper()
	return openWrong(t, e, o, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), 0)
}

// openWrong is openWorld at a time, on a machine whose clock is wrong.
func openWrong(t testing.TB, e kv.Engine, o Options, now time.Time, wrong time.Duration) *world {
	t.Helper()
	w := &world{t: t, now: now, wrong: wrong}
	w.serve(e, o, func() time.Time { return w.time().Add(wrong) })
	return w
}

// serve opens the store on a machine with a clock.
func (w *world) serve(e kv.Engine, o Options, clock func() time.Time) {
	w.t.Helper()
	o.Idle, o.Clock = true, clock
	s, err := Open(context.Background(), kvtest.NewShortLocks(w.t, e, keyspace.IsLaneHead), o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Store = s
}

func (w *world) create(name string, partitioned bool) *Database {
	w.t.Helper()
	d, err := w.Create(context.Background(), name, Creation{Partitioned: partitioned})
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// put writes a document over rev ("" for a new one) and returns the new revision.
func (w *world) put(d *Database, id, rev, body string) string {
	w.t.Helper()
	r := w.write(d, edit(w.t, id, rev, body))
	if r.Err != nil {
		w.t.Fatalf("put %s over %q: %v", id, rev, r.Err)
	}
	return r.Rev.String()
}

func (w *world) write(d *Database, e document.Edit) Result {
	w.t.Helper()
	rs, err := d.Whole().Write(context.Background(), []document.Edit{e}, WriteOptions{})
	if err != nil {
		return Result{Err: err}
	}
	return rs[0]
}

func edit(t testing.TB, id, rev, body string) document.Edit {
	t.Helper()
	e := document.Edit{ID: document.ID(id), Body: []byte(body)}
	if rev != "" {
		r, err := document.ParseRev(rev)
		if err != nil {
			t.Fatal(err)
		}
		e.Parent = r
	}
	return e
}

func (w *world) get(d *Database, id string) string {
	w.t.Helper()
	var out string
	err := d.Whole().View(context.Background(), func(r *Reader) error {
		rev, err := r.Winner(document.ID(id))
		if err != nil {
			return err
		}
		out = rev.Rev.String() + " " + string(rev.Body)
		return nil
	})
	if err != nil {
		return err.Error()
	}
	return out
}

func (w *world) feed(s Scope, since Seq) (out []string) {
	w.t.Helper()
	err := s.View(context.Background(), func(r *Reader) error {
		for c, err := range r.Changes(since, false) {
			if err != nil {
				return err
			}
			out = append(out, fmt.Sprintf("%d %s %v", c.Seq, c.ID, c.Deleted))
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func TestDocumentLife(t *testing.T) {
	for _, partitioned := range []bool{false, true} {
		w := newWorld(t, Options{})
		d := w.create("db", partitioned)
		one := w.put(d, "p:a", "", `{"n":1}`)
		two := w.put(d, "p:a", one, `{"n":2}`)
		if got := w.get(d, "p:a"); got != two+` {"n":2}` {
			t.Errorf("read %s", got)
		}
		if r := w.write(d, edit(t, "p:a", one, `{}`)); !dberr.Is(r.Err, dberr.Conflict) {
			t.Errorf("stale write: %v", r.Err)
		}
		del := edit(t, "p:a", two, `{}`)
		del.Deleted = true
		if r := w.write(d, del); r.Err != nil || r.Rev.Gen != 3 {
			t.Errorf("delete: %+v", r)
		}
		if got := w.get(d, "p:a"); !strings.Contains(got, "deleted") {
			t.Errorf("read after delete: %s", got)
		}
		if got := w.feed(d.Whole(), 0); len(got) != 1 || got[0] != "3 p:a true" {
			t.Errorf("feed %v", got)
		}
		totals, err := d.Whole().Totals(context.Background())
		if err != nil || totals.Docs != 0 || totals.Deleted != 1 {
			t.Errorf("totals %+v %v", totals, err)
		}
	}
}

func TestAttachments(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	ctx := context.Background()
	big := bytes.Repeat([]byte("0123456789abcdef"), 300_000)
	att, err := d.Whole().Upload(ctx, "p:a", bytes.NewReader(big), Upload{})
	if err != nil {
		t.Fatal(err)
	}
	att.Name, att.ContentType = "big", "application/octet-stream"
	e := edit(t, "p:a", "", `{}`)
	e.Attachments = []document.Attachment{att, {Name: "small", ContentType: "text/plain", Data: []byte("hello")}}
	r := w.write(d, e)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	stub := edit(t, "p:a", r.Rev.String(), `{"n":1}`)
	stub.Attachments = []document.Attachment{{Name: "small", Stub: true}}
	if r = w.write(d, stub); r.Err != nil {
		t.Fatal(r.Err)
	}
	var small, first document.Attachment
	err = d.Whole().View(ctx, func(rd *Reader) error {
		doc, err := rd.Doc("p:a")
		if err != nil {
			return err
		}
		rev, err := rd.Revision(doc, r.Rev)
		if err != nil {
			return err
		}
		small = rev.Attachments[0]
		path, _ := doc.Tree.Path(r.Rev)
		old, err := rd.Revision(doc, path[1])
		first = old.Attachments[0]
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(d.Whole().Download(ctx, small, 0, 5)); string(got) != "hello" || small.RevPos != 1 {
		t.Errorf("small: %q %+v", got, small)
	}
	if got, _ := io.ReadAll(d.Whole().Download(ctx, first, 100_001, first.Encoded)); !bytes.Equal(got, big[100_001:]) {
		t.Errorf("big: %d bytes", len(got))
	}
	w.now = w.now.Add(time.Hour)
	if err := w.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(d.Whole().Download(ctx, first, 0, first.Encoded)); !dberr.Is(err, dberr.NotFound) {
		t.Errorf("the superseded revision's attachment is still there: %d bytes, %v", len(got), err)
	}
}

func TestDropPartition(t *testing.T) {
	for _, tombstones := range []bool{false, true} {
		w := newWorld(t, Options{})
		d := w.create("db", true)
		ctx := context.Background()
		for i := range 250 {
			w.put(d, fmt.Sprintf("a:%d", i), "", `{"n":1}`)
			w.put(d, fmt.Sprintf("b:%d", i), "", `{"n":1}`)
		}
		if err := d.DropPartition(ctx, "a", tombstones); err != nil {
			t.Fatal(err)
		}
		if err := w.Check(ctx); err != nil {
			t.Errorf("while dropping: %v", err)
		}
		if got := w.feed(d.Whole(), 0); len(got) != 250 {
			t.Errorf("feed while dropping has %d entries", len(got))
		}
		if got := w.get(d, "a:1"); !strings.Contains(got, "missing") {
			t.Errorf("read while dropping: %s", got)
		}
		if r := w.write(d, edit(t, "a:new", "", `{}`)); !dberr.Is(r.Err, dberr.Conflict) {
			t.Errorf("write while dropping: %v", r.Err)
		}
		if err := w.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		totals, err := d.Within("a").Totals(ctx)
		if want := map[bool]uint64{true: 250}[tombstones]; err != nil || totals.Docs != 0 || totals.Deleted != want {
			t.Errorf("totals %+v %v", totals, err)
		}
		if got := w.feed(d.Within("a"), 0); len(got) != int(totals.Deleted) {
			t.Errorf("feed afterwards has %d entries", len(got))
		}
		w.put(d, "a:new", "", `{}`)
		rows, _, lag, err := d.Partitions(ctx, ByDocs, true, 10, "")
		if err != nil || lag != 0 || len(rows) != 2 || rows[0].Partition != "b" || rows[1].Docs != 1 {
			t.Errorf("%v %v %v", rows, lag, err)
		}
	}
}

func TestLongHistory(t *testing.T) {
	testrun.Sequential(t)
	w := newWorld(t, Options{})
	d := w.create("db", false)
	if err := d.SetRevsLimit(context.Background(), 150); err != nil {
		t.Fatal(err)
	}
	rev := ""
	for i := range 400 {
		rev = w.put(d, "a", rev, fmt.Sprintf(`{"n":%d}`, i))
	}
	err := d.Whole().View(context.Background(), func(r *Reader) error {
		doc, err := r.Doc("a")
		if err != nil {
			return err
		}
		if err := r.Load(doc); err != nil {
			return err
		}
		if path, _ := doc.Tree.Path(doc.Tree.Winner().Rev); len(path) != 150 {
			t.Errorf("%d revisions are remembered", len(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPurge(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	ctx := context.Background()
	one := w.put(d, "p:a", "", `{"n":1}`)
	two, _ := document.ParseRev(w.put(d, "p:a", one, `{"n":2}`))
	w.put(d, "p:b", "", `{}`)
	done, err := d.Purge(ctx, []Purging{{ID: "p:a", Revs: []document.Rev{two}}, {ID: "p:none", Revs: []document.Rev{two}}})
	if err != nil || len(done[0].Revs) != 1 || len(done[1].Revs) != 0 {
		t.Fatalf("%v %v", done, err)
	}
	if got := w.feed(d.Whole(), 0); len(got) != 1 {
		t.Errorf("feed %v", got)
	}
	if got, err := d.Purged(ctx); err != nil || len(got) != 1 || got[0].ID != "p:a" {
		t.Errorf("%v %v", got, err)
	}
}

func TestDropDatabase(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", false)
	w.put(d, "a", "", `{}`)
	ctx := context.Background()
	if err := w.Drop(ctx, "db"); err != nil {
		t.Fatal(err)
	}
	if r := w.write(d, edit(t, "b", "", `{}`)); !dberr.Is(r.Err, dberr.NotFound) {
		t.Errorf("write after drop: %v", r.Err)
	}
	if got := w.get(w.create("db", true), "p:a"); !strings.Contains(got, "missing") {
		t.Errorf("the new database has the old one's document: %s", got)
	}
	w.now = w.now.Add(time.Hour)
	if err := w.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestAtomic(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	one := w.put(d, "p:a", "", `{}`)
	edits := []document.Edit{edit(t, "p:a", one, `{"n":2}`), edit(t, "p:b", "", `{}`), edit(t, "p:a2", one, `{}`)}
	rs, err := d.Whole().Write(context.Background(), edits, WriteOptions{Atomic: true})
	if err != nil || rs[0].Err != nil || !rs[0].Rev.IsZero() || !dberr.Is(rs[2].Err, dberr.Conflict) {
		t.Fatalf("%+v %v", rs, err)
	}
	if got := w.get(d, "p:b"); !strings.Contains(got, "missing") {
		t.Errorf("half of a refused batch is there: %s", got)
	}
	rs, err = d.Whole().Write(context.Background(), edits[:2], WriteOptions{Atomic: true})
	if err != nil || rs[0].Rev.Gen != 2 || rs[1].Rev.Gen != 1 {
		t.Fatalf("%+v %v", rs, err)
	}
}
