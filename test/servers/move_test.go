package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/test/process"
)

// TestMoveToPostgres moves everything from a server that goes on serving to PostgreSQL, kills the first copy, and
// starts a server there at the old address: each acknowledged write is in the feed, which goes on from a sequence
// of before.
func TestMoveToPostgres(t *testing.T) {
	url, err := postgres.Cluster(t).Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s, err := process.Launch(t.Context(), process.Options{Binary: process.Binary(), Dir: dir, Env: []string{"SECTIONAL_TEST_FSYNC_OFF=1"}, Die: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	c := ask(s.Base)
	c.must(t, 201, "PUT", "/db", "", nil)
	var mu sync.Mutex
	acked := map[string]bool{}
	var writers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for n := range 4 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("%d-%06d", n, i)
				a, err := c.do("PUT", "/db/"+id, `{"text":"`+strings.Repeat("x", 300)+`"}`)
				if err != nil || a.status != 201 {
					return // it has moved
				}
				mu.Lock()
				acked[id] = true
				mu.Unlock()
			}
		})
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acked)
	}
	process.Within(t, time.Minute, "documents are written", func() bool { return count() > 500 })
	_, early := c.changes(t, "db", "0", 100)
	copying := func() *exec.Cmd {
		k := exec.Command(process.Binary(), "copy", "--json", dir, url)
		k.Env = append(os.Environ(), "SECTIONAL_TEST_FSYNC_OFF=1")
		return k
	}
	first := copying()
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	process.Within(t, time.Minute, "the copy begins", func() bool {
		a, _ := c.do("GET", "/_active_tasks", "")
		return strings.Contains(string(a.body), `"copy"`) || strings.Contains(s.Output(), "a copy has ended")
	})
	_ = first.Process.Kill()
	_ = first.Wait()
	process.Within(t, time.Minute, "the killed copy has ended", func() bool { return strings.Contains(s.Output(), "a copy has ended") })
	out, err := copying().CombinedOutput()
	var told struct {
		Moved bool
		Rows  int
	}
	if err != nil || json.Unmarshal(out, &told) != nil || !told.Moved {
		t.Fatalf("%v %s", err, out)
	}
	writers.Wait()
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	s, err = process.Launch(t.Context(), process.Options{Binary: process.Binary(), Dir: t.TempDir(), Listen: s.Address, Args: []string{"--engine", "postgres", "--postgres", url},
		Env: []string{"SECTIONAL_TEST_FSYNC_OFF=1"}, Die: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	all, _ := c.changes(t, "db", "0", 1_000_000)
	late, _ := c.changes(t, "db", early, 1_000_000)
	if len(late) != len(all)-100 {
		t.Errorf("since 100 there are %d changes of %d", len(late), len(all))
	}
	for id := range acked {
		if !all[id] {
			t.Errorf("%s was acknowledged and is lost", id)
		}
	}
	c.must(t, 201, "PUT", "/db/after", "{}", nil)
}

// changes reads a page of a database's feed: the ids in it, and the last sequence.
func (c *client) changes(t *testing.T, db, since string, limit int) (map[string]bool, string) {
	t.Helper()
	var page struct {
		Results []struct{ ID string }
		Last    string `json:"last_seq"`
	}
	c.must(t, 200, "GET", fmt.Sprintf("/%s/_changes?since=%s&limit=%d", db, since, limit), "", &page)
	ids := map[string]bool{}
	for _, r := range page.Results {
		ids[r.ID] = true
	}
	return ids, page.Last
}
