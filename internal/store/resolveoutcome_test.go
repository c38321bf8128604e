package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestSettle: what a writer is told is what is stored, whether its commit arrived, was
// lost, or arrives when the store has asked already. The store asks an engine that is
// away until it answers.
func TestSettle(t *testing.T) {
	for _, fault := range []kvtest.Fault{kvtest.LostCommit, kvtest.LostAnswer, kvtest.LateCommit} {
		for away := range 3 {
			t.Run(fmt.Sprintf("%d away %d", fault, away), func(t *testing.T) {
				w, faults := newModelWorld(t, Options{Idle: true})
				d := w.create("db", false)
				faults.Fail(1, fault)
				for n := range away {
					faults.Fail(2+n, [...]kvtest.Fault{kvtest.Refused, kvtest.LostCommit}[n])
				}
				first := w.mustWrite(d, document.Edit{ID: "a", Body: []byte(`{"n":1}`)})
				faults.Fail(1, kvtest.LateCommit) // arrives, or not, when the next call comes
				second := w.mustWrite(d, document.Edit{ID: "a", Parent: rev(t, first), Body: []byte(`{"n":2}`)})
				w.mustWrite(d, document.Edit{ID: "a", Parent: rev(t, second), Body: []byte(`{"n":3}`)})
			})
		}
	}
}

// TestSettleStopped: nobody waits for an engine that will not come back.
func TestSettleStopped(t *testing.T) {
	w, faults := newModelWorld(t, Options{Idle: true})
	w.create("db", false)
	stopped := &stopsAfter{Engine: faults}
	s, err := Open(ctx, stopped, Options{Idle: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	stopped.commits = true
	d, err := s.Database(ctx, "db")
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Whole().Write(ctx, []document.Edit{{ID: "a", Body: []byte(`{}`)}}, WriteOptions{})
	if !dberr.Is(err, dberr.UnknownOutcome) {
		t.Errorf("the write's error is %v, want UnknownOutcome", err)
	}
}

// goesAway is an engine that goes away in the midst of a commit, and comes back.
type goesAway struct {
	kv.Engine
	commits atomic.Bool   // the next commit is its last
	away    atomic.Bool   // nothing is answered
	others  bool          // but the commits of others, which lock their lanes
	doubt   bool          // it is not told either what became of a question
	asked   chan struct{} // has a value when somebody asked in vain
}

func (e *goesAway) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	if e.commits.CompareAndSwap(true, false) {
		e.away.Store(true)
		return dberr.New(dberr.UnknownOutcome, "", "lost")
	}
	if !e.away.Load() || e.others && len(locked) > 0 {
		return e.Engine.Update(ctx, fn, locked...)
	}
	select {
	case e.asked <- struct{}{}:
	default:
	}
	if e.doubt {
		return dberr.New(dberr.UnknownOutcome, "", "no answer")
	}
	return dberr.New(dberr.Unavailable, "", "away")
}

// TestWaitingIsRefused: while nobody knows what became of a commit, because the engine is away, writes that came after it
// are told so, and nothing of them is stored; whose commit it is waits for the truth.
func TestWaitingIsRefused(t *testing.T) {
	t.Run("away", func(t *testing.T) { waitingIsRefused(t, false) })
	t.Run("doubt", func(t *testing.T) { waitingIsRefused(t, true) }) // as while a commit waits for a standby that is away
}

func waitingIsRefused(t *testing.T, doubt bool) {
	model := kvtest.NewModel(kvtest.ModelOptions{})
	defer model.Close()
	e := &goesAway{Engine: model, asked: make(chan struct{}, 1), doubt: doubt}
	w := openWorld(t, e, Options{Idle: true})
	defer w.Close()
	d := w.create("db", false)
	write := func(id document.ID) <-chan error {
		told := make(chan error, 1)
		go func() {
			_, err := d.Whole().Write(ctx, []document.Edit{{ID: id, Body: []byte(`{}`)}}, WriteOptions{})
			told <- err
		}()
		return told
	}
	e.commits.Store(true)
	first := write("a")
	<-e.asked
	w.later(time.Minute)
	if err := <-write("b"); !dberr.Is(err, dberr.Unavailable) {
		t.Errorf("who came later was told: %v", err)
	}
	select {
	case err := <-first:
		t.Errorf("who began was told before anybody knows: %v", err)
	default:
	}
	e.away.Store(false)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := <-write("c"); err != nil {
		t.Error(err)
	}
	view(t, d.Whole(), func(r *Reader) error {
		if _, err := r.Winner("b"); !dberr.Is(err, dberr.NotFound) {
			t.Errorf("of what was refused is stored: %v", err)
		}
		return nil
	})
}

// TestReservationIsRefused: a transaction of several databases, of which one does not know what became of its last commit,
// is told so, and does not keep the others from their commits.
func TestReservationIsRefused(t *testing.T) {
	model := kvtest.NewModel(kvtest.ModelOptions{})
	defer model.Close()
	e := &goesAway{Engine: model, asked: make(chan struct{}, 1), others: true}
	w := openWorld(t, e, Options{Idle: true})
	defer w.Close()
	before, stuck, after := w.create("before", false), w.create("stuck", false), w.create("after", false)
	transact := func(id document.ID, ds ...*Database) error {
		parts := make([]ScopedEdits, len(ds))
		for i, d := range ds {
			parts[i] = ScopedEdits{d.Whole(), []document.Edit{{ID: id, Body: []byte(`{}`)}}}
		}
		_, err := w.Transact(ctx, parts)
		return err
	}
	e.commits.Store(true)
	first := make(chan error, 1)
	go func() { first <- transact("a", stuck) }()
	<-e.asked
	refused := make(chan error, 4)
	for i := range cap(refused) {
		go func() { refused <- transact(document.ID(fmt.Sprint("b", i)), before, stuck, after) }()
	}
	if err := transact("c", before, after); err != nil {
		t.Errorf("a transaction of other databases: %v", err)
	}
	for range cap(refused) {
		if err := <-refused; !dberr.Is(err, dberr.Unavailable) {
			t.Errorf("a transaction of the database that does not know was told: %v", err)
		}
	}
	if err := transact("d", before); err != nil {
		t.Errorf("a write to a database whose committer was reserved: %v", err)
	}
	e.away.Store(false)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := transact("b0", before, stuck, after); err != nil {
		t.Errorf("when the engine is back: %v", err)
	}
}

// TestSettleTogether has many write at once while commits are lost, arrive late or get
// no answer, and the engine is away now and then: no write is refused that is stored, and
// none acknowledged that is not, on the model and on Pebble.
func TestSettleTogether(t *testing.T) {
	open := map[string]func() kv.Engine{
		"model": func() kv.Engine { return kvtest.NewModel(kvtest.ModelOptions{}) },
		"pebble": func() kv.Engine {
			e, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: vfs.NewMem(), CacheBytes: 1 << 20, MemTableBytes: 1 << 20, Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			return e
		},
	}
	for name, open := range open {
		t.Run(name, func(t *testing.T) {
			faults := kvtest.NewFaults(open())
			w := openWorld(t, faults, Options{Idle: true})
			defer faults.Close()
			defer w.Close()
			d := w.create("db", true)
			faults.Randomly(5, kvtest.Rates{kvtest.Refused: 5, kvtest.Rerun: 5, kvtest.LostCommit: 10, kvtest.LostAnswer: 10, kvtest.LateCommit: 15})
			var writers sync.WaitGroup
			told := make([]told, 8)
			for n := range told {
				writers.Go(func() { told[n].write(t, d, document.ID(fmt.Sprintf("p:%d", n))) })
			}
			writers.Wait()
			faults.Randomly(0, nil)
			for range 2 { // what is late arrives
				view(t, d.Whole(), func(*Reader) error { return nil })
			}
			view(t, d.Whole(), func(r *Reader) error {
				for n := range told {
					rev, err := r.Winner(document.ID(fmt.Sprintf("p:%d", n)))
					if err != nil || rev.Rev != told[n].rev {
						t.Errorf("document %d: stored is %v (%v), and its writer was told %v", n, rev, err, told[n].rev)
					}
				}
				return nil
			})
			if err := w.Check(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

func view(t *testing.T, s Scope, fn func(*Reader) error) {
	t.Helper()
	if err := s.View(ctx, fn); err != nil {
		t.Fatal(err)
	}
}

// stopsAfter is an engine that stops for good in the middle of a commit, when told.
type stopsAfter struct {
	kv.Engine
	commits, stopped bool
}

func (e *stopsAfter) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	switch {
	case e.stopped:
		return &dberr.Error{Kind: dberr.Unavailable, Reason: "It stopped.", Cause: kv.ErrStopped}
	case e.commits:
		e.stopped = true
		return dberr.New(dberr.UnknownOutcome, "", "It stops.")
	}
	return e.Engine.Update(ctx, fn, locked...)
}

// told is what one writer knows of its document.
type told struct{ rev document.Rev }

// write changes a document again and again. Nobody else does, so that a conflict is a
// write that was refused, or not told, and happened.
func (o *told) write(t *testing.T, d *Database, id document.ID) {
	for n := range 40 {
		rs, err := d.Whole().Write(ctx, []document.Edit{{ID: id, Parent: o.rev, Body: fmt.Appendf(nil, `{"n":%d}`, n)}}, WriteOptions{})
		switch {
		case dberr.Is(err, dberr.Unavailable): // refused before it began
		case err != nil:
			t.Errorf("%s: %v", id, err)
		case rs[0].Err != nil:
			t.Errorf("%s at %v: %v", id, o.rev, rs[0].Err)
		default:
			o.rev = rs[0].Rev
		}
	}
}
