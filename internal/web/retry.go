package web

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/sectional/sectional/internal/outgoing"
)

// A request begins again when another server has changed what it was let in by. Once or twice that is chance. If it goes
// on, somebody writes there all the time, and all the requests that it meets would begin again in step with each write.

const (
	// maxRetries is how often a request begins again, and atOnce how often without a pause.
	maxRetries = 10
	atOnce     = 3
	// firstRetry is the first pause at most; each is twice as long as the one before, up to maxRetryDelay.
	firstRetry    = 4 * time.Millisecond
	maxRetryDelay = 100 * time.Millisecond
)

// retryDelay is how long a request waits before it begins again for the n-th time, counted from 1: at least half of the
// pause, and of the rest each another part.
func retryDelay(n int) time.Duration {
	if n <= atOnce {
		return 0
	}
	half := min(firstRetry<<(n-atOnce-1), maxRetryDelay) / 2
	return half + rand.N(half)
}

// pauseRetry waits before that. The error says that the request has ended meanwhile.
func pauseRetry(ctx context.Context, n int) error {
	if wait := retryDelay(n); wait > 0 {
		return outgoing.Wait(ctx, wait)
	}
	return nil
}
