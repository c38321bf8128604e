package replicate

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/outgoing"
	"github.com/sectional/sectional/internal/tracing"
)

// The waits between repetitions double from the shortest to the longest.
const (
	shortestWait = 250 * time.Millisecond
	longestWait  = 30 * time.Second
	longestHold  = 5 * time.Minute // whatever Retry-After says
)

// backoff returns the wait before the n-th repetition, n from 1 up.
func backoff(n int) time.Duration {
	return outgoing.Backoff(n, shortestWait, longestWait, rand.Float64())
}

// retries counts how often a peer was asked for one thing.
type retries struct{ attempts, waits int }

// next waits before the peer is asked again after e. It returns e itself when the
// peer was asked often enough, and else the context's error.
func (n *retries) next(ctx context.Context, p *peer, e *PeerError) error {
	tracing.Event(ctx, "retry")
	if e.Status == http.StatusTooManyRequests || e.wait > 0 {
		// A peer that says so is well, only busy: it may say so more often.
		if n.waits++; n.waits > 4*max(p.retries, 1) {
			return e
		}
		p.holdUntil(max(e.wait, backoff(n.waits+1)))
		return p.waitRetryAfter(ctx)
	}
	if n.attempts++; n.attempts > p.retries {
		return e
	}
	return outgoing.Wait(ctx, backoff(n.attempts))
}

// holdUntil lets all calls to the peer wait for d from now on.
func (p *peer) holdUntil(d time.Duration) {
	p.hold.Lock()
	defer p.hold.Unlock()
	if until := time.Now().Add(d); until.After(p.hold.until) {
		p.hold.until = until
	}
}

// waitRetryAfter waits for as long as the peer is not to be asked.
func (p *peer) waitRetryAfter(ctx context.Context) error {
	p.hold.Lock()
	d := time.Until(p.hold.until)
	p.hold.Unlock()
	if d <= 0 {
		return nil
	}
	return outgoing.Wait(ctx, d)
}

// watch notices silence: that a peer is waited for and nothing moves.
type watch struct {
	timer *time.Timer
	limit time.Duration
}

var errSilence = errors.New("nothing came for too long")

func newWatch(limit time.Duration, silent func()) *watch {
	return &watch{timer: time.AfterFunc(limit, silent), limit: limit}
}

// wait begins to count: the peer is waited for.
func (w *watch) wait() { w.timer.Reset(w.limit) }

// rest ends that.
func (w *watch) rest() { w.timer.Stop() }

// watched is the body of an answer: only while it is read is the peer waited
// for, however long the reader takes between.
type watched struct {
	from io.Reader
	w    *watch
}

func (b *watched) Read(p []byte) (int, error) {
	b.w.wait()
	defer b.w.rest()
	return b.from.Read(p)
}

// sent is the body of a request: while it is produced the peer is not waited
// for.
type sent struct {
	from  io.Reader
	w     *watch
	close sync.Once
	done  chan struct{} // closed when the transport does not read any more
}

func (b *sent) Read(p []byte) (int, error) {
	b.w.rest()
	defer b.w.wait()
	return b.from.Read(p)
}

func (b *sent) Close() error {
	b.close.Do(func() { close(b.done) })
	return nil
}
