package schedule

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/store"
)

// world is a scheduler over a real store in memory, whose replications are made
// up: each run of a task waits until the test says how it ends. It lives in a
// bubble, where time passes only when nothing else happens.
type world struct {
	*Scheduler
	t       *testing.T
	engine  *pebblekv.Engine
	store   *store.Store
	config  *config.Config
	users   map[string]*auth.Caller
	accepts map[auth.Handler]bool
	runs    struct {
		sync.Mutex
		open map[string]*run // that run, by the source's URL; the last one of them
		ids  map[string]bool // of their checkpoints
		all  []string        // sources, in the order of their beginnings
	}
}

// run is a task that runs.
type run struct {
	*replicate.Task
	end chan error
}

func inBubble(t *testing.T, test func(t *testing.T, w *world), overrides ...config.Setting) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, newWorld(t, overrides...))
	})
}

func newWorld(t *testing.T, overrides ...config.Setting) *world {
	c, err := config.Open(config.Options{Overrides: overrides})
	must(t, err)
	e, err := pebblekv.Open(pebblekv.Options{Dir: "data", FS: vfs.NewMem(), CacheBytes: 8 << 20})
	must(t, err)
	rules := admission.New(admission.Options{Auth: auth.New(auth.Options{Config: c, Users: &admission.Users{}})})
	st, err := store.Open(context.Background(), e, store.Options{Admission: rules, Idle: true})
	must(t, err)
	w := &world{t: t, engine: e, store: st, config: c, users: map[string]*auth.Caller{"adm": {Name: "adm", Roles: []string{auth.AdminRole}}}}
	w.runs.open, w.runs.ids = map[string]*run{}, map[string]bool{}
	w.begin()
	t.Cleanup(func() {
		w.Scheduler.Close()
		must(t, st.Check(context.Background()))
		must(t, st.Close())
		must(t, e.Close())
	})
	return w
}

// begin makes a scheduler, as at a start of the server.
func (w *world) begin() {
	w.Scheduler = New(Options{Store: w.store, Users: w, Config: w.config, Node: "n", Run: w.run, Random: func() float64 { return 0.5 }})
}

func (w *world) start() {
	w.t.Helper()
	must(w.t, w.Start(http.NotFoundHandler()))
	synctest.Wait()
}

// restart ends the scheduler and begins another one over the same store.
func (w *world) restart() {
	w.t.Helper()
	w.Scheduler.Close()
	w.begin()
	w.start()
}

func (w *world) Named(_ context.Context, name string) (*auth.Caller, error) {
	return w.users[name], nil
}
func (w *world) Accepts(h auth.Handler) bool { return w.accepts[h] }

// run is what stands for replications.
func (w *world) run(ctx context.Context, task *replicate.Task) (*replicate.Result, error) {
	r := &run{task, make(chan error, 1)}
	name := strings.TrimPrefix(task.Source.URL, "http://")
	w.runs.Lock()
	if w.runs.ids[task.ID] {
		w.t.Errorf("%s runs twice", name)
	}
	w.runs.open[name], w.runs.ids[task.ID] = r, true
	w.runs.all = append(w.runs.all, name)
	w.runs.Unlock()
	defer func() {
		w.runs.Lock()
		if delete(w.runs.ids, task.ID); w.runs.open[name] == r {
			delete(w.runs.open, name)
		}
		w.runs.Unlock()
	}()
	select {
	case err := <-r.end:
		return &replicate.Result{Stats: replicate.Stats{DocsWritten: 7, SourceSeq: replicate.Seq(`"7-x"`)}}, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// running returns the run of a source, nil if there is none.
func (w *world) running(source string) *run {
	synctest.Wait()
	w.runs.Lock()
	defer w.runs.Unlock()
	return w.runs.open[source]
}

// finish ends a run.
func (w *world) finish(source string, err error) {
	w.t.Helper()
	r := w.running(source)
	if r == nil {
		w.t.Fatalf("%s does not run", source)
	}
	r.end <- err
	synctest.Wait()
}

func (w *world) begun(source string) (n int) {
	synctest.Wait()
	w.runs.Lock()
	defer w.runs.Unlock()
	for _, s := range w.runs.all {
		if s == source {
			n++
		}
	}
	return n
}

var errPeer = errors.New("the peer is down")

func (w *world) database(name string) *store.Database {
	w.t.Helper()
	d, err := w.store.Database(context.Background(), name)
	if dberr.Is(err, dberr.NotFound) {
		d, err = w.store.Create(context.Background(), name, store.Creation{})
	}
	must(w.t, err)
	return d
}

// put writes a document over what is there, as the administrator; body "" deletes.
func (w *world) put(db, id, body string) {
	w.t.Helper()
	rev, _ := w.get(db, id)
	e := document.Edit{ID: document.ID(id), Parent: rev, Body: []byte(body)}
	if body == "" {
		e.Deleted, e.Body = true, []byte("{}")
	}
	ctx := auth.WithCaller(context.Background(), w.users["adm"])
	got, err := w.database(db).Whole().Write(ctx, []document.Edit{e}, store.WriteOptions{})
	must(w.t, err)
	must(w.t, got[0].Err)
	synctest.Wait()
}

// get reads a document; a zero revision says that there is none.
func (w *world) get(db, id string) (rev document.Rev, body string) {
	w.t.Helper()
	synctest.Wait()
	err := w.database(db).Whole().View(context.Background(), func(r *store.Reader) error {
		found, err := r.Winner(document.ID(id))
		if err == nil {
			rev, body = found.Rev, string(found.Body)
		}
		return err
	})
	if !dberr.Is(err, dberr.NotFound) {
		must(w.t, err)
	}
	return rev, body
}

// doc returns a document's row in short: state, errors, info.
func (w *world) doc(db, id string) string {
	w.t.Helper()
	synctest.Wait()
	row, err := w.Doc(context.Background(), w.database(db), document.ID(id))
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %d %s", row.State, row.ErrorCount, row.Info)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// jobs are the rows of all jobs.
func (w *world) jobs() []JobRow {
	w.t.Helper()
	rows, err := w.Jobs(context.Background())
	must(w.t, err)
	return rows
}
