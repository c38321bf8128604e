package outgoing

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Backoff is how long to wait after n failures in a row, n from 1 up: between
// half of what the doubling from first to longest gives and all of it, so that
// many who failed together do not come back together. random is from 0 to 1.
func Backoff(n int, first, longest time.Duration, random float64) time.Duration {
	d := min(first<<min(max(n, 1)-1, 20), longest)
	return d/2 + time.Duration(random*float64(d/2))
}

// RetryAfter reads the header of that name, seconds or a date, but gives most
// at the most. said is false when the header says nothing.
func RetryAfter(header string, now time.Time, most time.Duration) (d time.Duration, said bool) {
	header = strings.TrimSpace(header)
	if n, err := strconv.ParseUint(header, 10, 63); err == nil {
		return time.Duration(min(n, uint64(most/time.Second))) * time.Second, true
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0, false
	}
	return max(0, min(at.Sub(now), most)), true
}

// Wait waits, by the monotonic clock; the error is the cause why ctx ended before.
func Wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
