package couchhttp

import (
	"sync/atomic"

	"github.com/sectional/sectional/internal/web"
)

// counts are what the metrics and _stats tell of CouchDB's API beside its requests.
type counts struct {
	Feeds atomic.Int64 // that wait
	// docReads, docWrites and bulk count what _stats shows under these names.
	DocReads, DocWrites, Bulk atomic.Uint64
	// PartitionLists and partitionTimeouts count lists of one partition.
	PartitionLists, PartitionTimeouts atomic.Uint64
	// PartitionViews and partitionViewTimeouts count views of one partition.
	PartitionViews, PartitionViewTimeouts atomic.Uint64
}

// FeedOpened counts a feed that waits; the returned function ends that.
func (c *counts) FeedOpened() (closed func()) {
	c.Feeds.Add(1)
	return func() { c.Feeds.Add(-1) }
}

// gauges returns what is being answered, the feeds that wait, and what has become of documents that say when they expire.
func (a *API) gauges() []web.Gauge {
	expired, unreadable := a.Store.ExpiryCounts()
	return []web.Gauge{
		{Name: "http_requests_in_flight", Help: "Requests that are being answered, feeds that wait among them.", Value: float64(a.Metrics.InFlight())},
		{Name: "requests_timed_out_total", Help: "Requests that were ended because they worked for [sectional] request_timeout without sending anything.", Value: float64(a.Metrics.TimedOut()), Counter: true},
		{Name: "slow_queries_total", Help: "Queries that took longer than [log] slow_query.", Value: float64(a.Metrics.SlowQueries()), Counter: true},
		{Name: "requests_limited_total", Help: "Requests that were refused because their user or address asked too often.", Value: float64(a.RateLimited()), Counter: true},
		{Name: "http_bodies_bytes", Help: "Memory that is charged for bodies of requests.", Value: float64(a.ChargedBytes())},
		{Name: "feeds_open", Help: "Changes feeds that wait at present.", Value: float64(a.Stats.Feeds.Load())},
		{Name: "documents_expired_total", Help: "Documents over which an expiry wrote a deletion marker.", Value: float64(expired), Counter: true},
		{Name: "documents_expiry_unreadable_total", Help: "Writes of documents whose expiry can't be read.", Value: float64(unreadable), Counter: true},
	}
}
