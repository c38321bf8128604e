package operate

import (
	"bytes"
	"context"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// Numbers are what a server counts of itself since its start.
type Numbers struct {
	Version string             `json:"version"`
	Uptime  time.Duration      `json:"-"`
	Classes map[string]Class   `json:"requests"` // by the class of requests
	Storage map[string]float64 `json:"storage"`  // gauges and counters of the engine, without "sectional_storage_"
	Memory  float64            `json:"resident_bytes"`
	Feeds   float64            `json:"feeds_open"`
}

// Class are the requests of a class.
type Class struct {
	Answered float64 `json:"answered"`
	Refused  float64 `json:"refused"` // with a status of 400 to 499
	Failed   float64 `json:"failed"`  // with 500 and above
	Latency  []Bin   `json:"-"`
}

// Bin is how many requests took no longer than so many seconds.
type Bin struct {
	Seconds float64
	Count   float64
}

// Numbers asks the server for them.
func (s *Server) Numbers(ctx context.Context) (Numbers, error) {
	var text []byte
	if err := s.get(ctx, nil, &text, "_node", "_local", "_prometheus"); err != nil {
		return Numbers{}, err
	}
	var system struct{ Uptime float64 }
	if err := s.get(ctx, nil, &system, "_node", "_local", "_system"); err != nil {
		return Numbers{}, err
	}
	var welcome struct{ Vendor struct{ Version string } }
	if err := s.ask(ctx, http.MethodGet, nil, &welcome); err != nil {
		return Numbers{}, err
	}
	n, err := readNumbers(text)
	n.Version, n.Uptime = welcome.Vendor.Version, time.Duration(system.Uptime*float64(time.Second))
	return n, err
}

// readNumbers takes the numbers out of Prometheus's text.
func readNumbers(text []byte) (Numbers, error) {
	n := Numbers{Classes: map[string]Class{}, Storage: map[string]float64{}}
	var parser expfmt.TextParser
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return n, errAnswer
	}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			n.take(name, m)
		}
	}
	return n, nil
}

// take takes one number.
func (n *Numbers) take(name string, m *dto.Metric) {
	value := m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
	class := label(m, "class")
	c := n.Classes[class]
	switch storage, ok := strings.CutPrefix(name, "sectional_storage_"); {
	case ok:
		n.Storage[storage] = value
		return
	case name == "sectional_http_requests_total":
		c.count(label(m, "status"), value)
	case name == "sectional_http_request_seconds":
		for _, b := range m.GetHistogram().GetBucket() {
			c.Latency = append(c.Latency, Bin{b.GetUpperBound(), float64(b.GetCumulativeCount())})
		}
	case name == "process_resident_memory_bytes":
		n.Memory = value
		return
	case name == "sectional_feeds_open":
		n.Feeds = value
		return
	default:
		return
	}
	n.Classes[class] = c
}

func (c *Class) count(status string, n float64) {
	c.Answered += n
	switch {
	case strings.HasPrefix(status, "4"):
		c.Refused += n
	case strings.HasPrefix(status, "5"):
		c.Failed += n
	}
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// Since returns what came to the numbers after others. A server that began anew in between counts from its start.
func (n Numbers) Since(before Numbers) Numbers {
	if n.Uptime < before.Uptime {
		return n
	}
	later := n
	later.Uptime -= before.Uptime
	later.Classes = map[string]Class{}
	for name, c := range n.Classes {
		b := before.Classes[name]
		c.Answered, c.Refused, c.Failed = c.Answered-b.Answered, c.Refused-b.Refused, c.Failed-b.Failed
		c.Latency = slices.Clone(c.Latency)
		for i := range min(len(c.Latency), len(b.Latency)) {
			c.Latency[i].Count -= b.Latency[i].Count
		}
		later.Classes[name] = c
	}
	return later
}

// Quantile returns in how many seconds a part of the requests were answered, as far as the bins tell; 0 where there were
// none.
func (c Class) Quantile(part float64) float64 {
	if len(c.Latency) == 0 || c.Latency[len(c.Latency)-1].Count == 0 {
		return 0
	}
	wanted := part * c.Latency[len(c.Latency)-1].Count
	low, below := 0.0, 0.0
	for _, b := range c.Latency {
		if b.Count >= wanted && b.Count > below {
			if math.IsInf(b.Seconds, 1) {
				return low
			}
			return low + (b.Seconds-low)*(wanted-below)/(b.Count-below)
		}
		low, below = b.Seconds, b.Count
	}
	return low
}
