package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// testTimeout is how long a test waits for what must come: long after it would be
// there, for it is never reached by a sound store.
const testTimeout = 5 * time.Minute

// TestManyWritersFewDocuments lets writers fight for documents. Every revision
// may be continued by exactly one of them, and each outcome is what happened.
func TestManyWritersFewDocuments(t *testing.T) {
	for _, partitioned := range []bool{false, true} {
		w := newWorld(t, Options{})
		d := w.create("db", partitioned)
		var won sync.Map // "id parent" → writer
		var accepted atomic.Int64
		var work sync.WaitGroup
		followers := newFollowers(d, &work)
		var writers sync.WaitGroup
		for writer := range 12 {
			writers.Go(func() {
				r := kvtest.NewRand(uint64(writer))
				for i := range 60 {
					id := document.ID(fmt.Sprintf("%c:a", 'p'+r.IntN(3)))
					parent := currentRev(t, d, id)
					e := document.Edit{ID: id, Parent: parent, Body: fmt.Appendf(nil, `{"writer":%d,"n":%d}`, writer, i)}
					rs, err := d.Whole().Write(ctx, []document.Edit{e}, WriteOptions{})
					switch {
					case err != nil:
						t.Error(err)
						return
					case rs[0].Err == nil:
						accepted.Add(1)
						if other, twice := won.LoadOrStore(fmt.Sprint(id, parent), writer); twice {
							t.Errorf("%s of %s was continued by writers %d and %d", parent, id, other, writer)
						}
					case !dberr.Is(rs[0].Err, dberr.Conflict):
						t.Error(rs[0].Err)
					}
				}
			})
		}
		writers.Wait()
		for _, f := range followers {
			close(f.stop)
		}
		work.Wait()
		for _, f := range followers {
			f.check(t)
		}
		generations := int64(0)
		for _, id := range []document.ID{"p:a", "q:a", "r:a"} {
			generations += int64(currentRev(t, d, id).Gen)
		}
		if generations != accepted.Load() {
			t.Errorf("%d edits were accepted and %d are there", accepted.Load(), generations)
		}
		totals, err := d.Whole().Totals(ctx)
		if err != nil || int64(totals.Seq) > accepted.Load() {
			t.Errorf("%d sequences for %d edits, %v", totals.Seq, accepted.Load(), err)
		}
	}
}

func currentRev(t *testing.T, d *Database, id document.ID) (rev document.Rev) {
	err := d.Whole().View(ctx, func(r *Reader) error {
		w, err := r.Winner(id)
		if err == nil {
			rev = w.Rev
		}
		return err
	})
	if err != nil && !dberr.Is(err, dberr.NotFound) {
		t.Error(err)
	}
	return rev
}

// follower reads a feed as a client does: from the last sequence it was given,
// waiting when there is nothing new.
type follower struct {
	scope Scope
	stop  chan bool
	since Seq
	last  map[document.ID]string // what it saw last of each document
	err   error
}

// newFollowers starts followers of the database and, if it has any, of its
// partitions.
func newFollowers(d *Database, work *sync.WaitGroup) (fs []*follower) {
	scopes := []Scope{d.Whole(), d.Whole()}
	if d.Partitioned() {
		scopes = append(scopes, d.Within("p"), d.Within("q"), d.Within("r"))
	}
	for _, s := range scopes {
		f := &follower{scope: s, stop: make(chan bool), last: map[document.ID]string{}}
		fs = append(fs, f)
		work.Go(f.run)
	}
	return fs
}

func (f *follower) run() {
	for {
		changed, leave := f.scope.Watch(f.since)
		select {
		case <-changed:
		case <-f.stop:
			leave()
			f.err = f.read()
			return
		}
		leave()
		if f.err = f.read(); f.err != nil {
			return
		}
	}
}

// read takes what is new. Nothing may ever be at or before what was the last
// sequence that it does not know.
func (f *follower) read() error {
	return f.scope.View(ctx, func(r *Reader) error {
		last, err := r.LastSeq()
		if err != nil {
			return err
		}
		for c, err := range r.Changes(0, false) {
			if err != nil {
				return err
			}
			state := fmt.Sprint(c.Seq, c.Leaves)
			if c.Seq <= f.since && f.last[c.ID] != state {
				return fmt.Errorf("behind %d there appeared %s of %s", f.since, state, c.ID)
			}
			f.last[c.ID] = state
		}
		f.since = last
		return nil
	})
}

// check holds what the follower saw against what is there.
func (f *follower) check(t *testing.T) {
	t.Helper()
	if f.err != nil {
		t.Errorf("follower of %q: %v", f.scope.partition, f.err)
	}
	err := f.scope.View(ctx, func(r *Reader) error {
		for c, err := range r.Changes(0, false) {
			if err != nil {
				return err
			}
			if state := fmt.Sprint(c.Seq, c.Leaves); f.last[c.ID] != state {
				t.Errorf("follower of %q: last saw %q of %s, there is %q", f.scope.partition, f.last[c.ID], c.ID, state)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestWatchersAreWoken writes and waits in turns, many times: a wake-up that is
// lost would be met.
func TestWatchersAreWoken(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	scopes := []Scope{d.Whole(), d.Within("p")}
	var work sync.WaitGroup
	answers := make(chan Seq)
	stop := make(chan bool)
	for _, s := range scopes {
		work.Go(func() {
			for since := Seq(0); ; {
				changed, leave := s.Watch(since)
				select {
				case <-changed:
				case <-stop:
					leave()
					return
				}
				leave()
				q, err := s.lastSeq()
				if err != nil || q <= since {
					t.Errorf("woken for nothing: %d after %d, %v", q, since, err)
				}
				since = q
				answers <- q
			}
		})
	}
	parent := ""
	for i := range 300 {
		parent = w.put(d, "p:a", parent, fmt.Sprintf(`{"n":%d}`, i))
		for range scopes {
			select {
			case q := <-answers:
				if q != Seq(i+1) {
					t.Errorf("woken at %d, want %d", q, i+1)
				}
			case <-time.After(testTimeout):
				t.Fatal("somebody was not woken")
			}
		}
	}
	close(stop)
	work.Wait()
}

func TestWatchWakesOnlyThoseConcerned(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	woken := func(ch <-chan struct{}) bool {
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	rev := w.put(d, "p:a", "", `{}`)
	whole, leave1 := d.Whole().Watch(1)
	p, leave2 := d.Within("p").Watch(1)
	q, leave3 := d.Within("q").Watch(0)
	late, _ := d.Whole().Watch(0)
	if !woken(late) || woken(whole) || woken(p) || woken(q) {
		t.Error("before: a watch after what is there must be open, one before it closed")
	}
	if r := w.write(d, edit(t, "p:a", "", `{}`)); r.Err == nil || woken(whole) || woken(p) {
		t.Error("a refused edit woke somebody")
	}
	w.put(d, "p:a", rev, `{"n":2}`)
	if !woken(whole) || !woken(p) || woken(q) {
		t.Errorf("after a write to p: whole %v, p %v, q %v", woken(whole), woken(p), woken(q))
	}
	if err := w.Drop(ctx, "db"); err != nil {
		t.Fatal(err)
	}
	if !woken(q) {
		t.Error("the drop of the database woke nobody")
	}
	for _, leave := range []func(){leave1, leave2, leave3, leave3} {
		leave()
	}
	if n := len(d.watch.waiting.channels); n != 0 {
		t.Errorf("%d channels are left", n)
	}
}

// counting admits by reading a document and allowing the edit only if it makes
// the number in it one higher, as a validation function would.
type counting struct {
	asked atomic.Int64
}

func (a *counting) Admit(_ context.Context, _ *Database, e *document.Edit, old func() (*Revision, error)) error {
	a.asked.Add(1)
	before, err := old()
	if err != nil {
		return err
	}
	n := 0
	if before != nil {
		fmt.Sscanf(string(before.Body), `{"n":%d}`, &n)
		e.Parent = before.Rev // last writer wins: what admission saw is what it replaces
	}
	e.Body = fmt.Appendf(nil, `{"n":%d}`, n+1)
	return nil
}

// TestAdmissionSeesWhatItReplaces lets writers count in one document: each edit
// is admitted again until it replaces what admission has read.
func TestAdmissionSeesWhatItReplaces(t *testing.T) {
	a := &counting{}
	w := newWorld(t, Options{Admission: a})
	d := w.create("db", true)
	var writers sync.WaitGroup
	const each = 25
	for range 8 {
		writers.Go(func() {
			for range each {
				edits := []document.Edit{{ID: "p:a"}, {ID: "p:a"}, {ID: "p:b"}}
				rs, err := d.Whole().Write(ctx, edits, WriteOptions{})
				for i := range rs {
					if rs[i].Err != nil {
						t.Errorf("%v", rs[i].Err)
					}
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	want := map[string]int{"p:a": 8 * each * 2, "p:b": 8 * each}
	for id, n := range want {
		if r := currentRev(t, d, document.ID(id)); int(r.Gen) != n {
			t.Errorf("%s counts %s, want generation %d", id, r, n)
		}
	}
	if a.asked.Load() < 8*each*3 {
		t.Errorf("admission was asked %d times", a.asked.Load())
	}
}

// TestDatabasesComeAndGo creates, writes and drops databases of one name at the
// same time: who created one can write to it until somebody drops it.
func TestDatabasesComeAndGo(t *testing.T) {
	w := newWorld(t, Options{})
	var work sync.WaitGroup
	var created, dropped atomic.Int64
	for i := range 6 {
		work.Go(func() {
			for n := range 40 {
				d, err := w.Create(ctx, "db", Creation{})
				if dberr.Is(err, dberr.Exists) {
					if err := w.Drop(ctx, "db"); err == nil {
						dropped.Add(1)
					} else if !dberr.Is(err, dberr.NotFound) {
						t.Error(err)
					}
					continue
				}
				if dberr.Is(err, dberr.NotFound) { // created, and dropped by another at once
					created.Add(1)
					continue
				}
				if err != nil {
					t.Error(err)
					continue
				}
				created.Add(1)
				_, err = d.Whole().Write(ctx, []document.Edit{{ID: document.ID(fmt.Sprint(i, n))}}, WriteOptions{})
				if err != nil && !dberr.Is(err, dberr.NotFound) {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	there := int64(0)
	if d, err := w.Database(ctx, "db"); err == nil {
		there = 1
		if r := w.write(d, edit(t, "last", "", `{}`)); r.Err != nil {
			t.Errorf("the database that is left: %v", r.Err)
		}
		if got := w.get(d, "last"); got == "" {
			t.Error("the last document is not seen")
		}
	}
	if created.Load()-dropped.Load() != there {
		t.Errorf("%d created, %d dropped, %d there", created.Load(), dropped.Load(), there)
	}
	w.now = w.now.Add(time.Hour)
	w.sweep()
}
