package operate

import (
	"math"
	"testing"
	"time"
)

const prometheus = `# TYPE sectional_http_requests_total counter
sectional_http_requests_total{class="query",status="200"} 5
sectional_http_requests_total{class="query",status="404"} 2
sectional_http_requests_total{class="query",status="503"} 1
# TYPE sectional_http_request_seconds histogram
sectional_http_request_seconds_bucket{class="query",le="0.1"} 4
sectional_http_request_seconds_bucket{class="query",le="1"} 6
sectional_http_request_seconds_bucket{class="query",le="+Inf"} 8
sectional_http_request_seconds_sum{class="query"} 20
sectional_http_request_seconds_count{class="query"} 8
# TYPE sectional_storage_disk_bytes gauge
sectional_storage_disk_bytes 1.5e+07
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 1024
`

func TestReadNumbers(t *testing.T) {
	n, err := readNumbers([]byte(prometheus))
	if err != nil {
		t.Fatal(err)
	}
	c := n.Classes["query"]
	if c.Answered != 8 || c.Refused != 2 || c.Failed != 1 || len(c.Latency) != 3 || n.Storage["disk_bytes"] != 1.5e7 || n.Memory != 1024 || len(n.Classes) != 1 {
		t.Errorf("%+v", n)
	}
	for part, want := range map[float64]float64{0: 0, 0.25: 0.05, 0.5: 0.1, 0.75: 1, 0.99: 1} {
		if got := c.Quantile(part); math.Abs(got-want) > 1e-9 {
			t.Errorf("quantile %v is %v, want %v", part, got, want)
		}
	}
	if _, err := readNumbers([]byte("{{{")); err == nil {
		t.Error("what is not Prometheus's text")
	}
}

func TestSince(t *testing.T) {
	before, _ := readNumbers([]byte(prometheus))
	now, _ := readNumbers([]byte(prometheus))
	before.Uptime, now.Uptime = 10*time.Second, 12*time.Second
	c := now.Classes["query"]
	c.Answered += 4
	c.Latency[0].Count += 4
	now.Classes["query"] = c
	got := now.Since(before)
	if d := got.Classes["query"]; got.Uptime != 2*time.Second || d.Answered != 4 || d.Refused != 0 || d.Latency[0].Count != 4 || d.Latency[2].Count != 0 {
		t.Errorf("%+v", got)
	}
	if now.Classes["query"].Latency[2].Count != 8 {
		t.Error("the numbers themselves changed")
	}
	before.Uptime = time.Hour // the server began anew
	if got := now.Since(before); got.Uptime != 12*time.Second || got.Classes["query"].Answered != 12 {
		t.Errorf("%+v", got)
	}
}
