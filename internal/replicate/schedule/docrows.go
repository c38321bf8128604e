package schedule

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/sectional/sectional/internal/document"
	js "github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/replicate/spec"
	"github.com/sectional/sectional/internal/store"
)

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

// Doc returns a document's row. NotFound if it is not there, or says nothing.
func (s *Scheduler) Doc(ctx context.Context, db *store.Database, id document.ID) (row DocRow, err error) {
	others, err := s.documentStatuses(ctx)
	if err != nil {
		return row, err
	}
	err = db.Whole().View(ctx, func(r *store.Reader) error {
		rev, err := r.Winner(id)
		if err != nil {
			return err
		}
		var ok bool
		if row, ok = s.docRow(db, rev, others); !ok {
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
	others, err := s.documentStatuses(ctx)
	if err != nil {
		return DocRows{}, err
	}
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
					s.take(&out, &q, db, rev, others)
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
func (s *Scheduler) take(out *DocRows, q *DocsQuery, db *store.Database, rev *store.Revision, others map[docKey]*remoteStatus) {
	out.Total++
	if q.Limit >= 0 && len(out.Docs) >= q.Limit {
		return
	}
	row, ok := s.docRow(db, rev, others)
	switch {
	case !ok, q.States != nil && !slices.Contains(q.States, row.State):
	case q.Skip > 0:
		q.Skip--
	default:
		out.Docs = append(out.Docs, row)
	}
}

// docRow returns what is known of a document: from its job, here or at another server,
// from what stands in its way, or from itself.
func (s *Scheduler) docRow(db *store.Database, rev *store.Revision, others map[docKey]*remoteStatus) (DocRow, bool) {
	s.state.Lock()
	defer s.state.Unlock()
	row := DocRow{Database: db.Name(), DocID: string(rev.ID), Node: s.o.Node}
	key := docKey{db.Name(), rev.ID}
	d := s.state.documents[key]
	var own *job
	if d != nil && d.db == db {
		own = s.jobOf(key, d)
	}
	if t := others[key]; t.counts(own) && !spec.Over(rev.Body) {
		return t.docRow(row), true
	}
	if d == nil || d.db != db {
		return row, row.fromBody(rev.Body) || s.unread(&row, rev.Body)
	}
	if d.state != failed {
		row.Source, row.Target = d.rep.Source.Shown(), d.rep.Target.Shown()
	} else {
		row.ends(rev.Body)
	}
	row.SourceProxy, row.TargetProxy = orNull(d.rep.Source.ShownProxy()), orNull(d.rep.Target.ShownProxy())
	row.StartTime = orNull(stamp(d.began))
	if own == nil {
		row.State, row.Info, row.ErrorCount, row.LastUpdated = d.state, d.info, d.errors, orNull(stamp(d.updated))
		return row, d.state != scheduled
	}
	s.progress(&row, own)
	return row, true
}

// progress tells of a job in the row of its document. The lock is held.
func (s *Scheduler) progress(row *DocRow, j *job) {
	healthy := s.settings.Value().healthy
	var reason string
	row.State, reason = j.state(healthy)
	if row.Info = j.info(); row.State == crashing {
		row.Info = errorInfo(reason)
	}
	row.ID, row.ErrorCount, row.LastUpdated = &j.id, j.crashes(healthy), orNull(stamp(j.history[0].when))
}

// unread makes the row of a document that asks for a replication and has not been read here
// yet, as another server may have written it a moment ago; false if it asks for none.
func (s *Scheduler) unread(row *DocRow, body []byte) bool {
	if _, err := spec.ParseDocument(body, s.settings.Value().each); err != nil {
		return false
	}
	row.State, row.Info = initializing, []byte("null")
	return true
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
