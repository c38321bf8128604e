package replicate_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/sectional/sectional/internal/replicate"
)

// TestDropUnderWay replicates into a database one of whose partitions is being
// dropped: what it takes none of for the moment comes when it does.
func TestDropUnderWay(t *testing.T) {
	w := newWorld(t)
	w.OK("PUT", "/p?partitioned=true", "")
	w.OK("PUT", "/p/x:1", "{}")
	w.OK("DELETE", "/p/_partition/x?tombstones=true", "")
	w.OK("PUT", "/a/x:2", "{}")
	w.OK("PUT", "/a/x:3/file", "some bytes", "Content-Type", "text/plain")
	w.OK("PUT", "/a/y:4", "{}")
	for _, alone := range []bool{false, true} {
		task := &replicate.Task{ID: "test", Source: w.at("a"), Target: w.at("p"), NoBulkGet: alone}
		task.Target.Retries = -1
		var e *replicate.PeerError
		if _, err := task.Run(t.Context()); !errors.As(err, &e) || e.Status != http.StatusServiceUnavailable {
			t.Errorf("while the partition is being dropped (alone: %v): %v", alone, err)
		}
	}
	must(t, w.Store.Sweep(t.Context()))
	w.run(&replicate.Task{ID: "test", Source: w.at("a"), Target: w.at("p")})
	for _, path := range []string{"/p/x:2", "/p/x:3/file", "/p/y:4"} {
		w.OK("GET", path, "")
	}
}
