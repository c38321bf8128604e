package schedule

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/replicate/spec"
)

// JobRow is a job as _scheduler/jobs shows it.
type JobRow struct {
	Database  *string         `json:"database"`
	ID        string          `json:"id"`
	PID       *string         `json:"pid"`
	Source    string          `json:"source"`
	Target    string          `json:"target"`
	User      *string         `json:"user"`
	DocID     *string         `json:"doc_id"`
	Info      json.RawMessage `json:"info"`
	History   []EventRow      `json:"history"`
	Node      string          `json:"node"`
	StartTime string          `json:"start_time"`
}

// EventRow is something that happened to a job.
type EventRow struct {
	Timestamp string `json:"timestamp"`
	Type      string `json:"type"`
	Reason    string `json:"reason,omitempty"`
}

// TaskRow is a job that runs, as _active_tasks shows it.
type TaskRow struct {
	Type               string  `json:"type"`
	Node               string  `json:"node"`
	PID                *string `json:"pid"`
	Status             *string `json:"process_status"`
	ReplicationID      string  `json:"replication_id"`
	Database           *string `json:"database"`
	DocID              *string `json:"doc_id"`
	User               *string `json:"user"`
	Source             string  `json:"source"`
	Target             string  `json:"target"`
	Continuous         bool    `json:"continuous"`
	CheckpointInterval int64   `json:"checkpoint_interval"`
	StartedOn          int64   `json:"started_on"`
	UpdatedOn          int64   `json:"updated_on"`
	RevisionsChecked   int64   `json:"revisions_checked"`
	MissingFound       int64   `json:"missing_revisions_found"`
	DocsRead           int64   `json:"docs_read"`
	DocsWritten        int64   `json:"docs_written"`
	ChangesPending     *int64  `json:"changes_pending"`
	DocWriteFailures   int64   `json:"doc_write_failures"`
	BulkGetDocs        int64   `json:"bulk_get_docs"`
	BulkGetAttempts    int64   `json:"bulk_get_attempts"`

	CheckpointedSource json.RawMessage `json:"checkpointed_source_seq"`
	SourceSeq          json.RawMessage `json:"source_seq"`
	ThroughSeq         json.RawMessage `json:"through_seq"`
}

// orNull returns nil for the empty string.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// raw returns a value as JSON, null for what is none.
func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}

// Jobs lists the jobs of all servers in the order of their ids.
func (s *Scheduler) Jobs(ctx context.Context) ([]JobRow, error) {
	others, err := s.statusesOf(ctx, "")
	if err != nil {
		return nil, err
	}
	s.state.Lock()
	defer s.state.Unlock()
	rows := make([]JobRow, 0, len(s.state.queue.jobs))
	for _, j := range s.state.queue.jobs {
		rows = append(rows, s.rowOf(j, others[j.id]))
		delete(others, j.id)
	}
	for _, t := range others {
		if t.lives {
			rows = append(rows, t.Job)
		}
	}
	slices.SortFunc(rows, func(a, b JobRow) int { return strings.Compare(a.ID, b.ID) })
	return rows, nil
}

// Job returns a job of any server by its id. NotFound if there is none.
func (s *Scheduler) Job(ctx context.Context, id string) (JobRow, error) {
	id = spec.NormalizeID(id)
	others, err := s.statusesOf(ctx, id)
	if err != nil {
		return JobRow{}, err
	}
	s.state.Lock()
	defer s.state.Unlock()
	t := others[id]
	if j := s.state.queue.jobs[id]; j != nil {
		return s.rowOf(j, t), nil
	}
	if t != nil && t.lives {
		return t.Job, nil
	}
	return JobRow{}, errNoJob
}

// rowOf is the row of a job of which another server has told t, which may be nil. The lock
// is held.
func (s *Scheduler) rowOf(j *job, t *remoteStatus) JobRow {
	if t.counts(j) {
		return t.Job
	}
	return s.jobRow(j)
}

func (s *Scheduler) jobRow(j *job) JobRow {
	row := JobRow{
		Database: orNull(j.key.database), ID: j.id, PID: j.process(), Source: j.rep.Source.Shown(), Target: j.rep.Target.Shown(),
		User: orNull(j.user), DocID: orNull(string(j.key.id)), Info: j.info(), Node: s.o.Node, StartTime: stamp(j.began),
	}
	for _, e := range j.history {
		row.History = append(row.History, EventRow{stamp(e.when), e.kind, e.reason})
	}
	return row
}

// info returns the figures of a job, null before there are any.
func (j *job) info() json.RawMessage {
	if !j.hasStats {
		return json.RawMessage("null")
	}
	return raw(j.stats)
}

// Failures reports what a job could not carry over; also of one that has ended, as
// long as it is remembered. NotFound if nothing is known of it.
func (s *Scheduler) Failures(id string) (FailureRows, error) {
	s.state.Lock()
	defer s.state.Unlock()
	id = spec.NormalizeID(id)
	j := s.state.queue.jobs[id]
	if j == nil {
		j = s.state.ended.byID[id]
	}
	if j == nil {
		return FailureRows{}, errNoJob
	}
	return j.failed(), nil
}

func (j *job) failed() FailureRows {
	total, rows := j.failures.rows()
	return FailureRows{ID: j.id, Total: total, Failures: rows}
}

// DocFailures reports what the last job of a document could not carry over. NotFound
// if nothing is known of one.
func (s *Scheduler) DocFailures(database string, id document.ID) (FailureRows, error) {
	s.state.Lock()
	defer s.state.Unlock()
	key := docKey{database, id}
	for _, j := range s.state.queue.jobs {
		if j.key == key {
			return j.failed(), nil
		}
	}
	for _, ended := range slices.Backward(s.state.ended.order) {
		if j := s.state.ended.byID[ended]; j.key == key {
			return j.failed(), nil
		}
	}
	return FailureRows{}, errNoJob
}

// Tasks lists the jobs that run, on any server.
func (s *Scheduler) Tasks(ctx context.Context) (rows []TaskRow, err error) {
	others, err := s.statusesOf(ctx, "")
	if err != nil {
		return nil, err
	}
	s.state.Lock()
	defer s.state.Unlock()
	for _, j := range s.state.queue.jobs {
		if j.owned {
			rows = append(rows, s.taskRow(j))
			delete(others, j.id)
		}
	}
	for _, t := range others {
		if t.lives && t.Task != nil {
			rows = append(rows, *t.Task)
		}
	}
	slices.SortFunc(rows, func(a, b TaskRow) int { return strings.Compare(a.ReplicationID, b.ReplicationID) })
	return rows, nil
}

// taskRow is the row of a job that runs here.
func (s *Scheduler) taskRow(j *job) TaskRow {
	began := j.lastStarted()
	updated := began
	if j.reported.After(began) {
		updated = j.reported
	}
	return TaskRow{
		Type: "replication", Node: s.o.Node, PID: j.process(), ReplicationID: j.id, Database: orNull(j.key.database), DocID: orNull(string(j.key.id)),
		User: orNull(j.user), Source: j.rep.Source.Shown(), Target: j.rep.Target.Shown(), Continuous: j.rep.Continuous,
		CheckpointInterval: j.rep.CheckpointEvery.Milliseconds(), StartedOn: began.Unix(), UpdatedOn: updated.Unix(),
		RevisionsChecked: j.stats.RevisionsChecked, MissingFound: j.stats.MissingFound, DocsRead: j.stats.DocsRead, DocsWritten: j.stats.DocsWritten,
		ChangesPending: j.stats.ChangesPending, DocWriteFailures: j.stats.DocWriteFailures, BulkGetDocs: j.stats.BulkGetDocs, BulkGetAttempts: j.stats.BulkGetAttempts,
		CheckpointedSource: raw(j.stats.CheckpointedSource), SourceSeq: raw(j.stats.SourceSeq), ThroughSeq: raw(j.stats.ThroughSeq),
	}
}
