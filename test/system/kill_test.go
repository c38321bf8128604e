package system

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// errDown says that a request got no answer: the server was killed, and what the request wanted may or may not be
// done. It is the only thing that ends a writer.
var errDown = errors.New("no answer")

// writer is one client under load. step makes one request and notes what the server acknowledged; verify holds the
// restarted server to it and takes over what the request in flight has left behind.
type writer interface {
	step(c *client) error
	verify(c *client) error
}

// TestKillUnderLoad kills the server with SIGKILL in the middle of writes of every kind, again and again on the same
// data. Afterwards the offline check finds nothing, every acknowledged write is there, what was in flight is there
// whole or not at all, and no sequence that a reader saw belongs to another change.
func TestKillUnderLoad(t *testing.T) {
	rounds := 5 // how often it is killed
	if testrun.IsLong() {
		rounds = 50
	}
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(7, 11))
	writers := []writer{
		newDocuments("ordinary", 1), newDocuments("ordinary", 2), newDocuments("divided", 3), newDocuments("divided", 4),
		newBulks("divided", 1), newBulks("ordinary", 2),
		newBatches(1), newBatches(2),
		newFiles("divided", 1), newFiles("ordinary", 2),
		newDrops(), newPartitionDrops(),
	}
	seen := newSequences()
	for round := range rounds {
		s := process.Start(t, process.Options{Dir: dir})
		c := ask(s)
		if round == 0 {
			c.must(t, 201, "PUT", "/ordinary", "", nil)
			c.must(t, 201, "PUT", "/divided?partitioned=true", "", nil)
		}
		for _, w := range writers {
			if err := w.verify(c); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if err := seen.verify(c); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := loadAndKill(t, s, writers, seen, 150+random.Int64N(400)); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		check(t, dir)
	}
	c := ask(process.Start(t, process.Options{Dir: dir}))
	for _, w := range writers {
		if err := w.verify(c); err != nil {
			t.Fatalf("at the end: %v", err)
		}
	}
	if err := seen.verify(c); err != nil {
		t.Fatalf("at the end: %v", err)
	}
	if len(seen.changes) < rounds*50 {
		t.Errorf("the readers of the feed saw only %d changes", len(seen.changes))
	}
}

// loadAndKill lets all writers write until so many requests were acknowledged, and kills the server in the midst.
func loadAndKill(t *testing.T, s *process.Server, writers []writer, seen *sequences, acknowledged int64) error {
	var count atomic.Int64
	enough := make(chan struct{})
	failures := make([]error, len(writers))
	var group sync.WaitGroup
	for i, w := range writers {
		c := ask(s)
		group.Go(func() {
			for failures[i] == nil {
				if failures[i] = w.step(c); failures[i] == nil && count.Add(1) == acknowledged {
					close(enough)
				}
			}
		})
	}
	readers := seen.follow(t, ask(s))
	timer := time.NewTimer(2 * time.Minute)
	defer timer.Stop()
	var err error
	select {
	case <-enough:
	case <-timer.C:
		err = fmt.Errorf("only %d of %d requests were acknowledged in two minutes", count.Load(), acknowledged)
	}
	err = errors.Join(err, s.Kill())
	group.Wait()
	for _, failure := range failures {
		if !errors.Is(failure, errDown) {
			err = errors.Join(err, failure)
		}
	}
	return errors.Join(err, readers())
}

// sent does a request and sorts its outcome: errDown where there was no whole answer, an error where the status is
// not among the wanted ones.
func (c *client) sent(method, path string, body []byte, want ...int) (answer []byte, err error) {
	status, answer, err := c.do(method, path, body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDown, err)
	}
	for _, w := range want {
		if status == w {
			return answer, nil
		}
	}
	return nil, fmt.Errorf("%s %s answered %d: %.300s", method, path, status, answer)
}
