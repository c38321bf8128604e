package replicate_test

import (
	"context"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/testkit/apitest"
)

// BenchmarkReplicate carries 50,000 documents of 800 bytes from one server to
// another over the loopback interface; both servers and the task are in this
// process, so that one profile shows where the time of all three goes.
func BenchmarkReplicate(b *testing.B) {
	const documents = 50_000
	for b.Loop() {
		b.StopTimer()
		endpoint := func() (replicate.Address, *apitest.Server) {
			e, err := pebblekv.Open(pebblekv.Options{Dir: b.TempDir(), CacheBytes: 64 << 20})
			must(b, err)
			s := apitest.On(b, e)
			s.OK("PUT", "/db", "")
			h := httptest.NewServer(s)
			b.Cleanup(h.Close)
			transport := replicate.NewTransport(replicate.TransportOptions{})
			b.Cleanup(transport.CloseIdleConnections)
			return replicate.Address{URL: h.URL + "/db", User: "adm", Password: "pass", Transport: transport}, s
		}
		source, s := endpoint()
		target, _ := endpoint()
		for i := 0; i < documents; i += 1000 {
			s.OK("POST", "/db/_bulk_docs", bulkOf(i, i+1000, 760))
		}
		b.StartTimer()
		began, used := time.Now(), cpu(b)
		result, err := (&replicate.Task{ID: "bench", Source: source, Target: target}).Run(context.Background())
		must(b, err)
		if n := result.Stats.DocsWritten; n != documents {
			b.Fatalf("%d documents were written", n)
		}
		b.ReportMetric(documents/time.Since(began).Seconds(), "docs/s")
		b.ReportMetric(documents/(cpu(b)-used).Seconds(), "docs/CPU-s")
	}
}

// cpu is the processor time of this process so far.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
