package replicate_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
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

// TestPartitionMadeAnewUnderWay drops the partition that a replication writes to
// when the first batch is there, and makes it again: no checkpoint says that the
// batch is there, and the next run brings it.
func TestPartitionMadeAnewUnderWay(t *testing.T) {
	for endpoint, id := range map[string]string{"p/_partition/x": "x:", "p/_owner/x": ""} {
		t.Run(endpoint, func(t *testing.T) {
			w := newWorld(t)
			w.OK("PUT", "/p?partitioned=true", "")
			for _, n := range []string{"1", "2", "3"} {
				w.OK("PUT", "/a/"+id+n, "{}")
			}
			// A replication into a partition that holds nothing yet ends well.
			w.run(&replicate.Task{ID: "first", Source: w.at("a"), Target: w.at(endpoint)})
			w.OK("DELETE", "/p/_partition/x", "")
			must(t, w.Store.Sweep(t.Context()))
			w.run(&replicate.Task{ID: "first", Source: w.at("a"), Target: w.at(endpoint)})
			w.OK("PUT", "/a/"+id+"4", "{}")
			dropped := false
			target := w.at(endpoint)
			target.Transport = &replicate.Local{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				w.ServeHTTP(rw, r)
				if !dropped && strings.HasSuffix(r.URL.Path, "/_bulk_docs") {
					dropped = true
					w.OK("DELETE", "/p/_partition/x", "")
					must(t, w.Store.Sweep(t.Context()))
					w.OK("PUT", "/p/x:new", "{}")
				}
			})}
			task := &replicate.Task{ID: "first", Source: w.at("a"), Target: target}
			var e *dberr.Error
			if _, err := task.Run(t.Context()); !errors.As(err, &e) || e.Code != "restarted" || !dropped {
				t.Errorf("the run whose target was dropped (%v) ended with %v", dropped, err)
			}
			w.run(task)
			for _, n := range []string{"1", "2", "3", "4", "new"} {
				w.OK("GET", "/p/x:"+n, "")
			}
		})
	}
}
