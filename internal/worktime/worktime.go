// Package worktime bounds how long a request may work without sending anything. What it waits for, such as a change or an
// index that others build, is not its work, and neither is the time that its client takes to send or to read.
//
//	watch := worktime.Begin(ctx, 10*time.Minute)
//	defer watch.End()
//	… what works has the watch as its context …
//	… watch.Moved() after each part that was sent …
//	… defer worktime.Pause(ctx)() around a wait, anywhere below …
//	if watch.Over() { … }
package worktime

import (
	"context"
	"sync"
	"time"
)

// Watch is what looks at one request, and the request's context.
type Watch struct {
	context.Context
	limit  time.Duration
	cancel context.CancelFunc

	mu     sync.Mutex // protects what follows
	timer  *time.Timer
	pauses int // that are under way: several parts of a request may wait at once
	over   bool
	ended  bool
}

// key is that of the Watch in a context.
type key struct{}

// Begin returns a context below ctx that is cancelled once the request has worked for limit without a call of Moved.
// limit is more than 0.
func Begin(ctx context.Context, limit time.Duration) *Watch {
	w := &Watch{limit: limit}
	w.Context, w.cancel = context.WithCancel(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(limit, w.expire)
	return w
}

// Value implements context.Context.
func (w *Watch) Value(of any) any {
	if of == (key{}) {
		return w
	}
	return w.Context.Value(of)
}

// expire ends the request, unless it began to wait, or sent something, at that moment.
func (w *Watch) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pauses == 0 && !w.ended {
		w.over = true
		w.cancel()
	}
}

// Moved notes that something was sent, or came: the time begins again. nil is a watch that looks at nothing.
func (w *Watch) Moved() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.restart()
}

// restart lets the time begin again, with the lock.
func (w *Watch) restart() {
	if w.pauses == 0 && !w.over && !w.ended {
		w.timer.Reset(w.limit)
	}
}

// Over reports whether the time was over. nil has no end.
func (w *Watch) Over() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// End ends the watch and its context, with the request.
func (w *Watch) End() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.timer.Stop()
	w.cancel()
}

// Pause stops the time of the request that a context is of, if one is watched, until resume is called.
func Pause(ctx context.Context) (resume func()) {
	w, ok := ctx.Value(key{}).(*Watch)
	if !ok {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pauses++
	w.timer.Stop()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.pauses--
		w.restart()
	}
}
