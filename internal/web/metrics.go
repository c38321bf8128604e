package web

import (
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
)

// bounds are the upper bounds of the latency histogram, in seconds.
var bounds = [...]float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// Metrics counts requests. Counting is a few atomic additions; what Prometheus
// wants is made of them when it asks.
type Metrics struct {
	registry *prometheus.Registry
	classes  []*Class
	gauges   []func() []Gauge
	methods  [len(countedMethods)]atomic.Uint64
	inFlight atomic.Int64
	slow     atomic.Uint64
	overtime atomic.Uint64 // requests that worked too long

	requests, latency *prometheus.Desc
}

// Gauge is a number that some part of the server reports of itself.
type Gauge struct {
	Name, Help string // Name without "sectional_"
	Counter    bool
	Value      float64
	// Label and Of tell apart several of one name, of which each has the label; Of is one of a few words of the server's
	// own, never a name that somebody made. "": there is but one.
	Label, Of string
}

// Level is a figure that may fall.
func Level(name, help string, v float64) Gauge { return Gauge{Name: name, Help: help, Value: v} }

// Count is a figure that only grows.
func Count(name, help string, v float64) Gauge {
	return Gauge{Name: name, Help: help, Value: v, Counter: true}
}

// Class counts the requests of routes that are alike.
type Class struct {
	name    string
	untimed bool
	status  [600]atomic.Uint64
	buckets [len(bounds) + 1]atomic.Uint64
	micros  atomic.Uint64
}

var countedMethods = [...]string{"GET", "PUT", "POST", "DELETE", "HEAD", "COPY", "OPTIONS", "PATCH"}

func newMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewDesc("sectional_http_requests_total", "Requests answered, by class and status.", []string{"class", "status"}, nil),
		latency:  prometheus.NewDesc("sectional_http_request_seconds", "Time from the request's header to the end of its answer, by class; feeds are left out.", []string{"class"}, nil),
	}
	m.registry.MustRegister(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Class makes a class of a name of its own. Of a feed nobody wants to know how long it took: untimed. Classes and
// gauges are made before the first request.
func (m *Metrics) Class(name string, untimed bool) *Class {
	c := &Class{name: name, untimed: untimed}
	m.classes = append(m.classes, c)
	return c
}

// Gauges adds numbers to what WriteText writes. The set may change from call to call; nil adds none.
func (m *Metrics) Gauges(read func() []Gauge) {
	if read != nil {
		m.gauges = append(m.gauges, read)
	}
}

// WriteText writes all numbers in the text form of Prometheus.
func (m *Metrics) WriteText(w io.Writer) error {
	families, err := m.registry.Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
			return err
		}
	}
	return nil
}

// InFlight returns how many requests are being answered, feeds that wait among them.
func (m *Metrics) InFlight() int64 { return m.inFlight.Load() }

// SlowQueries returns how many queries took so long that they were logged.
func (m *Metrics) SlowQueries() uint64 { return m.slow.Load() }

// TimedOut returns how many requests were ended because they worked too long.
func (m *Metrics) TimedOut() uint64 { return m.overtime.Load() }

// count adds a request that has been answered.
func (m *Metrics) count(c *Class, method string, status int, took time.Duration) {
	if status > 0 && status < len(c.status) {
		c.status[status].Add(1)
	}
	for i, name := range countedMethods {
		if name == method {
			m.methods[i].Add(1)
			break
		}
	}
	if !c.untimed {
		c.observe(took)
	}
}

// ByStatus returns how many requests were answered with a status.
func (m *Metrics) ByStatus(status int) (n uint64) {
	for _, c := range m.classes {
		n += c.status[status].Load()
	}
	return n
}

// ByMethod returns how many requests had each of the methods that are counted.
func (m *Metrics) ByMethod() map[string]uint64 {
	counts := map[string]uint64{}
	for i, name := range countedMethods {
		counts[name] = m.methods[i].Load()
	}
	return counts
}

func (c *Class) observe(d time.Duration) {
	s := d.Seconds()
	i := 0
	for i < len(bounds) && s > bounds[i] {
		i++
	}
	c.buckets[i].Add(1)
	c.micros.Add(uint64(d.Microseconds()))
}

// Describe implements prometheus.Collector. Gauges are not described: the set may change.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.requests
	ch <- m.latency
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.classes {
		c.collect(m, ch)
	}
	for _, read := range m.gauges {
		for _, g := range read() {
			kind := prometheus.GaugeValue
			if g.Counter {
				kind = prometheus.CounterValue
			}
			if g.Label == "" {
				ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("sectional_"+g.Name, g.Help, nil, nil), kind, g.Value)
			} else {
				ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("sectional_"+g.Name, g.Help, []string{g.Label}, nil), kind, g.Value, g.Of)
			}
		}
	}
}

func (c *Class) collect(m *Metrics, ch chan<- prometheus.Metric) {
	for status := range c.status {
		if n := c.status[status].Load(); n > 0 {
			ch <- prometheus.MustNewConstMetric(m.requests, prometheus.CounterValue, float64(n), c.name, strconv.Itoa(status))
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
		ch <- prometheus.MustNewConstHistogram(m.latency, total, float64(c.micros.Load())/1e6, cumulative, c.name)
	}
}
