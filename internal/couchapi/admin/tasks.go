package admin

import (
	"fmt"
	"net/http"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/store"
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

// ActiveTasks answers GET /_active_tasks.
func ActiveTasks(r *couchhttp.Request) error {
	a := r.API
	all := []any{}
	for _, t := range requested(a) {
		all = append(all, t)
	}
	for _, t := range builds(a) {
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
		for _, row := range a.Replicas.Tasks() {
			all = append(all, row)
		}
	}
	return r.Marshal(http.StatusOK, all)
}

// requested is what requests have started.
func requested(a *couchhttp.API) (list []task) {
	for _, t := range a.Tasks.List() {
		row := task{Type: t.Kind, Node: NodeName, PID: fmt.Sprintf("<0.%d.0>", t.Number), Database: t.Database, Started: t.Started.Unix(), Updated: a.Now().Unix()}
		if t.For != "" {
			row.building = &building{Design: t.For}
		}
		list = append(list, row)
	}
	return list
}

// workTask is the row of what the store does to documents in the background.
func workTask(a *couchhttp.API, i int, w store.Work) task {
	return task{Type: string(w.Kind), Node: NodeName, PID: fmt.Sprintf("<0.%d.2>", i+1), Database: w.Database, Started: w.Began.Unix(), Updated: a.Now().Unix(),
		working: &working{Partition: string(w.Partition), Done: w.Done, Total: w.Total}}
}

// builds are the indexes that are being built.
func builds(a *couchhttp.API) (list []task) {
	for i, b := range a.Indexes.Active() {
		p := b.Progress
		t := task{Type: couchhttp.IndexerTask, Node: NodeName, PID: fmt.Sprintf("<0.%d.1>", i+1), Database: b.Database, Started: p.Started, Updated: p.Updated}
		t.building = &building{Design: string(b.Design), Done: p.Done, Total: p.Total}
		if p.Total > 0 {
			t.Progress = int(min(100, p.Done*100/p.Total))
		}
		list = append(list, t)
	}
	return list
}
