package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sectional/sectional/internal/kv/kvcopy"
	"github.com/sectional/sectional/internal/kv/pgkv/pgtest"
)

// TestCopyOutlivesPostgres moves a database out of a PostgreSQL that crashes while it is copied, and when writers wait,
// and comes back: the copy goes on by itself, and says each time that it waits. Both servers show a task as long as it is
// made. What was acknowledged is at the target.
func TestCopyOutlivesPostgres(t *testing.T) {
	pgtest.Need(t)
	t.Setenv(unsafeVariable, "1")
	c, err := pgtest.Start(pgtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	o := Options{Data: t.TempDir(), Store: EngineOptions{Engine: "postgres", Postgres: c.URL()}, User: "adm", Password: "pass"}
	r := start(t, o)
	o.Data = t.TempDir()
	other := start(t, o)
	if status, body := r.send("PUT", "/db", ""); status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	acknowledged := map[string]bool{}
	begun := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() { // until it is told that the database has moved
		for n := 0; !t.Failed(); n++ {
			if n == 20 {
				close(begun)
			}
			id := fmt.Sprintf("d%05d", n)
			status, body := r.send("PUT", "/db/"+id, "{}")
			if status == 201 {
				acknowledged[id] = true
			} else if strings.Contains(body, "moved") {
				return
			}
		}
	})
	<-begun

	dir := filepath.Join(t.TempDir(), "target")
	from, err := openPlace(t.Context(), c.URL(), true, false)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	crash := map[kvcopy.Step]bool{kvcopy.Copying: true, kvcopy.Finishing: true}
	said, moved := 0, false
	k := copying{CopyRequest: CopyRequest{To: dir, Databases: []string{"db"}}, from: from.Engine,
		show: func(s copyStep) {
			if s.Step == kvcopy.Comparing {
				r.shows("/_active_tasks", `"type":"copy"`)
				other.shows("/_active_tasks", `"step":"`)
			}
			if crash[s.Step] {
				crash[s.Step] = false
				if err := c.Restart(syscall.SIGQUIT); err != nil {
					t.Error(err)
				}
			}
		},
		tell: func(d Copied) error { moved = d.Moved; return nil },
		say: func(text string) {
			if said++; text != textLost {
				t.Error(text)
			}
		}}
	if err := k.run(context.Background()); err != nil {
		t.Error(err)
	}
	writing.Wait()
	if said != 2 || !moved {
		t.Errorf("it waited %d times; moved %t", said, moved)
	}
	r.shows("/_active_tasks", "[]")
	if err := errors.Join(r.stop(), other.stop()); err != nil {
		t.Error(err)
	}
	r = start(t, Options{Data: dir, User: "adm", Password: "pass"})
	_, body := r.send("GET", "/db/_all_docs", "")
	for id := range acknowledged {
		if !strings.Contains(body, `"id":"`+id+`"`) {
			t.Errorf("%s is lost", id)
		}
	}
}
