package server

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// A server behind a balancer that ends at once has requests on their way to it that it
// never answers: the balancer has not noticed yet. So with [sectional] drain it goes on
// for a while when it is told to end, with `_up` answering 404, and its clients are told
// to make their next request on another connection.

// drainer knows whether the server drains.
type drainer struct{ on atomic.Bool }

// health is what `_up` says, of the engine unless the server drains.
func (d *drainer) health(of func() string) func() string {
	return func() string {
		if d.on.Load() {
			return "draining"
		}
		return of()
	}
}

// handler has answers close their connections while the server drains.
func (d *drainer) handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.on.Load() {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// drain goes on serving for as long as the configuration says, or until serving fails.
func (a *instance) drain(failed <-chan error) error {
	long := a.config.Snapshot().Duration("sectional", "drain", time.Second, 0)
	if long <= 0 {
		return nil
	}
	a.draining.on.Store(true)
	a.log.Info(fmt.Sprintf("draining for %s: _up answers 404", long))
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case err := <-failed:
		return err
	}
}
