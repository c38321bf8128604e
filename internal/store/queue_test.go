package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// sizes returns the sizes of requests.
func sizes(rs []*request) (sizes []int) {
	for _, r := range rs {
		sizes = append(sizes, r.size)
	}
	return sizes
}

// TestSmallGoFirst holds what a commit takes of small and large requests.
func TestSmallGoFirst(t *testing.T) {
	const small, run = 300, interleavedBytes
	var q queue
	put := func(n, size int) {
		for range n {
			l := &q.pending.large
			if size <= smallBytes {
				l = &q.pending.small
			}
			*l = append(*l, &request{size: size})
		}
	}
	want := func(what string, groups ...[]int) {
		t.Helper()
		for i, group := range groups {
			if got := sizes(q.take()); !slices.Equal(got, group) {
				t.Fatalf("%s, group %d has %d requests %v, want %v", what, i, len(got), got, group)
			}
		}
	}
	q.pending.room = groupBytes
	put(20, run)
	want("large ones alone", slices.Repeat([]int{run}, 16))
	put(2, small)
	want("small ones that came later", []int{small, small, run})
	want("what is left", []int{run, run}, []int{run}, nil)
	put(1, small)
	want("nothing large", []int{small}, nil)
	put(40, run)
	put(1, small)
	want("room grows again", []int{small, run}, []int{run, run}, slices.Repeat([]int{run}, 4), slices.Repeat([]int{run}, 8), slices.Repeat([]int{run}, 16), slices.Repeat([]int{run}, 9), nil)
	put(1, 10*groupBytes) // an atomic batch
	put(2, small)
	want("one that is larger than a group", []int{small, small, 10 * groupBytes}, nil)
	for range 50 { // small ones without an end
		put(groupRequests, small)
		put(1, run)
		if got := sizes(q.take()); len(got) != groupRequests+1 || got[groupRequests] != run {
			t.Fatalf("a large request starves: %d requests", len(got))
		}
	}
}

// TestLargeWritesAreDivided shows that small writes come between the parts of a
// large one.
func TestLargeWritesAreDivided(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	entered, release := make(chan bool), make(chan bool)
	go d.do(ctx, "test", func(*group) error { entered <- true; <-release; return nil })
	<-entered
	body := []byte(`{"text":"` + strings.Repeat("x", 20000) + `"}`)
	var edits []document.Edit
	for i := range 40 {
		edits = append(edits, document.Edit{ID: document.ID("p:" + string(rune('a'+i))), Body: body})
	}
	results := make(chan []Result)
	go func() {
		rs, err := d.Whole().Write(ctx, edits, WriteOptions{})
		if err != nil {
			t.Error(err)
		}
		results <- rs
	}()
	for queued := 0; queued < 40*len(body)/interleavedBytes; {
		d.queue.pending.Lock()
		queued = len(d.queue.pending.large)
		d.queue.pending.Unlock()
	}
	single := make(chan Seq)
	go func() { single <- w.write(d, edit(t, "p:A", "", `{}`)).Seq }()
	for queued := 0; queued == 0; {
		d.queue.pending.Lock()
		queued = len(d.queue.pending.small)
		d.queue.pending.Unlock()
	}
	close(release)
	seq, rs := <-single, <-results
	for i := range rs[1:] {
		if rs[i].Seq >= rs[i+1].Seq {
			t.Errorf("the parts of a request changed places: %d is before %d", rs[i].Seq, rs[i+1].Seq)
		}
	}
	if last := rs[len(rs)-1]; last.Err != nil || seq >= last.Seq {
		t.Errorf("the small write has sequence %d, the last of the large one %d, %v", seq, last.Seq, last.Err)
	}
}

// TestWritersReadTogether has many writers share a commit: what decides about their documents is read in one trip.
func TestWritersReadTogether(t *testing.T) {
	e := kvtest.NewRemote(kvtest.NewModel(kvtest.ModelOptions{}), nil)
	w := openWorld(t, e, Options{Idle: true})
	d := w.create("db", true)
	entered, release := make(chan bool), make(chan bool)
	go d.do(ctx, "test", func(*group) error { entered <- true; <-release; return nil })
	<-entered
	const writers = 32
	results := make(chan Result, writers)
	for i := range writers {
		go func() { results <- w.write(d, edit(t, fmt.Sprintf("p%d:a", i%4), "", `{}`)) }()
		go func() { results <- w.write(d, edit(t, fmt.Sprintf("p%d:b%d", i%4, i), "", `{}`)) }()
	}
	for queued := 0; queued < 2*writers; {
		d.queue.pending.Lock()
		queued = len(d.queue.pending.small)
		d.queue.pending.Unlock()
	}
	e.Take()
	close(release)
	stored := 0
	for range 2 * writers {
		if r := <-results; r.Err == nil {
			stored++
		} else if !dberr.Is(r.Err, dberr.Conflict) {
			t.Error(r.Err)
		}
	}
	if stored != writers+4 {
		t.Errorf("%d documents are stored, want %d", stored, writers+4)
	}
	reads := 0
	for _, trip := range e.Take() {
		if trip.Op != "commit" {
			reads++
		}
	}
	if most := 10; reads > most {
		t.Errorf("%d writers who share a commit wait for %d reads, want %d at most", 2*writers, reads, most)
	}
}

// TestTooManyWritesWaiting fills the room for writes that wait: who comes then is
// told when to come again, and nothing of his is stored.
func TestTooManyWritesWaiting(t *testing.T) {
	w := newWorld(t, Options{MaxQueued: func() int64 { return 100 << 10 }})
	d := w.create("db", true)
	entered, release := make(chan bool), make(chan bool)
	go d.do(ctx, "test", func(*group) error { entered <- true; <-release; return nil })
	<-entered
	large := document.Edit{ID: "p:large", Body: []byte(`{"text":"` + strings.Repeat("x", 90<<10) + `"}`)}
	done := make(chan error)
	go func() {
		_, err := d.Whole().Write(ctx, []document.Edit{large}, WriteOptions{})
		done <- err
	}()
	for w.busy.waiting.Load() == 0 {
	}
	again := large
	again.ID = "p:again"
	for _, o := range []WriteOptions{{}, {Atomic: true}, {Load: true}} {
		_, err := d.Whole().Write(ctx, []document.Edit{again}, o)
		if e := (*dberr.Error)(nil); !errors.As(err, &e) || e.Kind != dberr.Unavailable || e.RetryAfter == 0 {
			t.Fatalf("%+v: %v", o, err)
		}
	}
	if _, err := d.Whole().PutLocal(ctx, "_local/x", 0, large.Body); !dberr.Is(err, dberr.Unavailable) {
		t.Fatalf("a local document: %v", err)
	}
	small := make(chan Result)
	go func() { small <- w.write(d, edit(t, "p:small", "", `{}`)) }() // there is an eighth more for small ones
	for queued := 0; queued == 0; {
		d.queue.pending.Lock()
		queued = len(d.queue.pending.small)
		d.queue.pending.Unlock()
	}
	close(release)
	if err, res := <-done, <-small; err != nil || res.Err != nil {
		t.Fatal(err, res.Err)
	}
	if got := w.get(d, "p:again"); !strings.Contains(got, "missing") {
		t.Errorf("the refused write is stored: %s", got)
	}
	w.mustWrite(d, again)
	again.ID, again.Body = "p:alone", []byte(`{"text":"`+strings.Repeat("x", 200<<10)+`"}`)
	w.mustWrite(d, again) // larger than all room, but alone
	if n := w.busy.waiting.Load(); n != 0 {
		t.Errorf("%d bytes are still counted", n)
	}
}

// behind is an engine that is behind with its work.
type behind struct {
	*kvtest.Model
	pressure float64
	asked    int // how often it was asked for: who waits looks again and again
}

func (e *behind) Pressure() float64 {
	e.asked++
	return e.pressure
}

// TestLargeWritesGiveWay lets an engine be behind: small writes go on at once,
// large ones one at a time, and who waits too long is refused.
func TestLargeWritesGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &behind{Model: kvtest.NewModel(kvtest.ModelOptions{}), pressure: 1}
		w := openWorld(t, e, Options{})
		defer w.closeAll()
		d := w.create("db", true)
		w.mustWrite(d, edit(t, "p:small", "", `{}`))
		if e.asked > 0 {
			t.Errorf("a small write looked %d times whether it has to wait", e.asked)
		}
		var edits []document.Edit
		for i := range 8 {
			edits = append(edits, document.Edit{ID: document.ID("p:" + string(rune('a'+i))), Body: []byte(`{"text":"` + strings.Repeat("x", 64<<10) + `"}`)})
		}
		w.mustWriteAll(d, edits)
		if e.asked < 5 || e.asked > 100 {
			t.Errorf("half a megabyte looked %d times whether it has to wait", e.asked)
		}
		w.busy.turn <- struct{}{} // somebody has the turn and does not end
		_, err := d.Whole().Write(ctx, edits, WriteOptions{})
		if e := (*dberr.Error)(nil); !errors.As(err, &e) || e.Kind != dberr.Unavailable || e.RetryAfter == 0 {
			t.Errorf("without the turn: %v", err)
		}
		e.pressure, e.asked = 0, 0
		if _, err := d.Whole().Write(ctx, edits, WriteOptions{}); err != nil || e.asked > len(edits) { // a look for each
			t.Errorf("without pressure: it looked %d times, %v", e.asked, err)
		}
	})
}

// TestGroupsGather: where commits follow each other, one waits for those who were in the last one and come back,
// but not for those who don't.
func TestGroupsGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue
		s := &Store{}
		commits := make(chan []*request)
		var went time.Duration // from the end of the commit before to this one
		last := time.Now()
		commit := func(batch []*request, _ <-chan struct{}, _ func()) {
			went = time.Since(last)
			commits <- batch
			time.Sleep(8 * time.Millisecond)
			last = time.Now()
			for _, r := range batch {
				r.done <- nil
			}
		}
		s.distant = true
		write := func(n, size int) (rs []*request) {
			for range n {
				r := &request{size: size, done: make(chan error, 1), queue: &q}
				q.entered()
				s.enqueue(&q, r, size <= smallBytes, commit)
				rs = append(rs, r)
			}
			return rs
		}
		answered := func(rs []*request) {
			for _, r := range rs {
				if err := r.wait(); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(time.Millisecond) // they are back a little later
		}
		want := func(what string, n int, after time.Duration) {
			t.Helper()
			if batch := <-commits; len(batch) != n || went != after {
				t.Errorf("%s: a commit of %d after %v, want %d after %v", what, len(batch), went, n, after)
			}
		}
		first := write(1, 100)
		want("the first", 1, 0)
		others := write(3, 100)
		answered(first)
		first = write(1, 100)
		want("four who write at the same time", 4, time.Millisecond)
		answered(append(first, others...))
		one := write(1, 100)
		want("one who comes back alone", 1, 4*time.Millisecond)
		answered(one)
		one = write(1, 100)
		want("one who is alone", 1, time.Millisecond)
		two := write(2, 100)
		answered(one)
		one = write(1, smallBytes+1)
		want("one with a large request", 3, time.Millisecond)
		answered(append(one, two...))
		s.work.Wait()
	})
}
