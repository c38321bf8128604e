package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/store"
)

// maxPublished is how many tasks of a server the others show.
const maxPublished = 100

// tasksLease is the kind of the rows in which servers tell the others of their tasks, and
// lookForTasks how often a server looks whether it has any.
const (
	tasksLease   = "tasks/server"
	lookForTasks = time.Second
)

// task is a row of _active_tasks.
type task struct {
	Type     string  `json:"type"`
	Node     string  `json:"node"`
	PID      string  `json:"pid"`
	Status   *string `json:"process_status"`
	Database string  `json:"database"`
	Started  int64   `json:"started_on"`
	Updated  int64   `json:"updated_on"`
	*building
	*working
	Progress *int `json:"progress,omitempty"` // in per cent
}

// working is what a task says besides that changes documents in the background.
type working struct {
	Partition string `json:"partition,omitempty"`
	Done      uint64 `json:"documents_done"`
	Total     uint64 `json:"total_documents,omitempty"`
}

// building is what a task says besides that builds an index.
type building struct {
	Design string `json:"design_document"`
	Done   uint64 `json:"changes_done"`
	Total  uint64 `json:"total_changes"`
}

// ActiveTasks answers GET /_active_tasks.
func ActiveTasks(r *couchhttp.Request) error {
	a := r.API
	all := []any{}
	for _, t := range ownTasks(a) {
		all = append(all, t)
	}
	others, err := publishedTasks(r.Ctx(), a.Store)
	if err != nil {
		return err
	}
	for _, t := range others {
		all = append(all, t)
	}
	works, err := a.Store.Working(r.Ctx())
	if err != nil {
		return err
	}
	for i, w := range works {
		all = append(all, workTask(a, i, w))
	}
	if a.Replicas != nil {
		rows, err := a.Replicas.Tasks(r.Ctx())
		if err != nil {
			return err
		}
		for _, row := range rows {
			all = append(all, row)
		}
	}
	return r.Marshal(http.StatusOK, all)
}

// ownTasks are those of which this server alone knows.
func ownTasks(a *couchhttp.API) []task { return append(requested(a), builds(a)...) }

// publishedTasks reads what the other servers that live tell of their tasks.
func publishedTasks(ctx context.Context, s *store.Store) (all []json.RawMessage, err error) {
	held, err := s.Leases(ctx, tasksLease, "")
	for _, h := range held {
		var tasks []json.RawMessage
		if !h.Lives || h.Mine || json.Unmarshal([]byte(h.Words), &tasks) != nil {
			continue
		}
		all = append(all, tasks...)
	}
	return all, err
}

// PublishTasks tells the other servers of the store of this one's tasks, until ctx ends: in a
// row that is there as long as there are any, and brought up to date with its lease.
func PublishTasks(ctx context.Context, a *couchhttp.API) {
	tick := time.NewTicker(lookForTasks)
	defer tick.Stop()
	// next waits for the next look and reports whether there are tasks then.
	next := func() (any, ended bool) {
		select {
		case <-ctx.Done():
			return false, true
		case <-tick.C:
			return len(ownTasks(a)) > 0, false
		}
	}
	words := jobs.Words{Now: func() string { return encodeTasks(ownTasks(a)) }}
	for {
		tasks, ended := next()
		if ended {
			return
		}
		if !tasks {
			continue
		}
		err := a.Store.Hold(ctx, tasksLease, a.Store.Name(), words, func(held context.Context) error {
			for tasks, ended := true, false; tasks && !ended && held.Err() == nil; {
				tasks, ended = next()
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			a.Log.Warn("other servers could not be told of this one's tasks", "error", err)
		}
	}
}

// encodeTasks are the words of the row.
func encodeTasks(tasks []task) string {
	text, err := json.Marshal(tasks[:min(len(tasks), maxPublished)])
	if err != nil {
		return "[]" // of texts and numbers it can't be
	}
	return string(text)
}

// requested is what requests have started.
func requested(a *couchhttp.API) (list []task) {
	for _, t := range a.Tasks.List() {
		row := task{Type: t.Kind, Node: NodeName(a.Store), PID: fmt.Sprintf("<0.%d.0>", t.Number), Database: t.Database, Started: t.Started.Unix(), Updated: a.Store.Now().Unix()}
		if t.For != "" {
			row.building, row.Progress = &building{Design: t.For}, new(int)
		}
		list = append(list, row)
	}
	return list
}

// workTask is the row of what the store does to documents in the background.
func workTask(a *couchhttp.API, i int, w store.Work) task {
	return task{Type: string(w.Kind), Node: cmp.Or(w.Server, NodeName(a.Store)), PID: fmt.Sprintf("<0.%d.2>", i+1), Database: w.Database, Started: w.Began.Unix(), Updated: a.Store.Now().Unix(),
		working: &working{Partition: string(w.Partition), Done: w.Done, Total: w.Total}}
}

// builds are the indexes that are being built.
func builds(a *couchhttp.API) (list []task) {
	for i, b := range a.Indexes.Active() {
		p := b.Progress
		t := task{Type: couchhttp.IndexerTask, Node: NodeName(a.Store), PID: fmt.Sprintf("<0.%d.1>", i+1), Database: b.Database, Started: p.Started, Updated: p.Updated}
		t.building, t.Progress = &building{Design: string(b.Design), Done: p.Done, Total: p.Total}, perCent(p.Done, p.Total)
		list = append(list, t)
	}
	return list
}

// perCent is how much of all is done.
func perCent(done, all uint64) *int {
	n := 0
	if all > 0 {
		n = int(min(100, done*100/all))
	}
	return &n
}
