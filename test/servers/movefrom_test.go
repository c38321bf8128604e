package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sectional/sectional/test/process"
)

// acked are documents that were acknowledged, and what other answers there were.
type acked struct {
	mu     sync.Mutex
	ids    map[string]bool
	others map[string]int
	work   sync.WaitGroup
	stop   context.CancelFunc
}

// writing has four clients write to a database until they are stopped, or are told for a while that it has moved.
func writing(t *testing.T, db string, clients ...*client) *acked {
	ctx, stop := context.WithCancel(t.Context())
	w := &acked{ids: map[string]bool{}, others: map[string]int{}, stop: stop}
	for n := range 4 {
		w.work.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("%d-%06d", n, i)
				a, err := clients[(n+i)%len(clients)].do("PUT", "/"+db+"/"+id, `{"text":"`+strings.Repeat("x", 300)+`"}`)
				if w.note(id, a, err) {
					return
				}
			}
		})
	}
	return w
}

// note reports whether the database has moved.
func (w *acked) note(id string, a answer, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil: // of a server that was killed
	case a.status == 201:
		w.ids[id] = true
	case a.status == 503 && strings.Contains(string(a.body), "moved"):
		return true
	default:
		w.others[fmt.Sprintf("%d %.200s", a.status, a.body)]++
	}
	return false
}

func (w *acked) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ids)
}

// copying is a copy as its own process.
func copying(args ...string) *exec.Cmd {
	k := exec.Command(process.Binary(), append([]string{"copy", "--json"}, args...)...)
	k.Env = append(os.Environ(), "SECTIONAL_TEST_FSYNC_OFF=1")
	return k
}

// TestMoveFromPostgres moves a database and then everything away from PostgreSQL while three servers serve it; one of
// them is killed in the middle and started again, and so is the copy. Each acknowledged write is at the target, in a feed that goes on
// from a sequence of before, and no server takes another.
func TestMoveFromPostgres(t *testing.T) {
	url, err := postgres.Cluster(t).Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := over(t, Options{Postgres: url})
	var clients []*client
	for i := range 3 {
		clients = append(clients, ask(s.Server(i).Base))
	}
	c := clients[0]
	for _, db := range []string{"db", "stays"} {
		c.must(t, 201, "PUT", "/"+db, "", nil)
	}
	w, others := writing(t, "db", clients...), writing(t, "stays", clients...)
	process.Within(t, time.Minute, "documents are written", func() bool { return w.count() > 300 })
	_, early := c.changes(t, "db", "0", 100)

	dir := filepath.Join(t.TempDir(), "target")
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	noting := func() bool { // the copy has begun
		var n int
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'sectional_%'").Scan(&n)
		return err == nil && n > 0
	}
	first := copying("-d", "db", url, dir)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	process.Within(t, time.Minute, "the copy begins", noting)
	if err := s.Server(2).Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Process.Kill()
	_ = first.Wait()
	second := copying("-d", "db", url, dir)
	out := &strings.Builder{}
	second.Stdout, second.Stderr = out, out
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if err := second.Wait(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	w.work.Wait() // until each was told that it has moved
	for text, n := range w.others {
		t.Errorf("%d writers were told %s", n, text)
	}
	if noting() {
		t.Error("keys are noted after the copy")
	}
	target := serving(t, dir)
	verifyMoved(t, target, "db", w, early)
	target.must(t, 404, "GET", "/stays", "", nil)
	if err := target.server.Stop(); err != nil {
		t.Error(err)
	}

	_, early = c.changes(t, "stays", "0", 100)
	all := t.TempDir() + "/all"
	c.must(t, 200, "DELETE", "/db", "", nil)
	if out, err := copying(url, all).CombinedOutput(); err != nil || !strings.Contains(string(out), `"moved":true`) {
		t.Fatalf("%v %s", err, out)
	}
	others.work.Wait()
	for text, n := range others.others {
		t.Errorf("%d writers were told %s", n, text)
	}
	for i, c := range clients {
		process.Within(t, time.Minute, fmt.Sprintf("server %d says that it has moved", i), func() bool {
			a, err := c.do("GET", "/_up", "")
			return err == nil && a.status == 503 && strings.Contains(string(a.body), "moved")
		})
	}
	if err := s.Server(1).Stop(); err != nil {
		t.Error(err)
	}
	if err := s.Restart(t.Context(), 1); err == nil {
		t.Error("a server starts on what has moved")
	}
	verifyMoved(t, serving(t, all), "stays", others, early)
}

// arrived is a server on a directory that was copied to.
type arrived struct {
	*client
	server *process.Server
}

func serving(t *testing.T, dir string) *arrived {
	t.Helper()
	s, err := process.Launch(t.Context(), process.Options{Binary: process.Binary(), Dir: dir, Die: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Kill() })
	return &arrived{ask(s.Base), s}
}

// verifyMoved compares a feed with what was acknowledged. early is the sequence of its hundredth change.
func verifyMoved(t *testing.T, c *arrived, db string, w *acked, early string) {
	t.Helper()
	all, _ := c.changes(t, db, "0", 1_000_000)
	late, _ := c.changes(t, db, early, 1_000_000)
	if len(late) != len(all)-100 {
		t.Errorf("%s: since 100 there are %d changes of %d", db, len(late), len(all))
	}
	lost := 0
	for id := range w.ids {
		if !all[id] {
			lost++
		}
	}
	t.Logf("%s: %d acknowledged, %d lost", db, len(w.ids), lost)
	var info struct {
		Count int `json:"doc_count"`
	}
	if c.must(t, 200, "GET", "/"+db, "", &info); info.Count != len(all) {
		t.Errorf("%s: the counter says %d, there are %d", db, info.Count, len(all))
	}
	if lost > 0 {
		t.Errorf("%s: %d of %d acknowledged are lost", db, lost, len(w.ids))
	}
	c.must(t, 201, "PUT", "/"+db+"/after", "{}", nil)
}
