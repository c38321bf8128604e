package kvcopy

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// Watched is an engine that belongs to one process, with all its transactions watched: it
// is a kv.Tracker. As long as nobody tracks, that costs a lock.
type Watched struct {
	kv.Engine
	under underway
	state struct {
		sync.Mutex
		now *tracking // nil: nobody tracks
	}
}

// Watch returns e watched.
func Watch(e kv.Engine) *Watched { return &Watched{Engine: e} }

// underway counts what is under way: a settling waits for what began before it, and keeps
// nobody from beginning.
type underway struct {
	sync.Mutex
	now *generation   // of what begins; nil: nothing has begun since the last settling
	old []*generation // what settlings have waited for, or still do
}

// generation is what began between two settlings.
type generation struct {
	running int
	over    bool          // nothing more begins in it
	done    chan struct{} // closed when it is over and nothing of it runs
}

// enter begins something; leave ends it.
func (u *underway) enter() *generation {
	u.Lock()
	defer u.Unlock()
	if u.now == nil {
		u.now = &generation{done: make(chan struct{})}
	}
	u.now.running++
	return u.now
}

func (u *underway) leave(g *generation) {
	u.Lock()
	defer u.Unlock()
	if g.running--; g.running == 0 && g.over {
		close(g.done)
	}
}

// settle waits for all that has begun, also for what a settling gave up waiting for. The
// error is ctx's.
func (u *underway) settle(ctx context.Context) error {
	for _, g := range u.begun() {
		select {
		case <-g.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// begun ends the generation of what has begun, and returns those of which something runs.
func (u *underway) begun() []*generation {
	u.Lock()
	defer u.Unlock()
	if u.now != nil && u.now.running > 0 {
		u.now.over = true
		u.old = append(u.old, u.now)
		u.now = nil
	}
	u.old = slices.DeleteFunc(u.old, func(g *generation) bool { return g.running == 0 })
	return slices.Clone(u.old)
}

const (
	// keptKeys is how many bytes of keys are kept; if there are more, all of the range is
	// taken for discarded and is read again.
	keptKeys = 64 << 20
	// fenceWait is how long a writer waits at a fence.
	fenceWait = 10 * time.Second
)

var (
	errTracked = dberr.New(dberr.Conflict, "", "A copy is being made already.")
	errFenced  = dberr.New(dberr.Unavailable, "moving", "This is being moved to another engine.").After(time.Second)
)

// tracking implements kv.Tracking.
type tracking struct {
	w *Watched
	r kv.Range

	sync.Mutex
	keys      map[string]struct{}
	bytes     int
	discarded []kv.Range
	fence     chan struct{} // closed when it is lowered; nil: there is none
	up        bool          // what began before the fence has ended
	refusal   error
}

// Track implements kv.Tracker.
func (w *Watched) Track(ctx context.Context, r kv.Range) (kv.Tracking, error) {
	t := &tracking{w: w, r: r, keys: map[string]struct{}{}}
	if !w.install(nil, t) {
		return nil, errTracked
	}
	if err := w.under.settle(ctx); err != nil {
		w.install(t, nil)
		return nil, err
	}
	return t, nil
}

// install puts one tracking in the place of another, if that is there.
func (w *Watched) install(old, now *tracking) bool {
	w.state.Lock()
	defer w.state.Unlock()
	if w.state.now != old {
		return false
	}
	w.state.now = now
	return true
}

func (w *Watched) tracking() *tracking {
	w.state.Lock()
	defer w.state.Unlock()
	return w.state.now
}

// Update implements kv.Engine.
func (w *Watched) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	return w.watch(ctx, fn, func(fn func(kv.Txn) error) error { return w.Engine.Update(ctx, fn, locked...) })
}

// Pipeline implements kv.Pipeliner.
func (w *Watched) Pipeline(ctx context.Context, fn func(kv.Txn) error, applied func(), locked ...[]byte) error {
	p, ok := w.Engine.(kv.Pipeliner)
	if !ok {
		err := w.Update(ctx, fn, locked...)
		if err == nil {
			applied()
		}
		return err
	}
	return w.watch(ctx, fn, func(fn func(kv.Txn) error) error { return p.Pipeline(ctx, fn, applied, locked...) })
}

// Discard implements kv.Engine.
func (w *Watched) Discard(ctx context.Context, r kv.Range) error {
	for {
		again, err := w.discard(ctx, r)
		if again == nil {
			return err
		}
		if err := again.pass(ctx); err != nil {
			return err
		}
	}
}

// discard discards, unless there is a fence, whose tracking it returns then.
func (w *Watched) discard(ctx context.Context, r kv.Range) (behind *tracking, err error) {
	defer w.under.leave(w.under.enter())
	t := w.tracking()
	if t == nil || !overlap(r, t.r) {
		return nil, w.Engine.Discard(ctx, r)
	}
	if t.fenced() {
		return t, nil
	}
	err = w.Engine.Discard(ctx, r)
	t.note(nil, 0, r)
	return nil, err
}

// watch runs a transaction with what it writes noted, and again when a fence that it met
// was lowered.
func (w *Watched) watch(ctx context.Context, fn func(kv.Txn) error, run func(func(kv.Txn) error) error) error {
	for {
		again, err := w.once(ctx, fn, run)
		if again == nil {
			return err
		}
		if err := again.pass(ctx); err != nil {
			return err
		}
	}
}

func (w *Watched) once(ctx context.Context, fn func(kv.Txn) error, run func(func(kv.Txn) error) error) (behind *tracking, err error) {
	defer w.under.leave(w.under.enter())
	t := w.tracking()
	if t == nil {
		return nil, run(fn)
	}
	n := &noted{t: t, through: ctx.Value(through{}) == t}
	err = run(func(tx kv.Txn) error {
		n.Txn, n.fenced = tx, false
		if err := fn(n); err != nil || !n.fenced {
			return err
		}
		return errFenced
	})
	// Also those of runs and outcomes that came to nothing: it does no harm.
	t.note(n.keys, n.bytes)
	if n.fenced {
		return t, nil
	}
	return nil, err
}

// noted is a transaction whose keys are noted.
type noted struct {
	kv.Txn
	t       *tracking
	through bool
	keys    []string
	bytes   int
	fenced  bool // it wanted to write behind the fence
}

func (n *noted) Put(key, value []byte) error {
	return errors.Join(n.note(key), n.Txn.Put(key, value))
}

func (n *noted) Delete(key []byte) error { return errors.Join(n.note(key), n.Txn.Delete(key)) }

func (n *noted) DeleteOnce(key []byte) error {
	return errors.Join(n.note(key), n.Txn.DeleteOnce(key))
}

func (n *noted) note(key []byte) error {
	if !n.t.r.Contains(key) {
		return nil
	}
	if !n.through && n.t.fenced() {
		n.fenced = true
		return errFenced
	}
	n.keys = append(n.keys, string(key))
	n.bytes += len(key)
	return nil
}

func (t *tracking) fenced() bool {
	t.Lock()
	defer t.Unlock()
	return t.fence != nil || t.refusal != nil
}

func (t *tracking) note(keys []string, size int, discarded ...kv.Range) {
	if len(keys) == 0 && len(discarded) == 0 {
		return
	}
	t.Lock()
	defer t.Unlock()
	t.discarded = append(t.discarded, discarded...)
	for _, key := range keys {
		t.keys[key] = struct{}{}
	}
	if t.bytes += size; t.bytes > keptKeys {
		clear(t.keys)
		t.bytes, t.discarded = 0, []kv.Range{t.r}
	}
}

// pass waits until the fence is lowered.
func (t *tracking) pass(ctx context.Context) error {
	t.Lock()
	fence, refusal := t.fence, t.refusal
	t.Unlock()
	if refusal != nil || fence == nil {
		return refusal
	}
	timer := time.NewTimer(fenceWait)
	defer timer.Stop()
	select {
	case <-fence:
		return nil
	case <-timer.C:
		return errFenced
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Refused reports whether a copy has left a refusal.
func (w *Watched) Refused() bool {
	t := w.tracking()
	return t != nil && t.refuses()
}

// Written implements kv.Tracking.
func (t *tracking) Written(context.Context) (keys [][]byte, discarded []kv.Range, err error) {
	t.Lock()
	defer t.Unlock()
	for key := range t.keys {
		keys = append(keys, []byte(key))
	}
	discarded = t.discarded
	t.keys, t.bytes, t.discarded = map[string]struct{}{}, 0, nil
	return keys, discarded, nil
}

// Fence implements kv.Tracking. What is under way is waited for as long as writers wait at
// the fence, and no longer.
func (t *tracking) Fence(ctx context.Context) error {
	t.Lock()
	if t.fence == nil {
		t.fence = make(chan struct{})
	}
	up := t.up
	t.Unlock()
	if up {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, fenceWait)
	defer cancel()
	err := t.w.under.settle(ctx)
	t.Lock()
	defer t.Unlock()
	t.up = err == nil && t.fence != nil
	return err
}

// Lower implements kv.Tracking.
func (t *tracking) Lower(context.Context) error {
	t.lower(nil)
	return nil
}

func (t *tracking) lower(refusal error) {
	t.Lock()
	defer t.Unlock()
	if refusal != nil {
		t.refusal = refusal
	}
	if t.fence != nil {
		close(t.fence)
		t.fence, t.up = nil, false
	}
}

type through struct{}

// Through implements kv.Tracking.
func (t *tracking) Through(ctx context.Context, fn func(kv.Txn) error, refusal error) error {
	err := t.w.Update(context.WithValue(ctx, through{}, t), fn)
	if refusal != nil && (err == nil || dberr.Is(err, dberr.UnknownOutcome)) {
		t.lower(refusal)
	}
	return err
}

// End implements kv.Tracking.
func (t *tracking) End() error {
	t.lower(nil)
	if !t.refuses() {
		t.w.install(t, nil)
	}
	return nil
}

func (t *tracking) refuses() bool {
	t.Lock()
	defer t.Unlock()
	return t.refusal != nil
}

func overlap(a, b kv.Range) bool {
	return (b.End == nil || bytes.Compare(a.Start, b.End) < 0) && (a.End == nil || bytes.Compare(b.Start, a.End) < 0)
}
