package schedule

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/replicate/spec"
	"github.com/sectional/sectional/internal/tracing"
)

// here is how endpoints of this server are addressed, within the process only.
const here = "http://localhost"

// run carries out a job until it has ended or ctx has.
func (s *Scheduler) run(ctx context.Context, j *job) (*replicate.Result, error) {
	trusted := j.caller(ctx).IsAdmin()
	source, err := s.address(&j.rep.Source, j.rep, j.caller, trusted)
	if err != nil {
		return nil, err
	}
	defer closeIdle(source)
	target, err := s.address(&j.rep.Target, j.rep, j.caller, trusted)
	if err != nil {
		return nil, err
	}
	defer closeIdle(target)
	task := &replicate.Task{
		ID: j.base, Source: source, Target: target,
		Continuous: j.rep.Continuous, CreateTarget: j.rep.CreateTarget, CreateParams: j.rep.CreateParams,
		DocIDs: j.rep.DocIDs, Selector: j.rep.Selector, Filter: j.rep.Filter, FilterParams: j.rep.Params,
		SinceSeq: j.rep.SinceSeq, WinnersOnly: j.rep.WinnersOnly, NoCheckpoints: j.rep.NoCheckpoints, CheckpointEvery: j.rep.CheckpointEvery,
		Batch: j.rep.Batch, Workers: j.rep.Workers, NoBulkGet: j.rep.NoBulkGet,
		Report: func(st replicate.Stats) { s.report(j, st) },
		Failed: func(f replicate.Failure) { s.failed(j, f) },
		Log:    s.o.Log.With("replication", j.id),
	}
	ctx, span := tracing.Work(s.o.Tracer.Into(ctx), "replication")
	result, err := s.o.Run(ctx, task)
	if ctx.Err() != nil {
		span.End(nil) // it was stopped
	} else {
		span.End(err)
	}
	return result, err
}

func (s *Scheduler) report(j *job, st replicate.Stats) {
	s.state.Lock()
	defer s.state.Unlock()
	now := s.o.Now()
	s.counts.add(j, st)
	if st.CheckpointedSource != nil && !bytes.Equal(st.CheckpointedSource, j.stats.CheckpointedSource) && j.hasStats {
		s.counts.succeeded(now)
	}
	j.stats, j.hasStats, j.reported = j.sum(st), true, now
}

// sum adds the figures of the run that is under way to those of the runs before:
// a job that was stopped or crashed goes on where it was.
func (j *job) sum(st replicate.Stats) replicate.Stats {
	st.RevisionsChecked += j.before.RevisionsChecked
	st.MissingFound += j.before.MissingFound
	st.DocsRead += j.before.DocsRead
	st.DocsWritten += j.before.DocsWritten
	st.DocWriteFailures += j.before.DocWriteFailures
	st.BulkGetDocs += j.before.BulkGetDocs
	st.BulkGetAttempts += j.before.BulkGetAttempts
	return st
}

func (s *Scheduler) failed(j *job, f replicate.Failure) {
	s.state.Lock()
	defer s.state.Unlock()
	j.failures.add(f)
}

// address makes of an endpoint what a task needs to reach it.
func (s *Scheduler) address(e *spec.Endpoint, r *spec.Replication, caller func(context.Context) *auth.Caller, trusted bool) (replicate.Address, error) {
	a := replicate.Address{URL: e.URL, User: e.User, Password: e.Password, Header: http.Header{}, Timeout: r.Timeout, Retries: r.Retries, Connections: r.Connections}
	if r.Retries == 0 {
		a.Retries = -1 // none, where 0 is the default
	}
	for name, value := range e.Header {
		a.Header.Set(name, value)
	}
	if e.Local != "" {
		local := &replicate.Local{Handler: s.handler}
		if !e.HasCredentials() {
			local.Enter = func(ctx context.Context) context.Context { return auth.WithCaller(ctx, caller(ctx)) }
		}
		a.URL, a.Transport = here+e.Path, local
		return a, nil
	}
	t, err := s.transport(e, r, trusted)
	a.Transport = t
	return a, err
}

func closeIdle(a replicate.Address) {
	if t, ok := a.Transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// callerOf returns whose rights a document's replication has: those of its owner.
// An administrator may have it run with
// another one's, or with fewer; anybody else with fewer roles.
func (s *Scheduler) callerOf(r *spec.Replication) func(context.Context) *auth.Caller {
	return func(ctx context.Context) *auth.Caller {
		owner := s.ownerOf(ctx, r)
		u := r.UserContext
		switch {
		case u == nil:
			return owner
		case owner.IsAdmin() && (u.HasRoles || u.Name == ""):
			return &auth.Caller{Name: u.Name, Roles: append([]string{}, u.Roles...)}
		case owner.IsAdmin():
			return s.named(ctx, u.Name, nil)
		case u.Name != r.Owner:
			return &auth.Caller{}
		case u.HasRoles:
			return withRoles(owner, u.Roles)
		}
		return owner
	}
}

// ownerOf returns the rights of a document's owner: of a user as they are at each
// moment, of somebody whom a proxy or a token vouched for as they were when the
// document was written, as long as that way of authentication is configured.
func (s *Scheduler) ownerOf(ctx context.Context, r *spec.Replication) *auth.Caller {
	switch o := r.OwnerContext; {
	case o == nil:
		return s.named(ctx, r.Owner, r.UserContext)
	case o.From == auth.ByPassword:
		return s.known(ctx, r.Owner, o.Roles)
	case r.Owner == "" || !s.o.Users.Accepts(auth.Handler(o.From)):
		return &auth.Caller{}
	default:
		return &auth.Caller{Name: r.Owner, Roles: slices.Clone(o.Roles), Handler: auth.Handler(o.From)}
	}
}

// known returns a user by name, nobody when there is none. Who was no administrator
// when the work was given does it as none, also if one of that name has come since.
func (s *Scheduler) known(ctx context.Context, name string, roles []string) *auth.Caller {
	c, err := s.o.Users.Named(ctx, name)
	if err != nil || c == nil {
		return &auth.Caller{}
	}
	if c.IsAdmin() && !slices.Contains(roles, auth.AdminRole) {
		return withRoles(c, slices.DeleteFunc(slices.Clone(c.Roles), func(role string) bool { return role == auth.AdminRole }))
	}
	return c
}

// named returns a user by name as an administrator who wrote it meant it, nobody
// when there is none. Somebody whom only a proxy or a token knows has the roles
// that the document names.
func (s *Scheduler) named(ctx context.Context, name string, u *spec.UserContext) *auth.Caller {
	if name == "" {
		return &auth.Caller{}
	}
	c, err := s.o.Users.Named(ctx, name)
	switch {
	case err == nil && c != nil:
		return c
	case err != nil || !s.o.Users.Accepts(auth.ProxyHandler) && !s.o.Users.Accepts(auth.JWTHandler):
		return &auth.Caller{}
	}
	stranger := &auth.Caller{Name: name, Roles: []string{}}
	if u != nil && u.Name == name {
		for _, role := range u.Roles {
			if role != auth.AdminRole {
				stranger.Roles = append(stranger.Roles, role)
			}
		}
	}
	return stranger
}

// withRoles returns a caller with those roles of theirs that are listed.
func withRoles(c *auth.Caller, roles []string) *auth.Caller {
	fewer := &auth.Caller{Name: c.Name, Roles: []string{}, Handler: c.Handler, Claims: c.Claims}
	for _, role := range roles {
		if c.HasRole(role) {
			fewer.Roles = append(fewer.Roles, role)
		}
	}
	return fewer
}

// Reason says why something failed, for people: without credentials, and with
// endpoints of this server by their names.
func Reason(err error) string {
	text := err.Error()
	var e *dberr.Error
	var p *replicate.PeerError
	switch {
	case errors.As(err, &e) && (e.Code == "" || e.Kind == dberr.Invalid && e.Code == "bad_request"):
		text = e.Reason
	case errors.As(err, &e):
		text = e.Code + ": " + e.Reason
	case errors.As(err, &p):
		text = p.Error()
	}
	return Plain(text)
}

// Plain returns a text of an error with endpoints of this server by their names.
func Plain(text string) string { return strings.ReplaceAll(text, here+"/", "") }
