package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// number returns the n of a body {"n":5}, 0 of a document that is not there.
func number(t testing.TB, body []byte) (n int) {
	if body == nil {
		return 0
	}
	if _, err := fmt.Sscanf(string(body), `{"n":%d}`, &n); err != nil {
		t.Errorf("%s: %v", body, err)
	}
	return n
}

// adding returns the edit that adds to the number in a document, and makes one that is not there.
func adding(t testing.TB, id string, n int) document.Edit {
	return document.Edit{ID: document.ID(id), Decide: func(now document.Current) (document.Decision, error) {
		return document.Decision{Body: fmt.Appendf(nil, `{"n":%d}`, number(t, now.Body)+n)}, nil
	}}
}

// held begins a commit that does not end before the release; writes queue up meanwhile.
func (w *world) held(d *Database) (release func()) {
	entered, end := make(chan bool), make(chan bool)
	go d.do(ctx, "test", func(*group) error { entered <- true; <-end; return nil })
	<-entered
	return func() { close(end) }
}

// queued waits until as many requests are in the line for small ones.
func queued(d *Database, n int) {
	for there := 0; there < n; {
		d.queue.pending.Lock()
		there = len(d.queue.pending.small)
		d.queue.pending.Unlock()
	}
}

// TestManyAddInOneCommit has fifty writers add to one document while a commit is under way: the next
// one stores them all.
func TestManyAddInOneCommit(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	w.mustWrite(d, edit(t, "p:a", "", `{"n":100}`))
	release := w.held(d)
	calls := atomic.Int64{}
	var writers sync.WaitGroup
	for range 50 {
		writers.Go(func() {
			e := adding(t, "p:a", 1)
			add := e.Decide
			e.Decide = func(now document.Current) (document.Decision, error) {
				calls.Add(1)
				return add(now)
			}
			if r := w.write(d, e); r.Err != nil {
				t.Error(r.Err)
			}
		})
	}
	queued(d, 50)
	release()
	writers.Wait()
	if got := w.get(d, "p:a"); !strings.HasSuffix(got, `{"n":150}`) || !strings.HasPrefix(got, "51-") {
		t.Errorf("the document is %s", got)
	}
	if n := calls.Load(); n != 99 {
		t.Errorf("it was decided %d times, want once by each writer, and by all but the first in the commit", n)
	}
}

// TestNewIsAGuess: an edit of a document that is most likely new is decided without reading
// it, and where that was wrong as it is; what it refuses then rests on what is there.
func TestNewIsAGuess(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	var seen []string
	put := func(id string, decide document.Decide) Result {
		seen = nil
		return w.write(d, document.Edit{ID: document.ID(id), New: true, Decide: func(now document.Current) (document.Decision, error) {
			seen = append(seen, cmp.Or(string(now.Body), "nothing"))
			return decide(now)
		}})
	}
	on := func() string { return strings.Join(seen, ", ") }
	over := func(document.Current) (document.Decision, error) {
		return document.Decision{Body: []byte(`{"n":2}`)}, nil
	}
	taken := errors.New("it is there")
	unless := func(now document.Current) (document.Decision, error) {
		if now.Exists() {
			return document.Decision{}, taken
		}
		return document.Decision{Body: []byte(`{"n":3}`)}, nil
	}
	only := func(now document.Current) (document.Decision, error) {
		if !now.Exists() {
			return document.Decision{}, taken
		}
		return document.Decision{Body: []byte(`{"n":4}`)}, nil
	}
	gone := func(now document.Current) (document.Decision, error) {
		return document.Decision{Deleted: true, Keep: !now.Exists(), Body: []byte("{}")}, nil
	}
	for _, c := range []struct {
		id     string
		decide document.Decide
		seen   string // the bodies that it was decided on
		err    error
		want   string // what is there afterwards
	}{
		{"p:a", over, "nothing", nil, `{"n":2}`},
		{"p:a", over, `nothing, {"n":2}`, nil, `{"n":2}`}, // a wrong guess
		{"p:b", over, "nothing", nil, `{"n":2}`},          // no guess for a while
		{"p:a", unless, `{"n":2}`, taken, `{"n":2}`},
		{"p:a", only, `{"n":2}`, nil, `{"n":4}`},
	} {
		if r := put(c.id, c.decide); !errors.Is(r.Err, c.err) || on() != c.seen || !strings.HasSuffix(w.get(d, c.id), c.want) {
			t.Errorf("%s: decided on %q, %v, and it is %s; want %q, %v", c.id, seen, r.Err, w.get(d, c.id), c.seen, c.err)
		}
	}
	d.blindWrites.pause.Store(0)
	if r := put("p:a", unless); !errors.Is(r.Err, taken) || on() != `nothing, {"n":4}` {
		t.Errorf("decided on %q, %v", seen, r.Err)
	}
	d.blindWrites.pause.Store(0)
	if r := put("p:a", gone); r.Err != nil || on() != `nothing, {"n":4}` { // that it writes nothing is no guess
		t.Errorf("decided on %q, %v", seen, r.Err)
	}
	if r := put("p:a", unless); r.Err != nil || on() != "nothing, nothing" { // the second time on a tombstone
		t.Errorf("decided on %q, %v", seen, r.Err)
	}
}

// TestAddingIsExact adds by random writers, alone, in bulks and in atomic batches, to a few documents of a
// store that fails now and then: what was acknowledged counts once, what was not at most once.
func TestAddingIsExact(t *testing.T) {
	w, faults := newModelWorld(t, Options{})
	d := w.create("db", true)
	faults.Randomly(7, kvtest.Rates{kvtest.Rerun: 15, kvtest.LostCommit: 10, kvtest.LostAnswer: 10, kvtest.LateCommit: 5})
	const ids, clients, each = 3, 6, 40
	var answered, failed [ids]atomic.Int64
	var writers sync.WaitGroup
	for c := range clients {
		r := kvtest.NewRand(uint64(c))
		writers.Go(func() {
			for range each {
				edits := make([]document.Edit, 1+r.IntN(ids))
				for i := range edits {
					edits[i] = adding(t, fmt.Sprint("p:", i), 1)
					edits[i].New = r.Chance(2)
				}
				rs, err := d.Whole().Write(ctx, edits, WriteOptions{Atomic: r.Chance(2)})
				for i := range edits {
					if err == nil && rs[i].Err == nil {
						answered[i].Add(1)
					} else {
						failed[i].Add(1)
					}
				}
			}
		})
	}
	writers.Wait()
	faults.Randomly(0, nil)
	for i := range ids {
		body := strings.SplitN(w.get(d, fmt.Sprint("p:", i)), " ", 2)[1]
		n, least := int64(number(t, []byte(body))), answered[i].Load()
		if n < least || n > least+failed[i].Load() {
			t.Errorf("document %d counts %d: %d were acknowledged, %d failed", i, n, least, failed[i].Load())
		}
	}
}

// judging is an Admission that remembers which bodies it judged; with asked set, so
// does its validation.
type judging struct {
	mu       sync.Mutex
	bodies   map[string]bool
	byBody   bool
	asked    map[string]bool
	refusing string
}

func (a *judging) Admit(_ context.Context, _ *Database, e *document.Edit, _ func() (*Revision, error)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bodies[string(e.Body)] = true
	return nil
}

func (a *judging) JudgesBody(*Database, document.ID) bool { return a.byBody }

func (a *judging) Validate(_ context.Context, _ *Database, _ []*Revision, ps []Proposal) ([]error, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	errs := make([]error, len(ps))
	for i, p := range ps {
		old := ""
		if p.Old != nil {
			old = string(p.Old.Body)
		}
		a.asked[old+string(p.New.Body)] = true
		if string(p.New.Body) == a.refusing {
			errs[i] = dberr.New(dberr.Forbidden, "forbidden", "no")
		}
	}
	return errs, nil
}

// TestWhatIsStoredWasJudged has many writers add to one document: each body that was stored was seen by an admission
// that judges bodies, and by validation functions beside what it replaced.
func TestWhatIsStoredWasJudged(t *testing.T) {
	for _, validates := range []bool{false, true} {
		a := &judging{bodies: map[string]bool{}, asked: map[string]bool{}, byBody: !validates, refusing: `{"n":7}`}
		w := newWorld(t, Options{Admission: a})
		d := w.create("db", false)
		if validates {
			w.mustWrite(d, edit(t, "_design/v", "", `{"validate_doc_update":"function(){}"}`))
		}
		refused := atomic.Int64{}
		var writers sync.WaitGroup
		for c := range 8 {
			writers.Go(func() {
				for n := range 5 {
					if r := w.write(d, adding(t, "a", 1+(c+n)%2)); dberr.Is(r.Err, dberr.Forbidden) {
						refused.Add(1)
					} else if r.Err != nil {
						t.Error(r.Err)
					}
				}
			})
		}
		writers.Wait()
		r := currentRev(t, d, "a")
		if int64(r.Gen)+refused.Load() != 40 {
			t.Errorf("validation %v: generation %d, %d refused", validates, r.Gen, refused.Load())
		}
		before := ""
		for _, body := range bodiesOf(t, d, "a") {
			if judged := a.bodies[body]; !validates && !judged || validates && !a.asked[before+body] {
				t.Errorf("validation %v: %s was stored over %s and not judged", validates, body, before)
			}
			before = body
		}
		if n := len(w.turns.queues); n != 0 {
			t.Errorf("%d turns that nobody waits for are kept", n)
		}
	}
}

// bodiesOf returns the bodies of a document's revisions, oldest first.
func bodiesOf(t *testing.T, d *Database, id document.ID) (bodies []string) {
	t.Helper()
	err := d.Whole().View(ctx, func(r *Reader) error {
		doc, err := r.Doc(id)
		if err != nil {
			return err
		}
		path, _ := doc.Tree.Path(doc.Tree.Winner().Rev)
		for _, rev := range slices.Backward(path) {
			one, err := r.Revision(doc, rev)
			if err != nil {
				return err
			}
			bodies = append(bodies, string(one.Body))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bodies
}

// TestDecidingIsBounded holds which edits are decided in a commit, after one that moved their document, and which go
// back to their writers.
func TestDecidingIsBounded(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	w.mustWrite(d, edit(t, "p:a", "", `{"n":1}`))
	taking := func(took time.Duration) document.Edit {
		e := adding(t, "p:a", 1)
		add := e.Decide
		e.Decide = func(now document.Current) (document.Decision, error) {
			w.now = w.now.Add(took)
			return add(now)
		}
		return e
	}
	for _, c := range []struct {
		what  string
		edits []document.Edit
		back  int
	}{
		{"quick ones", slices.Repeat([]document.Edit{taking(time.Millisecond)}, 20), 0},
		{"slow ones", slices.Repeat([]document.Edit{taking(slowDecision + 1)}, 5), 4},
		{"many that are nearly slow", slices.Repeat([]document.Edit{taking(slowDecision)}, 20), 20 - 12},
	} {
		var ws []*write
		var fns []func(*group) error
		for _, e := range c.edits {
			pending, fn := writing(t, d, e)
			ws, fns = append(ws, pending), append(fns, fn)
		}
		together(d, fns...)
		back := 0
		for _, w := range ws {
			if errors.Is(w.edits[0].err, errMoved) {
				back++
			} else if w.edits[0].err != nil {
				t.Errorf("%s: %v", c.what, w.edits[0].err)
			}
		}
		if back != c.back {
			t.Errorf("%s: %d of %d went back, want %d", c.what, back, len(c.edits), c.back)
		}
	}
	var wide sync.WaitGroup
	for range 8 {
		wide.Go(func() {
			e := document.Edit{ID: "p:large", Decide: func(now document.Current) (document.Decision, error) {
				return document.Decision{Body: []byte(`{"t":"` + strings.Repeat("x", len(now.Body)+100<<10) + `"}`)}, nil
			}}
			if r := w.write(d, e); r.Err != nil {
				t.Error(r.Err)
			}
		})
	}
	wide.Wait()
	if r := currentRev(t, d, "p:large"); r.Gen != 8 {
		t.Errorf("the large document has generation %d", r.Gen)
	}
}

// TestLargeDecisionsTakeTurns has many writers change large documents at once: one of them at a time holds what that takes.
func TestLargeDecisionsTakeTurns(t *testing.T) {
	w := newWorld(t, Options{MaxQueued: func() int64 { return 4 * largeDecision }})
	d := w.create("db", true)
	const writers = 16
	large := strings.Repeat("x", 2*largeDecision)
	for i := range 4 {
		w.mustWrite(d, edit(t, fmt.Sprintf("p:%d", i), "", `{"s":"`+large+`"}`))
	}
	var deciding, most atomic.Int32
	var wait sync.WaitGroup
	for i := range writers {
		wait.Go(func() {
			e := document.Edit{ID: document.ID(fmt.Sprintf("p:%d", i%4)), Decide: func(now document.Current) (document.Decision, error) {
				n := deciding.Add(1)
				defer deciding.Add(-1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				runtime.Gosched()
				return document.Decision{Body: append(now.Body[:len(now.Body)-2:len(now.Body)-2], `y"}`...)}, nil
			}}
			rs, err := d.Whole().Write(ctx, []document.Edit{e}, WriteOptions{})
			if err == nil {
				err = rs[0].Err
			}
			if err != nil {
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	wait.Wait()
	if most.Load() != 1 {
		t.Errorf("%d decided at once", most.Load())
	}
	for i := range 4 {
		if got := w.get(d, fmt.Sprintf("p:%d", i)); !strings.Contains(got, `xyyyy"}`) {
			t.Errorf("a change is lost: …%.40q", got[max(0, len(got)-40):])
		}
	}
}

// TestDecidePanics: one that panics is refused by itself, in its writer's own time and in a commit with others.
func TestDecidePanics(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	if r := w.write(d, document.Edit{ID: "p:a", Decide: func(document.Current) (document.Decision, error) { panic("mistake") }}); !dberr.Panicked(r.Err) {
		t.Errorf("it is told %v", r.Err)
	}
	bad := document.Edit{ID: "p:a", Decide: func(now document.Current) (document.Decision, error) {
		if now.Exists() {
			panic("mistake")
		}
		return document.Decision{Body: []byte(`{"n":1}`)}, nil
	}}
	first, do1 := writing(t, d, adding(t, "p:a", 1))
	panics, do2 := writing(t, d, bad)
	last, do3 := writing(t, d, adding(t, "p:a", 1))
	together(d, do1, do2, do3)
	if err := panics.edits[0].err; !dberr.Panicked(err) || first.edits[0].err != nil || last.edits[0].err != nil {
		t.Errorf("they are told %v, %v, %v", first.edits[0].err, err, last.edits[0].err)
	}
	if got := w.get(d, "p:a"); !strings.HasSuffix(got, `{"n":2}`) {
		t.Errorf("the document is %s", got)
	}
}

// TestDecisions holds what conditional edits may make of a document.
func TestDecisions(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	decide := func(id string, by document.Decide) Result {
		return w.write(d, document.Edit{ID: document.ID(id), Parent: rev(t, hashed(7, "any")), Decide: by})
	}
	if r := decide("p:a", document.Expect(document.Rev{})); r.Err != nil || !r.Rev.IsZero() || r.Seq != 0 {
		t.Errorf("a document that must not be there: %+v", r)
	}
	e := document.Edit{ID: "p:a", Body: []byte(`{"n":1}`), Attachments: []document.Attachment{{Name: "x", Data: []byte("abc")}}}
	first := w.write(d, e)
	if r := decide("p:a", document.Expect(first.Rev)); r.Err != nil || r.Rev != first.Rev || r.Seq != first.Seq {
		t.Errorf("the expected revision: %+v", r)
	}
	if r := decide("p:a", document.Expect(document.Rev{})); !dberr.Is(r.Err, dberr.Conflict) {
		t.Errorf("one that is there: %+v", r)
	}
	plain := errors.New("not today")
	if r := decide("p:a", func(document.Current) (document.Decision, error) { return document.Decision{}, plain }); !errors.Is(r.Err, plain) {
		t.Errorf("a refusal: %v", r.Err)
	}
	var seen document.Current
	second := decide("p:a", func(now document.Current) (document.Decision, error) {
		seen = now
		return document.Decision{Body: []byte(`{"n":2}`)}, nil
	})
	if second.Err != nil || second.Rev.Gen != 2 || seen.Rev != first.Rev || string(seen.Body) != `{"n":1}` || len(seen.Attachments) != 1 {
		t.Errorf("%+v of %+v", second, seen)
	}
	if got := len(seenNow(t, d, "p:a").Attachments); got != 1 {
		t.Errorf("%d attachments are left", got)
	}
	delete := func(now document.Current) (document.Decision, error) {
		seen = now
		return document.Decision{Deleted: true}, nil
	}
	if r := decide("p:a", delete); r.Err != nil || r.Rev.Gen != 3 {
		t.Errorf("a deletion: %+v", r)
	}
	if r := decide("p:a", delete); !dberr.Is(r.Err, dberr.Conflict) || seen.Exists() || !seen.Deleted {
		t.Errorf("another: %+v of %+v", r, seen)
	}
	if r := w.write(d, adding(t, "p:a", 1)); r.Err != nil || r.Rev.Gen != 4 {
		t.Errorf("written anew: %+v", r)
	}
	if r := decide("q:a", document.Expect(first.Rev)); !dberr.Is(r.Err, dberr.Conflict) {
		t.Errorf("one that was never there: %+v", r)
	}
}

// TestOldAdmissionSendsBack has a document move between two looks of admission at it: what the first one saw counts.
func TestOldAdmissionSendsBack(t *testing.T) {
	e := &pendingEdit{}
	e.pin(5)
	e.pin(6)
	if *e.pinned != 5 {
		t.Errorf("the edit is pinned to %d", *e.pinned)
	}
}

// seenNow reads the winner of a document.
func seenNow(t *testing.T, d *Database, id document.ID) (rev *Revision) {
	t.Helper()
	err := d.Whole().View(ctx, func(r *Reader) (err error) {
		rev, err = r.Winner(id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rev
}
