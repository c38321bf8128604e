package couchapi

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// bounds are the upper bounds of the latency histogram, in seconds.
var bounds = [...]float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// metrics counts requests. Counting is a few atomic additions; what Prometheus
// wants is made of them when it asks.
type metrics struct {
	registry *prometheus.Registry
	api      *API
	disk     func() []Gauge

	classes [classCount]classMetrics
	methods methodMetrics
	feeds   atomic.Int64
	// docReads, docWrites and bulk count what _stats shows under these names.
	docReads, docWrites, bulk atomic.Uint64
	// partitionLists and partitionTimeouts count lists of one partition.
	partitionLists, partitionTimeouts atomic.Uint64
	// partitionViews and partitionViewTimeouts count views of one partition.
	partitionViews, partitionViewTimeouts atomic.Uint64

	requests, latency, open *prometheus.Desc
}

type classMetrics struct {
	status  [600]atomic.Uint64
	buckets [len(bounds) + 1]atomic.Uint64
	micros  atomic.Uint64
}

// methodMetrics counts by method for _stats.
type methodMetrics struct {
	counts [len(countedMethods)]atomic.Uint64
}

var countedMethods = [...]string{"GET", "PUT", "POST", "DELETE", "HEAD", "COPY", "OPTIONS", "PATCH"}

func newMetrics(a *API, disk func() []Gauge) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(), api: a, disk: disk,
		requests: prometheus.NewDesc("sectional_http_requests_total", "Requests answered, by class and status.", []string{"class", "status"}, nil),
		latency:  prometheus.NewDesc("sectional_http_request_seconds", "Time from the request's header to the end of its answer, by class; feeds are left out.", []string{"class"}, nil),
		open:     prometheus.NewDesc("sectional_feeds_open", "Changes feeds that wait at present.", nil, nil),
	}
	m.registry.MustRegister(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// count adds a request that has been answered.
func (m *metrics) count(r *request) {
	class := classServer
	if r.route != nil {
		class = r.route.class
	}
	c := &m.classes[class]
	if r.status > 0 && r.status < len(c.status) {
		c.status[r.status].Add(1)
	}
	for i, name := range countedMethods {
		if name == r.http.Method {
			m.methods.counts[i].Add(1)
			break
		}
	}
	if class != classFeed {
		c.observe(m.api.now().Sub(r.began))
	}
}

func (c *classMetrics) observe(d time.Duration) {
	s := d.Seconds()
	i := 0
	for i < len(bounds) && s > bounds[i] {
		i++
	}
	c.buckets[i].Add(1)
	c.micros.Add(uint64(d.Microseconds()))
}

// Describe implements prometheus.Collector. The numbers of the engine are not
// described: the set may change.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.requests
	ch <- m.latency
	ch <- m.open
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	for class := range classCount {
		m.classes[class].collect(m, class, ch)
	}
	ch <- prometheus.MustNewConstMetric(m.open, prometheus.GaugeValue, float64(m.feeds.Load()))
	gauges := m.expiry()
	if m.disk != nil {
		gauges = append(gauges, m.disk()...)
	}
	for _, g := range gauges {
		kind := prometheus.GaugeValue
		if g.Counter {
			kind = prometheus.CounterValue
		}
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("sectional_"+g.Name, g.Help, nil, nil), kind, g.Value)
	}
}

// expiry returns what has become of documents that say when they expire.
func (m *metrics) expiry() []Gauge {
	expired, unreadable := m.api.store.ExpiryCounts()
	return []Gauge{
		{Name: "documents_expired_total", Help: "Documents over which an expiry wrote a deletion marker.", Value: float64(expired), Counter: true},
		{Name: "documents_expiry_unreadable_total", Help: "Writes of documents of which nobody can read when they expire.", Value: float64(unreadable), Counter: true},
	}
}

func (c *classMetrics) collect(m *metrics, class class, ch chan<- prometheus.Metric) {
	for status := range c.status {
		if n := c.status[status].Load(); n > 0 {
			ch <- prometheus.MustNewConstMetric(m.requests, prometheus.CounterValue, float64(n), class.String(), statusText(status))
		}
	}
	total := uint64(0)
	cumulative := make(map[float64]uint64, len(bounds))
	for i := range c.buckets {
		total += c.buckets[i].Load()
		if i < len(bounds) {
			cumulative[bounds[i]] = total
		}
	}
	if total > 0 {
		ch <- prometheus.MustNewConstHistogram(m.latency, total, float64(c.micros.Load())/1e6, cumulative, class.String())
	}
}

func statusText(status int) string {
	return string([]byte{byte('0' + status/100), byte('0' + status/10%10), byte('0' + status%10)})
}

// feedOpened counts a feed that waits; the returned function ends that.
func (m *metrics) feedOpened() (closed func()) {
	m.feeds.Add(1)
	return func() { m.feeds.Add(-1) }
}
