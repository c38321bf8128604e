package admin

import (
	"bytes"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
)

// metric is a leaf of the tree that _stats shows.
type metric struct {
	Value any    `json:"value"`
	Type  string `json:"type"`
	Desc  string `json:"desc"`
}

// branch is an inner node of the tree.
type branch map[string]any

// statsTree returns the numbers under CouchDB's names.
func statsTree(a *couchhttp.API) branch {
	m, c := a.Metrics, &a.Stats
	statuses, methods := branch{}, branch{}
	requests := uint64(0)
	for _, status := range []int{200, 201, 202, 204, 206, 301, 302, 304, 400, 401, 403, 404, 405, 406, 409, 410, 412, 413, 414, 415, 416, 417, 500, 501, 503} {
		statuses[strconv.Itoa(status)] = counter(m.ByStatus(status), "number of HTTP "+strconv.Itoa(status)+" "+http.StatusText(status)+" responses")
	}
	for name, n := range m.ByMethod() {
		requests += n
		methods[name] = counter(n, "number of HTTP "+name+" requests")
	}
	return branch{
		"couchdb": branch{
			"httpd": branch{
				"requests":                    counter(requests, "number of HTTP requests"),
				"bulk_requests":               counter(c.Bulk.Load(), "number of bulk requests"),
				"clients_requesting_changes":  metric{c.Feeds.Load(), "counter", "number of clients for continuous _changes"},
				"partition_all_docs_requests": counter(c.PartitionLists.Load(), "number of partition HTTP _all_docs requests"),
				"partition_view_requests":     counter(c.PartitionViews.Load(), "number of partition HTTP view requests"),
				"partition_view_timeouts":     counter(c.PartitionViewTimeouts.Load(), "number of partition HTTP view requests that took too long"),
				"partition_all_docs_timeouts": counter(c.PartitionTimeouts.Load(), "number of partition HTTP _all_docs requests that took too long"),
			},
			"httpd_request_methods": methods,
			"httpd_status_codes":    statuses,
			"database_reads":        counter(c.DocReads.Load(), "number of times a document was read from a database"),
			"document_writes":       counter(c.DocWrites.Load(), "number of document write operations"),
		},
	}
}

func counter(n uint64, desc string) metric { return metric{n, "counter", desc} }

// nodeStats answers GET …/_stats and what lies below.
func nodeStats(r *couchhttp.Request) error {
	var at any = statsTree(r.API)
	for name := range strings.SplitSeq(r.Arg("name"), "/") {
		if name == "" {
			continue
		}
		b, ok := at.(branch)
		if ok {
			at, ok = b[name]
		}
		if !ok {
			return dberr.New(dberr.NotFound, "not_found", "missing")
		}
	}
	return r.Marshal(http.StatusOK, at)
}

// nodeSystem answers GET …/_system with what the process knows of itself.
func nodeSystem(r *couchhttp.Request) error {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	return r.Marshal(http.StatusOK, map[string]any{
		"uptime":                   int64(r.API.Now().Sub(r.API.Began).Seconds()),
		"memory":                   map[string]uint64{"heap": mem.HeapAlloc, "stack": mem.StackInuse, "other": mem.OtherSys, "total": mem.Sys},
		"run_queue":                0,
		"process_count":            runtime.NumGoroutine(),
		"process_limit":            0,
		"garbage_collection_count": mem.NumGC,
		"processors":               runtime.GOMAXPROCS(0),
	})
}

// nodePrometheus answers GET …/_prometheus.
func nodePrometheus(r *couchhttp.Request) error {
	var b bytes.Buffer
	if err := r.API.Metrics.WriteText(&b); err != nil {
		return err
	}
	return r.Bytes(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", b.Bytes())
}

// goVersion reports what the binary was built with.
func goVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.GoVersion
	}
	return runtime.Version()
}
