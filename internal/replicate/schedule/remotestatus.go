package schedule

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/replicate/spec"
)

// Of the servers that share a store one runs each replication, under a lease whose row says
// what there is to tell of it: written before the replication begins, and again whenever the
// lease is renewed, so that telling costs no write of its own. All servers show what these
// rows say. Of a replication that failed the row is left, with the time before which nobody
// tries it again, so that it is tried as often as by one server. What other servers have
// reported is never kept: it is read for each answer.

// lease is the kind of the leases of replications, by their ids (decision 0057).
const lease = "replication/run"

// remoteStatus is what the row of a lease says, as JSON.
type remoteStatus struct {
	Job         JobRow        `json:"job"` // without its history
	Task        *TaskRow      `json:"task,omitempty"`
	State       string        `json:"state"`
	Info        string        `json:"info,omitempty"` // the reason of a crash
	Errors      int           `json:"errors,omitempty"`
	SourceProxy *string       `json:"source_proxy,omitempty"`
	TargetProxy *string       `json:"target_proxy,omitempty"`
	Events      []remoteEvent `json:"events"`
	Due         int64         `json:"due,omitempty"`  // Unix milliseconds before which it is not tried again
	From        string        `json:"from,omitempty"` // who vouches for the user's name

	Charge *spec.Charge `json:"charge,omitempty"` // as the job's
	Size   int64        `json:"size,omitempty"`

	lives bool // somebody holds it
}

// remoteEvent is an event.
type remoteEvent struct {
	Kind   string `json:"k"`
	When   int64  `json:"t"` // Unix milliseconds
	Reason string `json:"r,omitempty"`
}

// waits is the error of a replication that another server has tried and failed.
type waits struct{ until time.Time }

func (w waits) Error() string { return "schedule: not tried again before " + stamp(w.until) }

// parseStatus reads the words of a row; nil for none.
func parseStatus(words string) *remoteStatus {
	var t remoteStatus
	if words == "" || json.Unmarshal([]byte(words), &t) != nil || len(t.Events) == 0 {
		return nil
	}
	for _, e := range t.history() {
		t.Job.History = append(t.Job.History, EventRow{stamp(e.when), e.kind, e.reason})
	}
	return &t
}

func (t *remoteStatus) history() (all []event) {
	for _, e := range t.Events {
		all = append(all, event{e.Kind, time.UnixMilli(e.When), e.Reason})
	}
	return all
}

// counts reports whether what another server tells is what there is to tell, rather than
// what this one knows of its own job, which may be nil.
func (t *remoteStatus) counts(own *job) bool { return t != nil && (own == nil || !own.owned) }

// docRow tells of the job in the row of its document.
func (t *remoteStatus) docRow(row DocRow) DocRow {
	row.Node, row.Source, row.Target, row.ID = t.Job.Node, t.Job.Source, t.Job.Target, &t.Job.ID
	row.SourceProxy, row.TargetProxy, row.StartTime = t.SourceProxy, t.TargetProxy, orNull(t.Job.StartTime)
	row.State, row.Info, row.ErrorCount, row.LastUpdated = t.State, t.Job.Info, t.Errors, orNull(t.Job.History[0].Timestamp)
	if !t.lives && t.State == running {
		row.State = pending // its server is not heard of any more
	}
	if t.Info != "" {
		row.Info = errorInfo(t.Info)
	}
	return row
}

// statusesOf reads what the other servers tell of their jobs, by ids: of all, or of one.
func (s *Scheduler) statusesOf(ctx context.Context, id string) (map[string]*remoteStatus, error) {
	held, err := s.o.Store.Leases(ctx, lease, id)
	if err != nil {
		return nil, err
	}
	others := map[string]*remoteStatus{}
	for _, h := range held {
		t := parseStatus(h.Words)
		if t == nil || h.Mine {
			continue
		}
		if t.lives = h.Lives; !h.Lives {
			t.Job.PID, t.Task = nil, nil
		}
		others[h.Subject] = t
	}
	return others, nil
}

// documentStatuses is statusesOf for the documents that ask for the jobs.
func (s *Scheduler) documentStatuses(ctx context.Context) (map[docKey]*remoteStatus, error) {
	others, err := s.statusesOf(ctx, "")
	documents := map[docKey]*remoteStatus{}
	for _, t := range others {
		if t.Job.Database != nil && t.Job.DocID != nil {
			documents[docKey{*t.Job.Database, document.ID(*t.Job.DocID)}] = t
		}
	}
	return documents, err
}

// words are what the row of a job's lease says.
func (s *Scheduler) words(j *job, before *remoteStatus) string {
	s.state.Lock()
	defer s.state.Unlock()
	now := *j // as it is when the lease is taken
	if !now.owned && !now.noted {
		s.began(&now, before, s.o.Now())
	}
	t := remoteStatus{Job: s.jobRow(&now), SourceProxy: orNull(j.rep.Source.ShownProxy()), TargetProxy: orNull(j.rep.Target.ShownProxy()), From: j.from, Charge: j.charge, Size: j.size}
	t.Job.History = nil
	healthy := s.settings.Value().healthy
	t.State, t.Info = now.state(healthy)
	t.Errors = now.crashes(healthy)
	if now.owned {
		row := s.taskRow(&now)
		t.Task = &row
	} else {
		t.Due = now.due.UnixMilli()
	}
	for _, e := range now.history {
		t.Events = append(t.Events, remoteEvent{e.kind, e.when.UnixMilli(), e.reason})
	}
	return string(raw(t))
}

// began notes that this server runs a job from now on, and goes on with what the last one
// that did has told. The lock is held.
func (s *Scheduler) began(j *job, before *remoteStatus, now time.Time) {
	if history := before.newer(j); history != nil {
		j.history = history
		var stats replicate.Stats
		if json.Unmarshal(before.Job.Info, &stats) == nil && string(before.Job.Info) != "null" {
			j.stats, j.hasStats = stats, true
		}
	}
	j.owned, j.elsewhere, j.before, j.counted = true, false, j.stats, replicate.Stats{}
	j.note(event{kind: started, when: now}, s.state.queue.limits.maxHistory)
}

// newer returns the history that was told, if this server's own knows less.
func (t *remoteStatus) newer(j *job) []event {
	if t == nil {
		return nil
	}
	history := t.history()
	if len(j.history) == 1 || history[0].when.After(j.history[0].when) {
		return history
	}
	return nil
}

// hold runs a job unless another server does, or is to leave it alone for a while.
func (s *Scheduler) hold(ctx context.Context, j *job, run func(context.Context) error) error {
	var before *remoteStatus
	return s.o.Store.Hold(ctx, lease, j.id, jobs.Words{
		Taken: func(words string) error {
			before = parseStatus(words)
			if due := before.due(); s.o.Now().Before(due) && !j.transient() {
				return waits{due}
			}
			return nil
		},
		Now:  func() string { return s.words(j, before) },
		Left: func(err error) string { return s.left(ctx, j, err) },
	}, func(ctx context.Context) error {
		s.state.Lock()
		if !j.owned {
			s.began(j, before, s.o.Now())
		}
		s.state.Unlock()
		return run(ctx)
	})
}

// due is before when nobody tries a job again that has failed.
func (t *remoteStatus) due() time.Time {
	if t == nil || t.Due <= 0 || t.State != crashing {
		return time.Time{}
	}
	return time.UnixMilli(t.Due)
}

// left is what is told of a job from the end of a run on: how it has failed.
func (s *Scheduler) left(ctx context.Context, j *job, err error) string {
	s.state.Lock()
	crashes := s.crashes(ctx, j, err)
	if j.owned = false; crashes {
		s.crash(j, err, s.o.Now())
	}
	s.state.Unlock()
	if !crashes {
		return ""
	}
	return s.words(j, nil)
}

// crashes reports whether a run that has ended with err has failed, and will be tried again.
// The lock is held.
func (s *Scheduler) crashes(ctx context.Context, j *job, err error) bool {
	return err != nil && ctx.Err() == nil && s.state.queue.has(j) && !j.transient()
}

// dropStatusOf takes away what was told of a job that is gone, by whoever ran it last. The
// lock is held.
func (s *Scheduler) dropStatusOf(j *job) {
	if s.o.Store.SingleServer() || j.transient() || j.running {
		return
	}
	s.begin(func() { s.dropStatus(j.id) })
}

func (s *Scheduler) dropStatus(id string) {
	if err := s.o.Store.DropLease(s.ctx, lease, id); err != nil && s.ctx.Err() == nil {
		s.o.Log.Warn("what was told of a replication can't be taken away", "replication", id, "error", err)
	}
}

// keepStatus is how long what is told of a job is kept that nobody knows of.
const keepStatus = time.Hour

// sweepStatuses takes away what was told of jobs that are gone.
func (s *Scheduler) sweepStatuses() {
	held, err := s.o.Store.Leases(s.ctx, lease, "")
	if err != nil {
		return // next time
	}
	for _, h := range held {
		s.state.Lock()
		_, known := s.state.queue.jobs[h.Subject]
		s.state.Unlock()
		if !known && !h.Lives && s.o.Now().Sub(h.Until) > keepStatus {
			s.dropStatus(h.Subject)
		}
	}
}

// elsewhere refuses a request's replication that another server runs, or says that it runs
// there already.
func (s *Scheduler) elsewhere(ctx context.Context, c *auth.Caller, j *job) (runs bool, err error) {
	others, err := s.statusesOf(ctx, j.id)
	t := others[j.id]
	switch {
	case err != nil || t == nil || !t.lives:
		return false, err
	case t.Job.DocID != nil:
		return false, startedBy(j.id, *t.Job.DocID, *t.Job.Database)
	case !t.mayCancel(c):
		return false, errOthersJob
	}
	return j.rep.Continuous, nil
}

// mayCancel reports whether a caller may end what a request began at another server.
func (t *remoteStatus) mayCancel(c *auth.Caller) bool {
	return c.IsAdmin() || t.Job.User != nil && *t.Job.User == c.Name && t.From == c.VouchedBy()
}

// Server returns the name of the other server that runs a job, or ran it last and failed;
// "" for none.
func (s *Scheduler) Server(ctx context.Context, id string) (string, error) {
	id = spec.NormalizeID(id)
	others, err := s.statusesOf(ctx, id)
	return others[id].node(), err
}

// ServerOf is Server for the job of a document.
func (s *Scheduler) ServerOf(ctx context.Context, database string, id document.ID) (string, error) {
	others, err := s.documentStatuses(ctx)
	return others[docKey{database, id}].node(), err
}

func (t *remoteStatus) node() string {
	if t == nil {
		return ""
	}
	return t.Job.Node
}

func startedBy(id, doc, db string) error {
	return dberr.New(dberr.Conflict, "conflict", "Replication `%s` already started, triggered by document `%s` from db `%s`", id, doc, db)
}
