package store

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// trapped is an engine whose transactions and snapshots panic when they meet a
// key with one of the words in it.
type trapped struct {
	kv.Engine
	mu                   sync.Mutex
	onLock, onPut, onGet string // "" for none
}

func (e *trapped) set(onLock, onPut, onGet string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.onLock, e.onPut, e.onGet = onLock, onPut, onGet
}

func (e *trapped) meet(word *string, key []byte) {
	e.mu.Lock()
	hit := *word != "" && bytes.Contains(key, []byte(*word))
	e.mu.Unlock()
	if hit {
		panic("met " + *word)
	}
}

func (e *trapped) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	return e.Engine.Update(ctx, func(tx kv.Txn) error { return fn(&trappedTxn{tx, e}) }, locked...)
}

func (e *trapped) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	return e.Engine.View(ctx, func(v kv.Snapshot) error { return fn(&trappedSnapshot{v, e}) })
}

type trappedTxn struct {
	kv.Txn
	e *trapped
}

func (t *trappedTxn) GetForUpdate(key []byte) ([]byte, error) {
	t.e.meet(&t.e.onLock, key)
	return t.Txn.GetForUpdate(key)
}

func (t *trappedTxn) GetManyForUpdate(keys [][]byte) ([][]byte, error) {
	for _, key := range keys {
		t.e.meet(&t.e.onLock, key)
	}
	return t.Txn.GetManyForUpdate(keys)
}

func (t *trappedTxn) Read(r kv.Reads) (kv.Found, error) { return kv.ReadEach(t, r) }

func (t *trappedTxn) Put(key, value []byte) error {
	t.e.meet(&t.e.onPut, key)
	return t.Txn.Put(key, value)
}

type trappedSnapshot struct {
	kv.Snapshot
	e *trapped
}

func (s *trappedSnapshot) GetMany(keys [][]byte) ([][]byte, error) {
	for _, key := range keys {
		s.e.meet(&s.e.onGet, key)
	}
	return s.Snapshot.GetMany(keys)
}

func (s *trappedSnapshot) Read(r kv.Reads) (kv.Found, error) { return kv.ReadEach(s, r) }

func (s *trappedSnapshot) Get(key []byte) ([]byte, error) {
	s.e.meet(&s.e.onGet, key)
	return s.Snapshot.Get(key)
}

// trappedWorld is a store on an engine with traps, and what it logs.
func trappedWorld(t *testing.T, o Options) (*world, *trapped, *bytes.Buffer) {
	e := &trapped{Engine: kvtest.NewChecked(t, kvtest.NewModel(kvtest.ModelOptions{}))}
	log := &bytes.Buffer{}
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	w := openWorld(t, e, o)
	t.Cleanup(func() {
		e.set("", "", "")
		w.check()
		w.closeAll()
	})
	return w, e, log
}

// TestPanicOfAnEdit lets the planning of one edit panic: it fails alone, in its
// own request and beside others', and the log says where.
func TestPanicOfAnEdit(t *testing.T) {
	w, e, log := trappedWorld(t, Options{})
	d := w.create("db", true)
	w.put(d, "p:many", "", `{}`)
	e.set("bad", "", "")
	bulk, bulkFn := writing(t, d, edit(t, "p:a", "", `{}`), edit(t, "p:bad", "", `{}`), edit(t, "p:c", "", `{}`), edit(t, "p:a", "", `{}`))
	single, singleFn := writing(t, d, edit(t, "p:d", "", `{}`))
	atomic, _ := writing(t, d, edit(t, "p:e", "", `{}`), edit(t, "p:bad", "", `{}`))
	atomic.atomic = true
	for i, err := range together(d, bulkFn, singleFn, (&transaction{writes: []*write{atomic}, databases: []*Database{d}}).apply) {
		if err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	for _, want := range []struct {
		of   string
		got  error
		fine bool
		kind dberr.Kind
	}{
		{"first", bulk.edits[0].err, true, 0}, {"bad", bulk.edits[1].err, false, dberr.Internal}, {"third", bulk.edits[2].err, true, 0},
		{"first again", bulk.edits[3].err, false, dberr.Conflict}, {"single", single.edits[0].err, true, 0}, {"bad in the atomic", atomic.edits[1].err, false, dberr.Internal},
	} {
		if want.fine != (want.got == nil) || !want.fine && dberr.KindOf(want.got) != want.kind {
			t.Errorf("%s: %v", want.of, want.got)
		}
	}
	if got := w.get(d, "p:e"); !strings.Contains(got, "missing") {
		t.Errorf("something of a refused atomic batch is there: %s", got)
	}
	if !strings.Contains(log.String(), "met bad") || !strings.Contains(log.String(), "(*group).doc") {
		t.Errorf("the log does not tell where: %s", log)
	}
}

// TestPanicOfACommit lets a request panic after something of it was written:
// nothing of it is stored, and those that shared the commit are.
func TestPanicOfACommit(t *testing.T) {
	w, e, log := trappedWorld(t, Options{})
	d := w.create("db", true)
	e.set("", "worse", "")
	_, bulk := writing(t, d, edit(t, "p:a", "", `{}`), edit(t, "p:worse", "", `{}`))
	_, single := writing(t, d, edit(t, "p:b", "", `{}`))
	_, last := writing(t, d, edit(t, "p:c", "", `{}`))
	errs := together(d, single, bulk, last)
	if errs[0] != nil || dberr.KindOf(errs[1]) != dberr.Internal || errs[1] == nil || errs[2] != nil {
		t.Errorf("the outcomes are %v", errs)
	}
	for id, there := range map[string]bool{"p:a": false, "p:worse": false, "p:b": true, "p:c": true} {
		if got := w.get(d, id); there == strings.Contains(got, "missing") {
			t.Errorf("%s: %s", id, got)
		}
	}
	if !strings.Contains(log.String(), "met worse") {
		t.Errorf("the log does not tell: %s", log)
	}
	w.put(d, "p:after", "", `{}`)
}

// TestPanicOfAnIndex lets an index panic at a document.
func TestPanicOfAnIndex(t *testing.T) {
	w, _, _ := trappedWorld(t, Options{Indexer: panickyIndexer{}})
	d := w.create("db", true)
	_, bad := writing(t, d, edit(t, "p:bad", "", `{}`))
	_, good := writing(t, d, edit(t, "p:good", "", `{}`))
	if errs := together(d, bad, good); errs[0] == nil || errs[1] != nil {
		t.Errorf("the outcomes are %v", errs)
	}
	if got := w.get(d, "p:good"); strings.Contains(got, "missing") {
		t.Error(got)
	}
}

type panickyIndexer struct{}

func (panickyIndexer) Define(kv.Txn, *Database, document.ID, []byte) (bool, error) { return false, nil }
func (x panickyIndexer) Load(kv.Snapshot, Scope) (IndexSet, error)                 { return x, nil }
func (panickyIndexer) Renew(kv.Txn, Scope, IndexSet) error                         { return nil }
func (panickyIndexer) Defined(Scope)                                               {}
func (panickyIndexer) Check(*Reader) ([]error, error)                              { return nil, nil }
func (panickyIndexer) Follows() bool                                               { return false }
func (panickyIndexer) Following() Following                                        { return Following{} }
func (panickyIndexer) Apply(_ kv.Txn, _, after *Revision) error {
	if after != nil && after.ID == "p:bad" {
		panic("a document that the index does not like")
	}
	return nil
}

// TestPanicOfMaintenance lets the work of one database panic: that of others is
// done.
func TestPanicOfMaintenance(t *testing.T) {
	w, e, _ := trappedWorld(t, Options{})
	a, b := w.create("a", true), w.create("b", true)
	for _, d := range []*Database{a, b} {
		w.put(d, "bad:x", "", `{}`)
		w.put(d, "good:x", "", `{}`)
	}
	if err := a.DropPartition(ctx, "bad", false); err != nil {
		t.Fatal(err)
	}
	if err := b.DropPartition(ctx, "good", false); err != nil {
		t.Fatal(err)
	}
	e.set("bad", "", "")
	if err := w.Sweep(ctx); !dberr.Panicked(err) {
		t.Errorf("the sweep gives %v", err)
	}
	if _, err := b.Whole().Write(ctx, []document.Edit{edit(t, "good:y", "", `{}`)}, WriteOptions{}); err != nil {
		t.Error(err)
	}
	if got := w.get(b, "good:y"); strings.Contains(got, "missing") {
		t.Error("the partition of the other database is not dropped yet")
	}
	e.set("", "", "")
	w.sweep()
}

// TestEachEditHasItsOutcome writes edits of which each fails in a way of its own
// in one request: those beside them are stored.
func TestEachEditHasItsOutcome(t *testing.T) {
	large := []byte(`{"text":"` + strings.Repeat("x", 5<<20) + `"}`) // more than the engine takes in one transaction
	for _, o := range []WriteOptions{{}, {Load: true}} {
		w, e, _ := trappedWorld(t, Options{MaxConflicts: func() int { return 1 }, Indexer: panickyIndexer{}})
		d := w.create("db", true)
		w.put(d, "p:there", "", `{}`)
		e.set("locked", "written", "")
		edits := []document.Edit{
			edit(t, "p:a", "", `{}`),
			{ID: "p:large", Body: large},
			edit(t, "p:locked", "", `{}`), // panics as it is planned
			edit(t, "p:b", "", `{}`),
			edit(t, "p:written", "", `{}`), // as it is written
			edit(t, "p:bad", "", `{}`),     // in an index
			edit(t, "p:there", "", `{}`),
			replicated(t, "p:many", `{}`, "1-a"),
			replicated(t, "p:many", `{}`, "1-b"),
			replicated(t, "p:many", `{}`, "1-c"),
			edit(t, "p:z", "", `{}`),
		}
		rs, err := d.Whole().Write(ctx, edits, o)
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[document.ID]dberr.Kind{"p:large": dberr.TooLarge, "p:locked": dberr.Internal, "p:written": dberr.Internal, "p:bad": dberr.Internal, "p:there": dberr.Conflict}
		for i, r := range rs {
			want, fails := kinds[r.ID]
			if i == 9 {
				want, fails = dberr.TooLarge, true
			}
			if fails != (r.Err != nil) || fails && dberr.KindOf(r.Err) != want {
				t.Errorf("%s: %v", r.ID, r.Err)
			}
			if got := w.get(d, string(r.ID)); !strings.Contains(got, "missing") == (fails && r.ID != "p:there" && r.ID != "p:many") {
				t.Errorf("%s: %s", r.ID, got)
			}
		}
	}
}

func (panickyIndexer) Slow() bool                                     { return false }
func (panickyIndexer) Derive(context.Context, *Revision) (any, error) { return nil, nil }
