package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/worktime"
)

// slowly is a body of n bytes, of which each takes a while.
type slowly struct {
	n    int
	each time.Duration
}

func (s *slowly) Read(p []byte) (int, error) {
	time.Sleep(s.each)
	if s.n--; s.n < 0 {
		return 0, errors.New("there is no more")
	}
	p[0] = 'x'
	return 1, nil
}

// TestWorkTime has requests that take longer than they may work, each in another way.
func TestWorkTime(t *testing.T) {
	const limit = 10 * time.Minute
	stopped := func(r *Request) error {
		<-r.Ctx().Done()
		return fmt.Errorf("reading: %w", r.Ctx().Err())
	}
	send := func(s *Stream) {
		s.Buf = append(s.Buf, "row\n"...)
		_ = s.Flush()
	}
	const timeout = "!The request could not be processed in a reasonable amount of time.\n"
	for name, c := range map[string]struct {
		bounded bool
		body    int // bytes that take half of the limit each
		run     func(r *Request) error
		status  int
		want    string
		cut     bool
		ended   uint64
	}{
		"works in silence": {run: stopped, status: 500, want: timeout, ended: 1},
		"ends for a reason of its own": {run: func(r *Request) error {
			_ = stopped(r)
			return errLate
		}, status: 400, want: "!late\n"},
		"its commit may be there": {run: func(r *Request) error {
			return &dberr.Error{Kind: dberr.UnknownOutcome, Reason: "unknown", Cause: stopped(r)}
		}, status: 500, want: "!unknown\n"},
		"its commit takes long": {run: func(r *Request) error {
			time.Sleep(2 * limit) // nobody cancels a commit
			return r.Bytes(201, JSON, []byte("stored\n"))
		}, status: 201, want: "stored\n"},
		"sends now and then": {run: func(r *Request) error {
			s := r.Stream(200, JSON)
			for range 5 {
				send(s)
				time.Sleep(limit - 1)
				if err := r.Ctx().Err(); err != nil {
					return err
				}
			}
			return s.End()
		}, status: 200, want: "row\nrow\nrow\nrow\nrow\n"},
		"sends and is silent then": {run: func(r *Request) error {
			send(r.Stream(200, JSON))
			return stopped(r)
		}, status: 200, want: "row\n\n" + timeout, cut: true, ended: 1},
		"waits": {run: func(r *Request) error {
			resume := worktime.Pause(r.Ctx())
			time.Sleep(100 * limit)
			resume()
			return errors.Join(r.Ctx().Err(), r.Bytes(200, JSON, []byte("waited\n")))
		}, status: 200, want: "waited\n"},
		"its client is slow": {body: 20, run: func(r *Request) error {
			_, err := r.Body(nil)
			return errors.Join(r.Ctx().Err(), err)
		}, status: 400, want: "!The request body ended too early.\n"},
		"is bounded otherwise": {bounded: true, run: func(r *Request) error {
			time.Sleep(2 * limit)
			return errors.Join(r.Ctx().Err(), r.Bytes(200, JSON, []byte("read\n")))
		}, status: 200, want: "read\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				a := newSmall(NewShared(nil, nil, nil), func(r *Request) error { return c.run(r) })
				a.settings.WorkTime, a.settings.BodyTimeout = limit, 100*limit
				do := a.actions["Do"]
				do.Action.Bounded = c.bounded
				a.actions["Do"] = do
				h := httptest.NewRequest("POST", "/", nil).WithContext(ctx)
				if c.body > 0 {
					h = httptest.NewRequest("POST", "/", &slowly{c.body, limit / 2}).WithContext(ctx)
				}
				h.Header.Set("X-Action", "Do")
				w, cut := httptest.NewRecorder(), false
				func() {
					defer func() { cut = recover() == http.ErrAbortHandler }()
					a.ServeHTTP(w, h)
				}()
				if w.Code != c.status || w.Body.String() != c.want || cut != c.cut || a.Metrics.TimedOut() != c.ended {
					t.Errorf("%d %q, cut: %v, ended: %d", w.Code, w.Body, cut, a.Metrics.TimedOut())
				}
			})
		})
	}
}
