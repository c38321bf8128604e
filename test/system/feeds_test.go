package system

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// TestAThousandFeeds opens a thousand continuous feeds; each gets each change.
func TestAThousandFeeds(t *testing.T) {
	const feeds, changes = 1000, 5
	s := process.Start(t, process.Options{})
	c := ask(s)
	c.must(t, 201, "PUT", "/db?partitioned=true", "", nil)
	open := make([]openedFeed, feeds)
	for i := range open {
		path := "/db/_changes?feed=continuous&since=now&heartbeat=true"
		if i%2 == 1 {
			path = "/db/_partition/p/_changes?feed=continuous&since=now&heartbeat=true"
		}
		open[i] = openFeed(t, c, path)
		defer open[i].close()
	}
	for n := range changes {
		c.must(t, 201, "PUT", fmt.Sprintf("/db/p:%d", n), `{}`, nil)
	}
	failures := make([]error, feeds)
	var group sync.WaitGroup
	for i, f := range open {
		group.Go(func() { failures[i] = f.expect(changes, time.Minute) })
	}
	group.Wait()
	for i, err := range failures {
		if err != nil {
			t.Fatalf("feed %d: %v", i, err)
		}
	}
}

// expect reads rows until the documents 0 to count-1 have come in order.
func (f openedFeed) expect(count int, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for n := range count {
		select {
		case line, ok := <-f.lines:
			if !ok {
				return fmt.Errorf("the feed ended before change %d", n)
			}
			var row changesRow
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				return fmt.Errorf("%w: %s", err, line)
			}
			if want := fmt.Sprintf("p:%d", n); row.ID != want {
				return fmt.Errorf("got %s, want %s", row.ID, want)
			}
		case <-timer.C:
			return fmt.Errorf("change %d did not come within %s", n, limit)
		}
	}
	return nil
}
