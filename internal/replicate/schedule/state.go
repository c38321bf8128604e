package schedule

import (
	"encoding/json"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	js "github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/store"
)

// final is what became of a document's replication for good.
type final struct {
	state  string
	reason string // of a failed one
	stats  []byte // of a completed one: JSON, as the document has it
	info   []byte // JSON, as rows tell it
}

func completedState(j *job) final {
	info := finalStats(j.stats)
	stats := append(info[:len(info)-1:len(info)-1], `,"start_time":`...)
	stats = append(js.AppendQuoted(stats, stamp(j.began)), '}')
	return final{state: completed, stats: stats, info: info}
}

func failedState(reason string) final {
	return final{state: failed, reason: reason, info: errorInfo(reason)}
}

// errorInfo is how a reason is shown in rows.
func errorInfo(reason string) []byte {
	return append(js.AppendQuoted([]byte(`{"error":`), reason), '}')
}

// finalStats returns the figures of a run that ended: what it saw of the feed while
// it ran is left out, as in CouchDB.
func finalStats(s replicate.Stats) []byte {
	raw, err := json.Marshal(s)
	if err != nil {
		return []byte("{}") // a sequence that is no JSON
	}
	return js.With(js.With(raw, "source_seq", nil), "through_seq", nil)
}

// writeState writes what became of a replication into its document, if that is
// still the one that was read; else the feed brings the new one. The server
// itself writes, so no owner's rights are asked for, but validation functions are.
func (s *Scheduler) writeState(db *store.Database, id document.ID, rev document.Rev, f final, now time.Time) {
	results, err := db.Whole().Write(s.ctx, []document.Edit{{ID: id, Decide: func(current document.Current) (document.Decision, error) {
		if current.Rev != rev {
			return document.Decision{}, errMoved
		}
		return document.Decision{Body: withState(current.Body, f, now)}, nil
	}}}, store.WriteOptions{})
	if err == nil {
		err = results[0].Err
	}
	if err != nil && !dberr.Is(err, dberr.NotFound) && !dberr.Is(err, dberr.Conflict) && s.ctx.Err() == nil {
		s.o.Log.Error("the state of a replication can't be written into its document", "document", db.Name()+"/"+string(id), "state", f.state, "error", err)
	}
}

var errMoved = dberr.New(dberr.Conflict, "", "the document has moved on")

// withState returns a document's body with the state in it. Members that were there
// keep their places.
func withState(body []byte, f final, now time.Time) []byte {
	var reason, stats []byte
	if f.state == failed {
		reason = js.AppendQuoted(nil, f.reason)
	} else {
		stats = f.stats
	}
	body = js.With(body, "_replication_state", js.AppendQuoted(nil, f.state))
	body = js.With(body, "_replication_state_time", js.AppendQuoted(nil, stamp(now)))
	body = js.With(body, "_replication_state_reason", reason)
	return js.With(body, "_replication_stats", stats)
}
