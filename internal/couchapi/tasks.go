package couchapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/sectional/sectional/internal/dberr"
)

// tasks is the background work that requests have started, for _active_tasks.
// It runs until the server stops, and Wait waits for it.
type tasks struct {
	running sync.WaitGroup
	state   struct {
		sync.Mutex
		list []*task
		last int
	}
}

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
	about string // what it works on besides the database
}

// working is what a task says besides that changes documents in the background.
type working struct {
	Partition string `json:"partition,omitempty"`
	Done      uint64 `json:"documents_done"`
	Total     uint64 `json:"total_documents,omitempty"`
}

// building is what a task says besides that builds an index.
type building struct {
	Design   string `json:"design_document"`
	Done     uint64 `json:"changes_done"`
	Total    uint64 `json:"total_changes"`
	Progress int    `json:"progress"` // in per cent
}

// job names background work: of each there is one at a time.
type job struct {
	kind, database string
	about          string // what it works on besides, such as an index; "" for nothing
	design         string // the design document it is for; "" for none
}

// is reports whether a task does the job.
func (j job) is(t *task) bool {
	return t.Type == j.kind && t.Database == j.database && t.about == j.about
}

// start runs work for a database, unless the same is running already.
func (t *tasks) start(a *API, j job, work func(context.Context) error) {
	t.state.Lock()
	defer t.state.Unlock()
	if slices.ContainsFunc(t.state.list, j.is) {
		return
	}
	t.state.last++
	now := a.now().Unix()
	entry := &task{Type: j.kind, Node: NodeName, PID: fmt.Sprintf("<0.%d.0>", t.state.last), Database: j.database, Started: now, Updated: now, about: j.about}
	if j.design != "" {
		entry.building = &building{Design: j.design}
	}
	t.state.list = append(t.state.list, entry)
	t.running.Add(1)
	go func() {
		defer t.running.Done()
		defer t.finish(entry)
		ctx, cancel := untilDone(a.done)
		defer cancel()
		if err := dberr.Guard(a.log, "couchapi.task", func() error { return work(ctx) }); err != nil && ctx.Err() == nil {
			a.log.Error("background task failed", "type", j.kind, "database", j.database, "cause", err)
		}
	}()
}

// untilDone returns a context that ends with done.
func untilDone(done <-chan struct{}) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (t *tasks) finish(entry *task) {
	t.state.Lock()
	defer t.state.Unlock()
	for i, other := range t.state.list {
		if other == entry {
			t.state.list = append(t.state.list[:i:i], t.state.list[i+1:]...)
			return
		}
	}
}

// compacting reports whether a database is being compacted on request.
func (t *tasks) compacting(database string) bool {
	return t.runs(job{kind: databaseCompaction, database: database})
}

// runs reports whether a job is being done.
func (t *tasks) runs(j job) bool {
	t.state.Lock()
	defer t.state.Unlock()
	return slices.ContainsFunc(t.state.list, j.is)
}

// Kinds of tasks.
const (
	databaseCompaction = "database_compaction"
	viewCompaction     = "view_compaction"
	indexerTask        = "indexer"
)

// Wait waits for the background work that requests have started.
func (a *API) Wait() { a.tasks.running.Wait() }

// activeTasks answers GET /_active_tasks.
func activeTasks(r *request) error {
	t := &r.api.tasks
	t.state.Lock()
	list := make([]task, len(t.state.list))
	for i, entry := range t.state.list {
		list[i] = *entry
		list[i].Updated = r.api.now().Unix()
	}
	t.state.Unlock()
	works, err := r.api.works(r.ctx())
	if err != nil {
		return err
	}
	all := []any{}
	for _, entry := range append(append(list, r.api.builds()...), works...) {
		all = append(all, entry)
	}
	if r.api.replicas != nil {
		for _, row := range r.api.replicas.Tasks() {
			all = append(all, row)
		}
	}
	return r.marshal(http.StatusOK, all)
}

// works is what the store does to documents in the background.
func (a *API) works(ctx context.Context) (list []task, err error) {
	all, err := a.store.Working(ctx)
	for i, w := range all {
		t := task{Type: string(w.Kind), Node: NodeName, PID: fmt.Sprintf("<0.%d.2>", i+1), Database: w.Database,
			Started: w.Began.Unix(), Updated: a.now().Unix()}
		t.working = &working{Partition: string(w.Partition), Done: w.Done, Total: w.Total}
		list = append(list, t)
	}
	return list, err
}

// builds are the indexes that are being built.
func (a *API) builds() (list []task) {
	for i, b := range a.indexes.Active() {
		p := b.Progress
		t := task{Type: indexerTask, Node: NodeName, PID: fmt.Sprintf("<0.%d.1>", i+1), Database: b.Database, Started: p.Started, Updated: p.Updated}
		t.building = &building{Design: string(b.Design), Done: p.Done, Total: p.Total}
		if p.Total > 0 {
			t.Progress = int(min(100, p.Done*100/p.Total))
		}
		list = append(list, t)
	}
	return list
}
