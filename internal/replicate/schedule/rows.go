package schedule

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/document"
	js "github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/replicate/spec"
	"github.com/sectional/sectional/internal/store"
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

// DocRow is a document as _scheduler/docs shows it.
type DocRow struct {
	Database    string          `json:"database"`
	DocID       string          `json:"doc_id"`
	ID          *string         `json:"id"`
	Node        string          `json:"node"`
	Source      string          `json:"source"`
	Target      string          `json:"target"`
	State       string          `json:"state"`
	Info        json.RawMessage `json:"info"`
	ErrorCount  int             `json:"error_count"`
	LastUpdated *string         `json:"last_updated"`
	StartTime   *string         `json:"start_time"`
	SourceProxy *string         `json:"source_proxy"`
	TargetProxy *string         `json:"target_proxy"`
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

// Jobs lists the jobs in the order of their ids.
func (s *Scheduler) Jobs() []JobRow {
	s.state.Lock()
	defer s.state.Unlock()
	rows := make([]JobRow, 0, len(s.state.queue.jobs))
	for _, j := range s.state.queue.jobs {
		rows = append(rows, s.jobRow(j))
	}
	slices.SortFunc(rows, func(a, b JobRow) int { return strings.Compare(a.ID, b.ID) })
	return rows
}

// Job returns a job by its id. NotFound if there is none.
func (s *Scheduler) Job(id string) (JobRow, error) {
	s.state.Lock()
	defer s.state.Unlock()
	if j := s.state.queue.jobs[spec.NormalizeID(id)]; j != nil {
		return s.jobRow(j), nil
	}
	return JobRow{}, errNoJob
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
	if !j.told {
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

// Tasks lists the jobs that run.
func (s *Scheduler) Tasks() (rows []TaskRow) {
	s.state.Lock()
	defer s.state.Unlock()
	for _, j := range s.state.queue.jobs {
		if !j.running {
			continue
		}
		began := j.lastStarted()
		updated := began
		if j.reported.After(began) {
			updated = j.reported
		}
		rows = append(rows, TaskRow{
			Type: "replication", Node: s.o.Node, PID: j.process(), ReplicationID: j.id, Database: orNull(j.key.database), DocID: orNull(string(j.key.id)),
			User: orNull(j.user), Source: j.rep.Source.Shown(), Target: j.rep.Target.Shown(), Continuous: j.rep.Continuous,
			CheckpointInterval: j.rep.CheckpointEvery.Milliseconds(), StartedOn: began.Unix(), UpdatedOn: updated.Unix(),
			RevisionsChecked: j.stats.RevisionsChecked, MissingFound: j.stats.MissingFound, DocsRead: j.stats.DocsRead, DocsWritten: j.stats.DocsWritten,
			ChangesPending: j.stats.ChangesPending, DocWriteFailures: j.stats.DocWriteFailures, BulkGetDocs: j.stats.BulkGetDocs, BulkGetAttempts: j.stats.BulkGetAttempts,
			CheckpointedSource: raw(j.stats.CheckpointedSource), SourceSeq: raw(j.stats.SourceSeq), ThroughSeq: raw(j.stats.ThroughSeq),
		})
	}
	slices.SortFunc(rows, func(a, b TaskRow) int { return strings.Compare(a.ReplicationID, b.ReplicationID) })
	return rows
}

// Doc returns a document's row. NotFound if it is not there, or says nothing.
func (s *Scheduler) Doc(ctx context.Context, db *store.Database, id document.ID) (row DocRow, err error) {
	err = db.Whole().View(ctx, func(r *store.Reader) error {
		rev, err := r.Winner(id)
		if err != nil {
			return err
		}
		var ok bool
		if row, ok = s.docRow(db, rev); !ok {
			return errNoJob
		}
		return nil
	})
	return row, err
}

// DocsQuery says which rows of documents are wanted.
type DocsQuery struct {
	Limit, Skip int // Limit below 0: no limit
	Descending  bool
	States      []string // nil: all
}

// DocRows are rows of documents.
type DocRows struct {
	Total  int      `json:"total_rows"` // replication documents in the database
	Offset int      `json:"offset"`
	Docs   []DocRow `json:"docs"`
}

// rowsPage is how many documents are looked at in one snapshot.
const rowsPage = 500

// Docs lists the rows of a database's documents in the order of their ids.
func (s *Scheduler) Docs(ctx context.Context, db *store.Database, q DocsQuery) (DocRows, error) {
	out := DocRows{Docs: []DocRow{}, Offset: q.Skip}
	span, more := store.Span{Descending: q.Descending}, true
	for more {
		err := db.Whole().View(ctx, func(r *store.Reader) error {
			looked := 0
			more = false
			for rev, err := range r.Winners(span) {
				if err != nil {
					return err
				}
				if looked++; looked > rowsPage {
					more = true
					return nil
				}
				if q.Descending {
					span.To, span.Before = string(rev.ID), true
				} else {
					span.From = string(rev.ID) + "\x00"
				}
				if !rev.Deleted && !rev.ID.IsDesign() {
					s.take(&out, &q, db, rev)
				}
			}
			return nil
		})
		if err != nil {
			return DocRows{}, err
		}
	}
	out.Offset = min(out.Offset, out.Total)
	return out, nil
}

// take takes the row of a document if it is wanted.
func (s *Scheduler) take(out *DocRows, q *DocsQuery, db *store.Database, rev *store.Revision) {
	out.Total++
	if q.Limit >= 0 && len(out.Docs) >= q.Limit {
		return
	}
	row, ok := s.docRow(db, rev)
	switch {
	case !ok, q.States != nil && !slices.Contains(q.States, row.State):
	case q.Skip > 0:
		q.Skip--
	default:
		out.Docs = append(out.Docs, row)
	}
}

// docRow returns what is known of a document: from its job, from what stands in its
// way, or from itself.
func (s *Scheduler) docRow(db *store.Database, rev *store.Revision) (DocRow, bool) {
	s.state.Lock()
	defer s.state.Unlock()
	row := DocRow{Database: db.Name(), DocID: string(rev.ID), Node: s.o.Node}
	key := docKey{db.Name(), rev.ID}
	d := s.state.documents[key]
	if d == nil || d.db != db {
		return row, row.fromBody(rev.Body)
	}
	if d.state != failed {
		row.Source, row.Target = d.rep.Source.Shown(), d.rep.Target.Shown()
	} else {
		row.ends(rev.Body)
	}
	row.SourceProxy, row.TargetProxy = orNull(d.rep.Source.ShownProxy()), orNull(d.rep.Target.ShownProxy())
	row.StartTime = orNull(stamp(d.began))
	j := s.jobOf(key, d)
	if j == nil {
		row.State, row.Info, row.ErrorCount, row.LastUpdated = d.state, d.info, d.errors, orNull(stamp(d.updated))
		return row, d.state != scheduled
	}
	healthy := s.settings.Value().healthy
	var reason string
	row.State, reason = j.state(healthy)
	if row.Info = j.info(); row.State == "crashing" {
		row.Info = errorInfo(reason)
	}
	row.ID, row.ErrorCount, row.LastUpdated = &j.id, j.crashes(healthy), orNull(stamp(j.history[0].when))
	return row, true
}

// ends takes source and target from a document's body.
func (row *DocRow) ends(body []byte) {
	source, _ := js.Member(body, "source")
	target, _ := js.Member(body, "target")
	row.Source, row.Target = spec.ShownEndpoint(source), spec.ShownEndpoint(target)
}

// fromBody takes what a document says itself; false if it says nothing.
func (row *DocRow) fromBody(body []byte) bool {
	row.ends(body)
	state, _ := js.Member(body, "_replication_state")
	row.State = string(js.Text(nil, state))
	when, _ := js.Member(body, "_replication_state_time")
	row.LastUpdated = orNull(string(js.Text(nil, when)))
	switch row.State {
	case completed:
		row.Info = []byte("{}")
		stats, _ := js.Member(body, "_replication_stats")
		if js.KindOf(stats) == js.Object {
			row.Info = statsWithoutStart(stats, row)
		}
	case failed:
		reason, _ := js.Member(body, "_replication_state_reason")
		row.Info, row.ErrorCount, row.StartTime = errorInfo(string(js.Text(nil, reason))), 1, row.LastUpdated
	default:
		return false
	}
	return true
}

// statsWithoutStart takes the time of the start out of a document's figures.
func statsWithoutStart(stats []byte, row *DocRow) json.RawMessage {
	if start, ok := js.Member(stats, "start_time"); ok {
		row.StartTime = orNull(string(js.Text(nil, start)))
	}
	return js.With(stats, "start_time", nil)
}
