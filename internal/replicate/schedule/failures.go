package schedule

import (
	"slices"
	"time"

	"github.com/sectional/sectional/internal/replicate"
)

const (
	maxFailures = 1000 // of a job
	maxEnded    = 100  // jobs that ended, whose failures are still shown
)

// failures are the revisions that a job could not carry over: the last ones, each
// once.
type failures struct {
	total int64
	list  []replicate.Failure // oldest first
	seen  map[[2]string]bool  // by document and revision
}

// add notes a failure.
func (f *failures) add(x replicate.Failure) {
	f.total++
	name := [2]string{x.ID, x.Rev}
	if f.seen[name] {
		f.list = slices.DeleteFunc(f.list, func(y replicate.Failure) bool { return y.ID == x.ID && y.Rev == x.Rev })
	} else if f.seen == nil {
		f.seen = map[[2]string]bool{}
	}
	if len(f.list) >= maxFailures {
		delete(f.seen, [2]string{f.list[0].ID, f.list[0].Rev})
		f.list = f.list[1:]
	}
	f.seen[name] = true
	f.list = append(f.list, x)
}

// FailureRow is a revision that could not be carried over.
type FailureRow struct {
	ID     string  `json:"id"`
	Rev    *string `json:"rev"`
	Side   string  `json:"side"` // "source" could not give it, or "target" refused it
	Status int     `json:"status"`
	Error  string  `json:"error"`
	Reason string  `json:"reason"`
	Time   string  `json:"time"`
}

// FailureRows is what failed in a job: how often, and the last ones, newest
// first.
type FailureRows struct {
	ID       string       `json:"id"`
	Total    int64        `json:"total"`
	Failures []FailureRow `json:"failures"`
}

func (f *failures) rows() (total int64, rows []FailureRow) {
	rows = []FailureRow{}
	for _, x := range slices.Backward(f.list) {
		row := FailureRow{ID: x.ID, Side: "target", Status: x.Status, Error: x.Code, Reason: x.Reason, Time: stamp(x.Time)}
		if x.Rev != "" {
			row.Rev = &x.Rev
		}
		if x.Reading {
			row.Side = "source"
		}
		rows = append(rows, row)
	}
	return f.total, rows
}

// stamp writes a time as CouchDB does.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ended are jobs that are no longer there, whose failures may still be asked for.
type ended struct {
	order []string
	byID  map[string]*job
}

// keep keeps a job that ended, if anything failed in it.
func (e *ended) keep(j *job) {
	if j.failures.total == 0 {
		return
	}
	if e.byID == nil {
		e.byID = map[string]*job{}
	}
	e.order = append(slices.DeleteFunc(e.order, func(id string) bool { return id == j.id }), j.id)
	e.byID[j.id] = j
	if len(e.order) > maxEnded {
		delete(e.byID, e.order[0])
		e.order = e.order[1:]
	}
}
