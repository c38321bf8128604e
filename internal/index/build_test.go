package index_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

var ctx = context.Background()

const design = `{"language":"query","views":{"byN":{"map":{"fields":{"n":"asc"}}}}}`

// counting is the field kind, and counts the documents of builds.
type counting struct {
	field.Kind
	built atomic.Int64
	stop  func(built int64)
}

func (c *counting) Rows(db uint64, x *index.Index) index.RowsOf {
	rowsOf := c.Kind.Rows(db, x)
	return func(dst []index.Row, rev *store.Revision) ([]index.Row, error) {
		if n := c.built.Add(1); c.stop != nil {
			c.stop(n)
		}
		return rowsOf(dst, rev)
	}
}

func openStore(t *testing.T, e kv.Engine, x *index.Indexes) *store.Store {
	t.Helper()
	s, err := store.Open(ctx, kvtest.NewShortLocks(t, e, keyspace.IsLaneHead), store.Options{Indexer: x})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openEngine(t *testing.T) kv.Engine {
	t.Helper()
	e, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// load writes documents d0 … d(n-1).
func load(t *testing.T, d *store.Database, n int) {
	t.Helper()
	edits := make([]document.Edit, n)
	for i := range edits {
		edits[i] = document.Edit{ID: document.ID(fmt.Sprintf("d%06d", i)), Body: fmt.Appendf(nil, `{"n":%d}`, i)}
	}
	if _, err := d.Whole().Write(ctx, edits, store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func define(t *testing.T, d *store.Database, body string) {
	t.Helper()
	rs, err := d.Whole().Write(ctx, []document.Edit{{ID: "_design/d", Body: []byte(body)}}, store.WriteOptions{})
	if err = errors.Join(err, rs[0].Err); err != nil {
		t.Fatal(err)
	}
}

// named returns the index that design documents call name.
func named(t *testing.T, d *store.Database, name string) *index.Index {
	t.Helper()
	s, _ := d.Indexes().(*index.Set)
	n := s.Lookup("_design/d", field.KindName, name)
	if n == nil {
		t.Fatalf("there is no index %s", name)
	}
	return n.Index
}

// TestBuildGoesOn interrupts a build and opens the store again: the build goes
// on after the last page that it committed.
func TestBuildGoesOn(t *testing.T) {
	e := openEngine(t)
	k := &counting{}
	x := index.New(index.Options{Kinds: []index.Kind{k}, Idle: true, Page: 1000})
	s := openStore(t, e, x)
	d, err := s.Create(ctx, "db", store.Creation{})
	if err != nil {
		t.Fatal(err)
	}
	const docs = 5000
	load(t, d, docs)
	define(t, d, design)
	stopped, cancel := context.WithCancel(ctx)
	k.stop = func(built int64) {
		if built == 2500 {
			cancel()
		}
	}
	if err := x.Run(stopped, d); !errors.Is(err, context.Canceled) {
		t.Fatalf("an interrupted build: %v", err)
	}
	first := k.built.Load()
	s.Close()
	x.Close()

	k = &counting{}
	x = index.New(index.Options{Kinds: []index.Kind{k}, Page: 1000})
	defer x.Close()
	s = openStore(t, e, x)
	defer s.Close()
	if err := x.Start(ctx, s); err != nil {
		t.Fatal(err)
	}
	if d, err = s.Database(ctx, "db"); err != nil {
		t.Fatal(err)
	}
	if err := x.Await(ctx, d, named(t, d, "byN")); err != nil {
		t.Fatal(err)
	}
	if got := named(t, d, "byN").State; got != index.Readable {
		t.Errorf("after Await the index is %s", got)
	}
	second := k.built.Load()
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
	if second >= docs || first+second > docs+1000 {
		t.Errorf("the build read %d documents and after the interruption %d of %d: it began anew", first, second, docs)
	}
}

// TestWritersBesideBuilds lets writers change documents while indexes are built
// by the background: what they wrote last is in the index when it is readable.
func TestWritersBesideBuilds(t *testing.T) {
	x := index.New(index.Options{Kinds: []index.Kind{field.Kind{}}, Page: 1000})
	defer x.Close()
	s := openStore(t, openEngine(t), x)
	defer s.Close()
	if err := x.Start(ctx, s); err != nil {
		t.Fatal(err)
	}
	d, err := s.Create(ctx, "db", store.Creation{})
	if err != nil {
		t.Fatal(err)
	}
	load(t, d, 3000)
	var stop atomic.Bool
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			var parents [50]document.Rev
			for i := 0; !stop.Load(); i++ {
				id := document.ID(fmt.Sprintf("w%d-%d", w, i%50))
				e := document.Edit{ID: id, Parent: parents[i%50], Deleted: i%7 == 6, Body: fmt.Appendf(nil, `{"n":%d}`, i)}
				rs, err := d.Whole().Write(ctx, []document.Edit{e}, store.WriteOptions{})
				if err = errors.Join(err, rs[0].Err); err != nil {
					t.Errorf("write: %v", err)
					return
				}
				if parents[i%50] = rs[0].Rev; e.Deleted {
					parents[i%50] = document.Rev{}
				}
			}
		})
	}
	define(t, d, `{"language":"query","views":{"byN":{"map":{"fields":{"n":"asc"}}},"desc":{"map":{"fields":{"n":"desc","_id":"asc"}}}}}`)
	for _, name := range []string{"byN", "desc"} {
		if err := x.Await(ctx, d, named(t, d, name)); err != nil {
			t.Fatal(err)
		}
	}
	stop.Store(true)
	writers.Wait()
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
}

// TestDefinitions holds what becomes of indexes against what design documents say.
func TestDefinitions(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	x := index.New(index.Options{Kinds: []index.Kind{field.Kind{}}, Clock: clock, Idle: true, Page: 1000})
	defer x.Close()
	e := openEngine(t)
	s, err := store.Open(ctx, kvtest.NewShortLocks(t, e, keyspace.IsLaneHead), store.Options{Indexer: x, Idle: true, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d, err := s.Create(ctx, "db", store.Creation{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(id, parent, body string, deleted bool) string {
		t.Helper()
		rev := document.Rev{}
		if parent != "" {
			if rev, err = document.ParseRev(parent); err != nil {
				t.Fatal(err)
			}
		}
		rs, err := d.Whole().Write(ctx, []document.Edit{{ID: document.ID(id), Parent: rev, Body: []byte(body), Deleted: deleted}}, store.WriteOptions{})
		if err = errors.Join(err, rs[0].Err); err != nil {
			t.Fatal(err)
		}
		return rs[0].Rev.String()
	}
	numbers := func() (ns []uint64) {
		if set, _ := d.Indexes().(*index.Set); set != nil {
			for _, ix := range set.Indexes {
				ns = append(ns, ix.Number)
			}
		}
		return ns
	}
	expect := func(what string, want ...uint64) {
		t.Helper()
		if got := numbers(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: indexes %v, want %v", what, got, want)
		}
	}
	a := write("_design/a", "", design, false)
	expect("a definition", 1)
	b := write("_design/b", "", design, false)
	expect("an equal definition of another design document", 1)
	a = write("_design/a", a, `{"language":"query","views":{"other name":{"map":{"fields":{"n":"asc"}}}}}`, false)
	expect("another name", 1)
	a = write("_design/a", a, `{"language":"query","views":{"x":{"map":{"fields":{"m":"asc"}}}}}`, false)
	expect("another definition", 1, 2)
	write("_design/b", b, `{}`, true)
	expect("the last use of the first is gone", 2)
	a = write("_design/a", a, `{"language":"query","views":{"x":{"map":{"fields":{}}},"y":{"map":5},"z":7}}`, false)
	expect("broken definitions")
	write("_design/a", a, design, false)
	expect("numbers are not used again", 3)
}

// TestRemovalsAreForgotten purges documents of a database whose index is kept in
// the transactions of the writers, while it is being built and afterwards: no
// note of a removal stays.
func TestRemovalsAreForgotten(t *testing.T) {
	x := index.New(index.Options{Kinds: []index.Kind{field.Kind{}}, Idle: true, Page: 1000})
	defer x.Close()
	s := openStore(t, openEngine(t), x)
	defer s.Close()
	d, err := s.Create(ctx, "db", store.Creation{})
	if err != nil {
		t.Fatal(err)
	}
	load(t, d, 3000)
	define(t, d, design)
	purge(t, d, 0, 1500)
	if n := removals(t, d); n != 1500 {
		t.Errorf("beside a build %d removals are noted, want 1500", n)
	}
	if err := x.Run(ctx, d); err != nil {
		t.Fatal(err)
	}
	purge(t, d, 1500, 3000)
	if n := removals(t, d); n != 0 {
		t.Errorf("%d removals are still noted", n)
	}
}

func removals(t *testing.T, d *store.Database) (n int) {
	t.Helper()
	err := d.Whole().View(ctx, func(r *store.Reader) error {
		for _, err := range r.Removals(0) {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// purge purges documents from first up to last.
func purge(t *testing.T, d *store.Database, first, last int) {
	t.Helper()
	var ps []store.Purging
	err := d.Whole().View(ctx, func(r *store.Reader) error {
		for n := first; n < last; n++ {
			doc, err := r.Doc(document.ID(fmt.Sprintf("d%06d", n)))
			if err != nil {
				return err
			}
			ps = append(ps, store.Purging{ID: doc.ID, Revs: []document.Rev{doc.Tree.Winner().Rev}})
		}
		return nil
	})
	if err == nil {
		_, err = d.Purge(ctx, ps)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// toBuild makes a database of ten documents with an index that nobody builds unasked.
func toBuild(t *testing.T, e kv.Engine, k index.Kind) (*index.Indexes, *store.Store, *store.Database) {
	t.Helper()
	x := index.New(index.Options{Kinds: []index.Kind{k}, Idle: true})
	t.Cleanup(x.Close)
	s := openStore(t, e, x)
	t.Cleanup(func() { s.Close() })
	d, err := s.Create(ctx, "db", store.Creation{})
	if err != nil {
		t.Fatal(err)
	}
	load(t, d, 10)
	define(t, d, design)
	return x, s, d
}

// heldReads is an engine that keeps the reads of contexts with a held, after their snapshot was taken, until that is
// released.
type heldReads struct{ kv.Engine }

type held struct {
	taken, release chan struct{}
	once           sync.Once
}

func newHeld() *held { return &held{taken: make(chan struct{}), release: make(chan struct{})} }

type heldKey struct{}

func (e heldReads) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	err := e.Engine.View(ctx, fn)
	if h, ok := ctx.Value(heldKey{}).(*held); ok {
		h.once.Do(func() { close(h.taken) })
		<-h.release
	}
	return err
}

// TestWaitReadsLate has somebody who waits for a build read how far it is before its end, and learn it after.
func TestWaitReadsLate(t *testing.T) {
	x, _, d := toBuild(t, heldReads{openEngine(t)}, &counting{})
	building, h := named(t, d, "byN"), newHeld()
	late := make(chan error)
	go func() { late <- x.Wait(context.WithValue(ctx, heldKey{}, h), d, building) }()
	<-h.taken
	err := x.Await(ctx, d, building)
	close(h.release)
	if err := errors.Join(err, <-late); err != nil {
		t.Error(err)
	}
}

// TestBuiltElsewhere has one server wait for a build that another one does, after it has looked.
func TestBuiltElsewhere(t *testing.T) {
	e := heldReads{openEngine(t)}
	var servers [2]*index.Indexes
	var databases [2]*store.Database
	for i := range servers {
		servers[i] = index.New(index.Options{Kinds: []index.Kind{&counting{}}, Idle: true})
		defer servers[i].Close()
		s := openStore(t, e, servers[i])
		defer s.Close()
		var err error
		if i == 0 {
			databases[i], err = s.Create(ctx, "db", store.Creation{})
		} else {
			databases[i], err = s.Database(ctx, "db")
		}
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			load(t, databases[0], 10)
			define(t, databases[0], design)
		}
	}
	waited, building, h := make(chan error), named(t, databases[0], "byN"), newHeld()
	go func() { waited <- servers[0].Wait(context.WithValue(ctx, heldKey{}, h), databases[0], building) }()
	<-h.taken
	if err := servers[1].Await(ctx, databases[1], named(t, databases[1], "byN")); err != nil {
		t.Error(err)
	}
	close(h.release)
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

// TestBuildIsTold has one server wait for a build that another one does: it is told of the end, or, where the message is
// lost, looks a second later.
func TestBuildIsTold(t *testing.T) {
	for tells, most := range map[bool]time.Duration{true: 0, false: time.Second} {
		t.Run(fmt.Sprint(tells), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { builtElsewhere(t, tells, most) })
		})
	}
}

func builtElsewhere(t *testing.T, tells bool, most time.Duration) {
	e := kvtest.NewModel(kvtest.ModelOptions{})
	shared := kvtest.NewSharing(e, tells)
	var servers [2]*index.Indexes
	var stores [2]*store.Store
	for i := range servers {
		servers[i] = index.New(index.Options{Kinds: []index.Kind{&counting{}}, Idle: true})
		defer servers[i].Close()
		stores[i] = openStore(t, shared.Engine(), servers[i])
		defer stores[i].Close()
	}
	here, err := stores[0].Create(ctx, "db", store.Creation{})
	if err != nil {
		t.Fatal(err)
	}
	load(t, here, 10)
	define(t, here, design)
	there, err := stores[1].Database(ctx, "db")
	if err != nil {
		t.Fatal(err)
	}
	waited, building := make(chan error), named(t, here, "byN")
	go func() { waited <- servers[0].Wait(ctx, here, building) }()
	synctest.Wait()
	began := time.Now()
	if err := servers[1].Await(ctx, there, named(t, there, "byN")); err != nil {
		t.Error(err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > most {
		t.Errorf("it is known after %s", took)
	}
}

// TestBuildThatPanics has somebody else finish a build of which a step panicked.
func TestBuildThatPanics(t *testing.T) {
	k := &counting{stop: func(built int64) {
		if built == 5 {
			panic("the fifth document")
		}
	}}
	x, _, d := toBuild(t, openEngine(t), k)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no step panicked")
			}
		}()
		_ = x.Await(ctx, d, named(t, d, "byN"))
	}()
	if err := x.Await(ctx, d, named(t, d, "byN")); err != nil {
		t.Error(err)
	}
}

// TestWrittenAlikeDuringABuild rewrites a document, with the same value in the index, after the build has read it and
// before it has written its row: the build leaves the document to its writer then.
func TestWrittenAlikeDuringABuild(t *testing.T) {
	k := &counting{}
	x, s, d := toBuild(t, openEngine(t), k)
	var rewritten error
	k.stop = func(built int64) {
		if built != 10 {
			return
		}
		k.stop = nil
		rewritten = rewrite(d, "d000003", `{"n":3,"other":true}`)
	}
	if err := errors.Join(x.Await(ctx, d, named(t, d, "byN")), rewritten, s.Check(ctx)); err != nil {
		t.Error(err)
	}
}

// rewrite writes a document that is there.
func rewrite(d *store.Database, id document.ID, body string) error {
	var parent document.Rev
	err := d.Whole().View(ctx, func(r *store.Reader) error {
		rev, err := r.Winner(id)
		if err == nil {
			parent = rev.Rev
		}
		return err
	})
	if err != nil {
		return err
	}
	rs, err := d.Whole().Write(ctx, []document.Edit{{ID: id, Parent: parent, Body: []byte(body)}}, store.WriteOptions{})
	if err == nil {
		err = rs[0].Err
	}
	return err
}
