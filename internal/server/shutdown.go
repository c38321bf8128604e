package server

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// The server ends within 5 seconds of being told to, whatever is under way. Each
// part of the end has its time.
const (
	// replicationGrace is how long replications have for their last checkpoints.
	replicationGrace = time.Second
	// graceForRequests is how long requests in flight have to come to their end.
	graceForRequests = 1500 * time.Millisecond
	// graceForAll is how long all of it takes, with what the parts of the server
	// need to end.
	graceForAll = 4500 * time.Millisecond
)

// errCut says that the process ends before all of its parts have. What was
// acknowledged is on disk; the next start finds what a crash would have left.
var errCut = errors.New("the server ends before all of its work has: what was acknowledged is on disk")

// shutDown waits for requests in flight, for as long as there is time, and then
// cuts them: cut ends the contexts of all requests, which ends functions, builds
// and scans that work for them.
func (a *instance) shutDown(servers []*http.Server, demo, cut func()) error {
	a.until = time.Now().Add(graceForAll)
	within(replicationGrace, func() {
		demo()
		a.Replicator.Close() // while their peers, which may be here, still answer
	})
	ctx, cancel := context.WithTimeout(context.Background(), graceForRequests)
	defer cancel()
	ended := make(chan error, len(servers))
	for _, srv := range servers {
		go func() { ended <- srv.Shutdown(ctx) }()
	}
	var err error
	for range servers {
		err = errors.Join(err, <-ended)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	a.log.Warn("some requests took too long and were cut")
	cut()
	err = nil
	for _, srv := range servers {
		err = errors.Join(err, srv.Close())
	}
	return err
}

// closeInTime takes down what open put up. What does not end in the time that is
// left is left to the end of the process.
func (a *instance) closeInTime() error {
	if a.until.IsZero() { // it never served
		return a.close()
	}
	var err error
	if !within(time.Until(a.until), func() { err = a.close() }) {
		a.log.Warn(errCut.Error())
		return errCut
	}
	return err
}

// within runs work and reports whether it ended in a time; if not it goes on.
func within(limit time.Duration, work func()) bool {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		work()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return false
	}
}
