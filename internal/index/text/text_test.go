package text

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// world is a store with a text index i in design document d.
type world struct {
	testing.TB
	kind    *Kind
	indexes *index.Indexes
	store   *store.Store
	db      *store.Database
	now     time.Time
}

func newWorld(t testing.TB, k *Kind) *world {
	t.Helper()
	e, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: vfs.NewMem()})
	must(t, err)
	w := &world{TB: t, kind: k, now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	k.o.Scratch, k.o.Clock = t.TempDir(), func() time.Time { return w.now }
	w.indexes = index.New(index.Options{Kinds: []index.Kind{k}, Idle: true})
	w.store, err = store.Open(ctx, kvtest.NewShortLocks(t, e, keyspace.IsLaneHead), store.Options{Idle: true, Indexer: w.indexes})
	must(t, err)
	t.Cleanup(func() {
		w.indexes.Close()
		must(t, w.store.Close())
		must(t, e.Close())
	})
	w.db, err = w.store.Create(ctx, "db", store.Creation{Partitioned: true})
	must(t, err)
	w.put("_design/d", `{"indexes":{"i":{"index":"members"}}}`)
	return w
}

// put writes documents over what is there: id and body in turn, "" to delete.
func (w *world) put(pairs ...string) {
	w.Helper()
	var edits []document.Edit
	for i := 0; i < len(pairs); i += 2 {
		e := document.Edit{ID: document.ID(pairs[i]), Body: []byte(pairs[i+1])}
		must(w, w.db.Whole().View(ctx, func(r *store.Reader) error {
			if d, err := r.Winner(e.ID); err == nil {
				e.Parent = d.Rev
			}
			return nil
		}))
		if pairs[i+1] == "" {
			e.Body, e.Deleted = []byte("{}"), true
		}
		edits = append(edits, e)
	}
	rs, err := w.db.Whole().Write(ctx, edits, store.WriteOptions{})
	must(w, err)
	for _, r := range rs {
		must(w, r.Err)
	}
}

// many writes documents from one number up to another.
func (w *world) many(from, to int, word string) {
	w.Helper()
	var pairs []string
	for i := from; i < to; i++ {
		pairs = append(pairs, fmt.Sprintf("p:%06d", i), fmt.Sprintf(`{"t":"%s and a word %d","n":%d}`, word, i, i))
	}
	w.put(pairs...)
}

func (w *world) follow() {
	w.Helper()
	must(w, w.indexes.Run(ctx, w.db))
}

// index returns the index.
func (w *world) index() (x *index.Index) {
	w.Helper()
	must(w, w.db.Whole().View(ctx, func(r *store.Reader) error {
		s, err := index.Of(r)
		x = s.Lookup("_design/d", KindName, "i").Index
		return err
	}))
	return x
}

// view calls fn with a reader of the index.
func (w *world) view(fn func(*store.Reader, *index.Index, *segment.Reader) error) error {
	x := w.index()
	return w.db.Whole().View(ctx, func(r *store.Reader) error {
		reader, err := w.kind.NewReader(r, x, "")
		if err != nil {
			return err
		}
		return errors.Join(fn(r, x, reader), reader.Close())
	})
}

// all is everything that the index answers.
func (w *world) all() (text string) {
	w.Helper()
	must(w, w.view(func(r *store.Reader, x *index.Index, _ *segment.Reader) (err error) {
		text, err = answers(w.kind, r, x)
		return err
	}))
	return text
}

// manifest returns the manifest and what Check finds.
func (w *world) manifest() (m manifest) {
	w.Helper()
	must(w, w.view(func(r *store.Reader, x *index.Index, _ *segment.Reader) (err error) {
		m, err = rowsOf(w.db, x.Number).readManifest(r.Snapshot().Get)
		found, checked := w.kind.Check(r, x)
		return errors.Join(append(found, err, checked)...)
	}))
	return m
}

// again is what the index answers built from nothing.
func (w *world) again() string {
	w.Helper()
	w.put("_design/d", "")
	w.put("_design/d", `{"indexes":{"i":{"index":"members"}}}`)
	w.follow()
	return w.all()
}

// changesOf reads documents as changes.
func (w *world) changesOf(ids ...document.ID) (changes []index.Change) {
	must(w, w.db.Whole().View(ctx, func(r *store.Reader) error {
		changes = nil
		for _, id := range ids {
			c := index.Change{ID: id}
			if rev, err := r.Winner(id); err == nil && !rev.Deleted {
				c.Rev = rev
			}
			changes = append(changes, c)
		}
		return nil
	}))
	return changes
}

// TestMergeBetween merges between finding old versions and writing about them: they are
// found again where they are then.
func TestMergeBetween(t *testing.T) {
	w := newWorld(t, testKind(Options{}))
	w.kind.mergeCount = 100
	for i := range 4 {
		w.many(10*i, 10*i+10, "first")
		w.follow()
	}
	w.put("p:000005", `{"t":"second"}`, "p:000025", "")
	x := w.index()
	b, err := w.kind.Map(ctx, w.db, x, w.changesOf("p:000005", "p:000025"), false)
	must(t, err)
	w.kind.mergeCount = 2
	pieces, err := w.indexes.Maintain(ctx, w.db, x)
	if must(t, err); pieces < 2 || len(w.manifest().segments) != 1 {
		t.Fatalf("%d pieces, %d segments", pieces, len(w.manifest().segments))
	}
	must(t, w.db.Commit(ctx, b.Apply))
	got := w.all()
	w.follow()
	if diff := cmp.Diff(w.all(), got); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff(w.again(), got); diff != "" {
		t.Fatal(diff)
	}
}

// TestDeletedMeanwhile deletes documents while their segments are being merged.
func TestDeletedMeanwhile(t *testing.T) {
	for _, ahead := range []bool{false, true} {
		w := newWorld(t, testKind(Options{}))
		w.kind.mergeCount = 100
		for i := range 4 {
			w.many(10*i, 10*i+10, "first")
			w.follow()
		}
		if w.kind.mergeCount, w.kind.batch = 2, 1<<20; ahead {
			w.kind.batch = 100
		}
		x := w.index()
		g := &merging{work: &work{Kind: w.kind, rows: rowsOf(w.db, x.Number), x: x}, piece: &index.Piece{Database: w.db, Index: x}}
		_, err := g.begin(ctx)
		must(t, err)
		if len(g.from) < 2 {
			t.Fatalf("%d are merged", len(g.from))
		}
		w.kind.mergeCount = 100
		w.put("p:000005", `{"t":"second"}`, "p:000007", "", "p:000015", "")
		w.follow()
		must(t, g.run(ctx))
		got := w.all()
		if m := w.manifest(); len(m.segments) > 4 {
			t.Fatalf("%d segments", len(m.segments))
		}
		if err := g.run(ctx); err != nil { // once more: they are not there any more
			t.Fatal(err)
		}
		w.manifest()
		if diff := cmp.Diff(w.again(), got); diff != "" {
			t.Fatal(diff)
		}
	}
}

// TestManySegmentsAtOnce writes a batch that is too much for one transaction.
func TestManySegmentsAtOnce(t *testing.T) {
	testrun.Sequential(t)
	w := newWorld(t, testKind(Options{}))
	w.follow()
	text := strings.Repeat("words of a long text ", 20_000)
	for i := range 4 {
		w.put(fmt.Sprintf("p:%d", i), `{"t":"`+text+`"}`, fmt.Sprintf("q:%d", i), `{"t":"short"}`)
	}
	b, err := w.kind.Map(ctx, w.db, w.index(), w.changesOf("p:0", "p:1", "p:2", "p:3", "q:0", "q:1", "q:2", "q:3"), false)
	must(t, err)
	if n := len(b.(*batch).parts); n != 1 {
		t.Fatalf("%d parts are left for the last transaction", n)
	}
	w.follow()
	got := w.all()
	if diff := cmp.Diff(w.again(), got); diff != "" {
		t.Fatal(diff)
	}
}

// TestAbandoned leaves a segment half written: it goes after its deadline, and not before.
func TestAbandoned(t *testing.T) {
	w := newWorld(t, testKind(Options{}))
	w.many(0, 10, "first")
	w.follow()
	x := w.index()
	g := &merging{work: &work{Kind: w.kind, rows: rowsOf(w.db, x.Number), x: x}, piece: &index.Piece{Database: w.db, Index: x}}
	_, err := g.writeAhead(ctx, make([]byte, 3<<20))
	must(t, err)
	chunks := func() (n int) {
		must(t, w.view(func(r *store.Reader, x *index.Index, _ *segment.Reader) error {
			return kv.Each(r.Snapshot(), kv.Prefix(keyspace.TextChunk.Key(w.db.Number(), keyspace.U(x.Number))), func([]byte, []byte) error {
				n++
				return nil
			})
		}))
		return n
	}
	if n := chunks(); n != 49 {
		t.Fatalf("%d chunks", n)
	}
	w.manifest()
	w.follow()
	if n := chunks(); n != 49 {
		t.Fatalf("%d chunks before the deadline", n)
	}
	w.now = w.now.Add(time.Hour)
	w.follow()
	if n := chunks(); n != 1 {
		t.Fatalf("%d chunks are left", n)
	}
	w.manifest()
}

// TestDamagedChunk changes a byte on disk: no answer comes from it, whoever asks is told,
// and the index is built again.
func TestDamagedChunk(t *testing.T) {
	w := newWorld(t, testKind(Options{}))
	w.many(0, 50, "first")
	w.follow()
	want, number := w.all(), w.index().Number
	at := rowsOf(w.db, number)
	must(t, w.db.Commit(ctx, func(tx kv.Txn) error {
		value, err := tx.Get(at.chunk(1, 0))
		if err != nil {
			return err
		}
		value[len(value)/2] ^= 1
		return tx.Put(at.chunk(1, 0), value)
	}))
	w.kind.cache = newCache(cacheOptions{limit: 1 << 20}) // as after a start
	if found := w.check(); len(found) != 1 {
		t.Fatalf("check finds %v", found)
	}
	ask := func() error {
		s, err := w.indexes.Session(ctx, w.db.Whole(), "_design/d", KindName, "i")
		if err == nil {
			err = s.Ready(ctx, time.Second)
		}
		if err == nil {
			err = s.CatchUp(ctx)
		}
		if err != nil {
			return err
		}
		return s.View(ctx, func(r *store.Reader, _ bool) error {
			_, err := w.kind.NewReader(r, s.Answers, "")
			return err
		})
	}
	if err := ask(); !dberr.Is(err, dberr.Unavailable) {
		t.Fatalf("who asks is told %v", err)
	}
	must(t, ask())
	if w.index().Number == number {
		t.Fatal("it is the same index")
	}
	if diff := cmp.Diff(want, w.all()); diff != "" {
		t.Fatal(diff)
	}
}

// TestDamagedOnUpdate finds the damage when documents change.
func TestDamagedOnUpdate(t *testing.T) {
	w := newWorld(t, testKind(Options{}))
	w.many(0, 50, "first")
	w.follow()
	at := rowsOf(w.db, w.index().Number)
	must(t, w.db.Commit(ctx, func(tx kv.Txn) error { return tx.Delete(at.chunk(1, 0)) }))
	w.kind.cache = newCache(cacheOptions{limit: 1 << 20})
	w.put("p:000001", `{"t":"second"}`)
	if err := w.indexes.Run(ctx, w.db); !dberr.Is(err, dberr.Unavailable) {
		t.Fatalf("%v", err)
	}
	w.follow()
	got := w.all()
	if diff := cmp.Diff(w.again(), got); diff != "" {
		t.Fatal(diff)
	}
}

func (w *world) check() (found []error) {
	x := w.index()
	must(w, w.db.Whole().View(ctx, func(r *store.Reader) (err error) {
		found, err = w.kind.Check(r, x)
		return err
	}))
	return found
}

// stopping is goFunctions that fail after some documents.
type stopping struct {
	goFunctions
	left *int
}

var errStopped = errors.New("stopped")

func (f stopping) Index(ctx context.Context, s Script, docs [][]byte) ([]Result, error) {
	if *f.left -= len(docs); *f.left < 0 {
		return nil, errStopped
	}
	return f.goFunctions.Index(ctx, s, docs)
}

// TestStoppedBuild stops a build again and again: it goes on where it was.
func TestStoppedBuild(t *testing.T) {
	w := newWorld(t, testKind(Options{}))
	w.many(0, 6000, "first")
	calls := 0
	for done := false; !done; calls++ {
		left := 2500
		w.kind.o.Functions = stopping{goFunctions{}, &left}
		err := w.indexes.Run(ctx, w.db)
		if done = err == nil; !done && !errors.Is(err, errStopped) {
			t.Fatal(err)
		}
		if calls > 10 {
			t.Fatal("it does not come to an end")
		}
	}
	if calls < 3 {
		t.Fatalf("it was stopped %d times", calls-1)
	}
	w.kind.o.Functions = goFunctions{}
	var n uint64
	must(t, w.view(func(_ *store.Reader, _ *index.Index, r *segment.Reader) (err error) {
		n, err = r.DocCount()
		return err
	}))
	if w.manifest(); n != 6000 {
		t.Fatalf("%d documents", n)
	}
}

// TestManyNames indexes documents with more names of fields than a segment may have.
func TestManyNames(t *testing.T) {
	testrun.Sequential(t)
	w := newWorld(t, testKind(Options{}))
	body := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, `,"m%d":1`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	w.put("p:1", body(0, 5000), "p:2", body(5000, 9000), "p:3", body(0, 9000))
	w.follow()
	w.kind.mergeCount = 2
	w.follow()
	m := w.manifest()
	docs := uint32(0)
	for _, e := range m.segments {
		docs += e.live()
	}
	if docs != 2 {
		t.Fatalf("%d documents", docs)
	}
}

// TestIndexLargerThanMemory searches an index whose segments do not fit into the cache: its
// partitions can be searched that do.
func TestIndexLargerThanMemory(t *testing.T) {
	w := newWorld(t, testKind(Options{Cache: 25_000}))
	for _, p := range []string{"a", "b", "c", "d"} {
		for i := range 100 {
			w.put(fmt.Sprintf("%s:%d", p, i), fmt.Sprintf(`{"t":"word%d of %s"}`, i, p))
		}
		w.kind.mergeCount = 2
		w.follow()
		w.kind.mergeCount = 100
	}
	x := w.index()
	read := func(p document.Partition) error {
		return w.db.Whole().View(ctx, func(r *store.Reader) error {
			_, err := w.kind.NewReader(r, x, p)
			return err
		})
	}
	if err := read(""); !dberr.Is(err, dberr.Unavailable) {
		t.Fatalf("all of it: %v, %d bytes", err, new(manifest).bytes())
	}
	must(t, read("d"))
}

func TestDefinitions(t *testing.T) {
	k := testKind(Options{})
	for body, want := range map[string]string{
		`{"indexes":{"a":{"index":"f","analyzer":"simple"},"b":{"index":"f"},"c":{"index":1},"d":"f"}}`: `a {"index":"f","analyzer":"simple"} b {"index":"f"} `,
		`{"language":"query","indexes":{"a":{"index":"f"}}}`:                                            ``,
		`{"views":{"lib":{"x":"y"}},"indexes":{"a":{"index":"f"}}}`:                                     `a {"index":"f","lib":{"x":"y"}} `,
		`{"indexes":[]}`: ``,
	} {
		got := ""
		for _, d := range k.Defined(index.Design{ID: "_design/d", Body: []byte(body)}) {
			got += d.Name + " " + string(d.Source) + " "
		}
		if got != want {
			t.Errorf("%s defines %s", body, got)
		}
	}
}

// TestCacheIsBounded opens more segments than the cache may keep.
func TestCacheIsBounded(t *testing.T) {
	made, err := segment.Build([]segment.Document{{ID: "a"}})
	must(t, err)
	c := newCache(cacheOptions{limit: 50_000})
	opens := 0
	get := func(n uint64) {
		s, held, err := c.get(cacheKey{segment: n, bytes: uint64(len(made))}, false, func(to io.Writer) error {
			opens++
			_, err := to.Write(made)
			return err
		})
		if must(t, err); s == nil {
			t.Fatal("nothing")
		}
		held.Release()
		if c.memory > 50_000 || c.pinned != 0 {
			t.Fatalf("%d bytes, %d held", c.memory, c.pinned)
		}
	}
	for n := range uint64(100) {
		get(n)
	}
	if get(99); opens != 100 {
		t.Fatalf("%d were opened", opens)
	}
	if get(0); opens != 101 {
		t.Fatalf("%d were opened", opens)
	}
	failed := errors.New("failed")
	if _, _, err := c.get(cacheKey{segment: 1000}, false, func(io.Writer) error { return failed }); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	get(1000)
}

func TestManifestsComeBack(t *testing.T) {
	m := manifest{next: 7, segments: []entry{{1, 2, 1, 300, 1 << 31, "a", "b"}, {6, 1, 0, 3, 0, "é", "é"}}}
	got, err := unpackManifest(m.pack())
	if err != nil || !cmp.Equal(m, got, cmp.AllowUnexported(manifest{}, entry{})) {
		t.Fatalf("%+v, %v", got, err)
	}
	for n := range m.pack() {
		if _, err := unpackManifest(m.pack()[:n]); err == nil {
			t.Fatalf("%d bytes are a manifest", n)
		}
	}
}

// amplifying are functions that give much more than documents are, and count for how many
// documents they are run at once.
type amplifying struct {
	text string
	max  *int
}

func (f amplifying) Index(_ context.Context, _ Script, docs [][]byte) ([]Result, error) {
	*f.max = max(*f.max, len(docs))
	all := make([]Result, len(docs))
	for i := range all {
		all[i].Fields = []Indexed{{Name: "t", Value: f.text, Index: true}}
	}
	return all, nil
}

// TestAmplified: what small documents give is held of a few of them at a time, and words
// without an end leave their document out.
func TestAmplified(t *testing.T) {
	testrun.Sequential(t)
	for _, c := range []struct {
		text         string
		docs         int
		batch, found int
	}{
		{"small", 100, 100, 100},
		{strings.Repeat(strings.Repeat("large", 24)+" ", 20_000), 24, firstDocs, 24}, // long words make much of few terms
		{strings.Repeat("a ", segment.MaxPlaces+1), 1, 1, 0},
	} {
		k := testKind(Options{})
		w, most := newWorld(t, k), 0
		w.follow()
		k.o.Functions = amplifying{c.text, &most}
		var ids []document.ID
		for i := range c.docs {
			ids = append(ids, document.ID(fmt.Sprintf("p:%03d", i)))
			w.put(string(ids[i]), "{}")
		}
		x := w.index()
		changed, lost, err := k.work(w.db, x).documents(ctx, w.changesOf(ids...))
		must(t, err)
		found := 0
		for _, s := range changed.segments {
			found += int(s.docs)
		}
		if held := len(changed.segments); held > firstDocs {
			t.Errorf("%.9s: %d segments are held, and not written before the next documents are read", c.text, held)
		}
		must(t, w.db.Whole().View(ctx, func(r *store.Reader) error {
			m, err := rowsOf(w.db, x.Number).readManifest(r.Snapshot().Get)
			for _, s := range m.segments {
				found += int(s.docs)
			}
			return err
		}))
		if most > c.batch || found != c.found || int(lost.skipped) != c.docs-c.found {
			t.Errorf("%.9s: %d documents at once, %d found, %d skipped", c.text, most, found, lost.skipped)
		}
	}
}
