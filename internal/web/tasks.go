package web

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/dberr"
)

// Tasks is the background work that requests have started. It runs until the server stops, and Wait waits for it.
type Tasks struct {
	shared  *Shared
	running sync.WaitGroup
	state   struct {
		sync.Mutex
		list []Task
		last int
	}
}

// Job names background work: of each there is one at a time.
type Job struct {
	Kind     string
	Database string
	About    string // what it works on besides, such as an index; "" for nothing
}

// Task is a job that is being done.
type Task struct {
	Job
	For     string // for whose sake; "" for nobody's
	Number  int    // from 1
	Started time.Time
}

// Start begins work, unless the same is running already. The context of work ends when the server stops.
func (t *Tasks) Start(job Job, sake string, work func(context.Context) error) {
	if !t.begin(Task{Job: job, For: sake}) {
		return
	}
	go t.run(job, work)
}

// begin puts a task into the list; it reports whether its job was not there.
func (t *Tasks) begin(task Task) bool {
	t.state.Lock()
	defer t.state.Unlock()
	if t.indexOf(task.Job) >= 0 {
		return false
	}
	t.state.last++
	task.Number, task.Started = t.state.last, t.shared.Now()
	t.state.list = append(t.state.list, task)
	t.running.Add(1)
	return true
}

// run does the work of a job that is in the list, and takes it out.
func (t *Tasks) run(job Job, work func(context.Context) error) {
	defer t.running.Done()
	defer t.finish(job)
	ctx, cancel := untilDone(t.shared.Done)
	defer cancel()
	err := dberr.Guard(t.shared.Log, "web.task", func() error { return work(ctx) })
	if err != nil && ctx.Err() == nil {
		t.shared.Log.Error("background task failed", "type", job.Kind, "database", job.Database, "cause", err)
	}
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

// indexOf returns where a job is in the list, -1 for nowhere. The state has to be locked.
func (t *Tasks) indexOf(job Job) int {
	return slices.IndexFunc(t.state.list, func(other Task) bool { return other.Job == job })
}

func (t *Tasks) finish(job Job) {
	t.state.Lock()
	defer t.state.Unlock()
	i := t.indexOf(job)
	t.state.list = slices.Delete(t.state.list, i, i+1)
}

// Runs reports whether a job is being done.
func (t *Tasks) Runs(job Job) bool {
	t.state.Lock()
	defer t.state.Unlock()
	return t.indexOf(job) >= 0
}

// List returns what is being done, the oldest first.
func (t *Tasks) List() []Task {
	t.state.Lock()
	defer t.state.Unlock()
	return slices.Clone(t.state.list)
}

// Wait waits for all of it.
func (t *Tasks) Wait() { t.running.Wait() }
