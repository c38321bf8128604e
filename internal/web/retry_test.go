package web

import (
	"context"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sectional/sectional/internal/dberr"
)

// TestAgain counts how often a request begins whose claims never hold, and when: a few times at once, then after pauses
// that grow, and no more when the request has ended.
func TestAgain(t *testing.T) {
	begin := func(ctx context.Context) (times []time.Duration, code int) {
		began := time.Now()
		a := newSmall(NewShared(nil, nil, nil), func(*Request) error {
			times = append(times, time.Since(began))
			return dberr.New(dberr.NotFound, "", "it was there before")
		})
		a.stale = dberr.New(dberr.Unavailable, "", "it has changed")
		r := httptest.NewRequestWithContext(ctx, "POST", "/", nil)
		r.Header.Set("X-Action", "Do")
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		return times, w.Code
	}
	synctest.Test(t, func(t *testing.T) {
		times, code := begin(t.Context())
		if len(times) != maxRetries+1 || code != 503 {
			t.Fatalf("it began at %v, and the answer is %d", times, code)
		}
		most := time.Duration(0)
		for n := 1; n <= maxRetries; n++ {
			gap := times[n] - times[n-1]
			if n > atOnce {
				most = min(max(2*most, firstRetry), maxRetryDelay)
			}
			if gap < most/2 || gap > most {
				t.Errorf("before it began for the %dth time it waited for %v, want about %v", n+1, gap, most)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*firstRetry)
		defer cancel()
		began := time.Now()
		if times, _ := begin(ctx); len(times) <= atOnce+1 || len(times) > maxRetries || time.Since(began) != 5*firstRetry {
			t.Errorf("it began at %v, and ended after %v", times, time.Since(began))
		}
	})
}
