package worktime

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

const limit = 10 * time.Second

// TestWatch has requests that work, send and wait for times of which each ends the request or does not.
func TestWatch(t *testing.T) {
	work := func(d time.Duration) func(context.Context, *Watch) {
		return func(context.Context, *Watch) { time.Sleep(d) }
	}
	moved := func(_ context.Context, w *Watch) { w.Moved() }
	wait := func(d time.Duration) func(context.Context, *Watch) {
		return func(ctx context.Context, _ *Watch) {
			defer Pause(ctx)()
			time.Sleep(d)
		}
	}
	inside := func(ctx context.Context, w *Watch) { // something is sent while another part waits
		resume := Pause(ctx)
		again := Pause(ctx)
		resume()
		w.Moved()
		time.Sleep(time.Hour)
		again()
	}
	tests := map[string]struct {
		steps []func(context.Context, *Watch)
		over  bool
	}{
		"short":                       {[]func(context.Context, *Watch){work(limit - 1)}, false},
		"long":                        {[]func(context.Context, *Watch){work(limit + 1)}, true},
		"long, and sends":             {[]func(context.Context, *Watch){work(limit - 1), moved, work(limit - 1), moved, work(limit - 1)}, false},
		"sends, and then is silent":   {[]func(context.Context, *Watch){work(limit - 1), moved, work(limit + 1)}, true},
		"waits":                       {[]func(context.Context, *Watch){work(limit - 1), wait(time.Hour), work(limit - 1)}, false},
		"waits, and works too long":   {[]func(context.Context, *Watch){wait(time.Hour), work(limit + 1)}, true},
		"two parts wait":              {[]func(context.Context, *Watch){inside, work(limit - 1)}, false},
		"is over before it waits":     {[]func(context.Context, *Watch){work(limit + 1), wait(time.Hour)}, true},
		"is over before it sends":     {[]func(context.Context, *Watch){work(limit + 1), moved}, true},
		"is over before it goes away": {[]func(context.Context, *Watch){work(2 * limit)}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := Begin(t.Context(), limit)
				ctx, cancel := context.WithCancel(w)
				defer cancel()
				for _, step := range test.steps {
					step(ctx, w)
				}
				synctest.Wait()
				if w.Over() != test.over || (ctx.Err() != nil) != test.over {
					t.Errorf("over: %v, %v", w.Over(), ctx.Err())
				}
				w.End()
				time.Sleep(time.Hour)
				if w.Over() != test.over || ctx.Err() == nil {
					t.Errorf("after the end: %v, %v", w.Over(), ctx.Err())
				}
			})
		})
	}
}

// TestUnwatched: who waits need not know whether the request is watched.
func TestUnwatched(t *testing.T) {
	Pause(t.Context())()
	var none *Watch
	none.Moved()
	none.End()
	if none.Over() {
		t.Error("nothing is over")
	}
}
