package couchapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// sink is a ResponseWriter that costs nothing.
type sink struct {
	header http.Header
	status int
	bytes  int
}

func (s *sink) Header() http.Header { return s.header }

func (s *sink) WriteHeader(status int) { s.status = status }

func (s *sink) Write(p []byte) (int, error) { s.bytes += len(p); return len(p), nil }

func (a *testAPI) bench(b *testing.B, method, target string) {
	b.Helper()
	r := httptest.NewRequest(method, target, nil)
	r.SetBasicAuth("adm", "pass")
	b.ReportAllocs()
	for b.Loop() {
		s := sink{header: http.Header{}}
		a.ServeHTTP(&s, r)
		if s.status != 200 {
			b.Fatalf("status %d", s.status)
		}
	}
}

// BenchmarkFrame measures what every request costs before its handler does
// anything.
func BenchmarkFrame(b *testing.B) { newTestAPI(b).bench(b, "GET", "/_up") }
