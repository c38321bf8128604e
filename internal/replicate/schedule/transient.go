package schedule

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/replicate/spec"
	"github.com/sectional/sectional/internal/worktime"
)

// Answer is what became of a request to _replicate.
type Answer struct {
	ID        string
	Running   bool              // it is continuous, and runs from now on
	Cancelled bool              // it ran, and does so no longer
	Elsewhere string            // the server that runs what is to be cancelled
	Result    *replicate.Result // of one that has ended
}

// ErrCancelled is what those get who wait for a replication that somebody
// cancelled.
var ErrCancelled = dberr.New(dberr.NotFound, "cancelled", "The replication was cancelled.")

var (
	errStopping = dberr.New(dberr.Unavailable, "", "The server is stopping.")
	errNoJob    = dberr.New(dberr.NotFound, "not_found", "missing")

	errOthersJob = dberr.New(dberr.Unauthorized, "unauthorized", "Can't take over a replication triggered by another user")
)

// Replicate does what the body of a request to _replicate asks for, in the
// caller's name: it runs a replication to its end, begins a continuous one, or
// ends one. A caller who goes away (ctx ends) leaves the replication running, as
// in CouchDB. body is a JSON object. Errors: Invalid for a bad body; NotFound for
// a filter or job that is not there; Unauthorized for somebody else's job;
// Conflict for what a document does already; what the replication failed of.
func (s *Scheduler) Replicate(ctx context.Context, c *auth.Caller, body []byte) (*Answer, error) {
	rep, err := spec.Parse(body, s.settings.Value().each)
	if err != nil {
		return nil, err
	}
	if rep.Cancel && rep.CancelID != "" {
		return s.cancelAnywhere(ctx, c, rep.CancelID)
	}
	caller := s.requester(c)
	code, err := s.filterCode(ctx, rep, caller)
	if err != nil {
		return nil, err
	}
	base := rep.BaseID(spec.Subject{Server: s.o.Store.UUID(), Caller: c.Name, Code: code})
	j := &job{id: rep.FullID(base), base: base, rep: rep, user: c.Name, from: c.VouchedBy(), caller: caller, began: s.o.Now(), size: int64(len(body))}
	if rep.Cancel {
		return s.cancelAnywhere(ctx, c, j.id)
	}
	runs, err := s.elsewhere(ctx, c, j)
	if err != nil {
		return nil, err
	}
	if runs {
		return &Answer{ID: j.id, Running: true}, nil
	}
	var held spec.Usage
	if !c.IsAdmin() {
		who := spec.ChargeOf(c.Name, c.VouchedBy())
		j.charge = &who
		if held, err = s.documentUsage(ctx, nil, who); err == nil {
			err = s.countOthers(ctx, &held, who)
		}
		if err != nil {
			return nil, err
		}
	}
	wait, err := s.submit(c, j, held)
	if err != nil {
		return nil, err
	}
	if rep.Continuous {
		return &Answer{ID: j.id, Running: true}, nil
	}
	defer worktime.Pause(ctx)()
	select {
	case o := <-wait:
		return &Answer{ID: j.id, Result: o.result}, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.ctx.Done():
		return nil, errStopping
	}
}

// requester returns the rights of whoever sent a request, as they are at each
// moment while the replication runs.
func (s *Scheduler) requester(c *auth.Caller) func(context.Context) *auth.Caller {
	asked := *c
	if asked.Name == "" || asked.Handler == auth.ProxyHandler || asked.Handler == auth.JWTHandler {
		return func(context.Context) *auth.Caller { return &asked }
	}
	return func(ctx context.Context) *auth.Caller { return s.known(ctx, asked.Name, asked.Roles) }
}

// submit takes in a job that a request asked for and returns the channel on which
// its outcome comes. The same replication, asked for again, is not begun twice;
// with other credentials it takes the first one's place. held is what its user has beside what requests to this server
// asked for. Errors: those of spec.Held.Add, and of jobs that are there.
func (s *Scheduler) submit(c *auth.Caller, j *job, held spec.Usage) (<-chan outcome, error) {
	s.state.Lock()
	defer s.state.Unlock()
	if s.state.closed {
		return nil, errStopping
	}
	old := s.state.queue.jobs[j.id]
	if old != nil {
		switch {
		case !old.transient():
			return nil, startedBy(j.id, string(old.key.id), old.key.database)
		case !mayCancel(c, old):
			return nil, errOthersJob
		case old.rep.Equal(j.rep):
			return old.wait(), nil
		}
	} else if j.charge != nil {
		s.countRequests(&held, *j.charge)
		if err := held.Add("", j.size, s.settings.Value().each); err != nil {
			return nil, err
		}
	}
	if old != nil {
		s.remove(old, ErrCancelled)
	}
	wait := j.wait()
	s.add(j, s.o.Now())
	return wait, nil
}

// wait returns a channel on which the job's outcome will come.
func (j *job) wait() <-chan outcome {
	w := make(chan outcome, 1)
	j.waiters = append(j.waiters, w)
	return w
}

// mayCancel reports whether a caller may end a job.
func mayCancel(c *auth.Caller, j *job) bool {
	return c.IsAdmin() || j.user != "" && j.user == c.Name && j.from == c.VouchedBy()
}

// cancelAnywhere is cancel, and tells which other server runs a job that this one does not
// know.
func (s *Scheduler) cancelAnywhere(ctx context.Context, c *auth.Caller, id string) (*Answer, error) {
	a, err := s.cancel(c, id)
	if !errors.Is(err, errNoJob) {
		return a, err
	}
	name, failed := s.Server(ctx, id)
	if failed != nil {
		return nil, failed
	}
	if name == "" || name == s.o.Node {
		return nil, err
	}
	return &Answer{ID: id, Elsewhere: name}, nil
}

// cancel ends a job that a request began.
func (s *Scheduler) cancel(c *auth.Caller, id string) (*Answer, error) {
	s.state.Lock()
	defer s.state.Unlock()
	j := s.state.queue.jobs[id]
	switch {
	case j == nil:
		return nil, errNoJob
	case !mayCancel(c, j):
		return nil, dberr.New(dberr.Unauthorized, "unauthorized", "Can't cancel a replication triggered by another user")
	case !j.transient():
		return nil, dberr.New(dberr.Forbidden, "forbidden", "Replication `%s` was triggered by document `%s` from db `%s`: delete that to cancel it.", id, j.key.id, j.key.database)
	}
	s.o.Log.Info("replication cancelled", "replication", id)
	s.remove(j, ErrCancelled)
	s.fill(s.o.Now())
	return &Answer{ID: id, Cancelled: true}, nil
}
