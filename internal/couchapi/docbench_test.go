package couchapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// sample is a document of about a kilobyte.
var sample = `{"type":"order","total":123.45,"lines":[` +
	strings.Repeat(`{"sku":"A-1000","count":2,"price":9.99,"name":"a thing"},`, 16) + `{}],"note":"deliver"}`

// discard is a ResponseWriter that keeps nothing.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header { return d.header }

func (d *discard) Write(b []byte) (int, error) { return len(b), nil }

func (d *discard) WriteHeader(status int) { d.status = status }

func serve(b *testing.B, a *testAPI, method, target, body string) {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.SetBasicAuth("adm", "pass")
	r.Header.Set("Content-Type", "application/json")
	w := discard{header: http.Header{}}
	a.ServeHTTP(&w, r)
	if w.status >= 300 {
		b.Fatalf("%s %s: %d", method, target, w.status)
	}
}

func BenchmarkGetDocument(b *testing.B) {
	a := newTestAPI(b)
	serve(b, a, "PUT", "/db", "")
	serve(b, a, "PUT", "/db/doc", sample)
	b.ReportAllocs()
	for b.Loop() {
		serve(b, a, "GET", "/db/doc", "")
	}
}

func BenchmarkPutDocument(b *testing.B) {
	a := newTestAPI(b)
	serve(b, a, "PUT", "/db", "")
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		serve(b, a, "PUT", fmt.Sprintf("/db/doc-%08d", n), sample)
	}
}

func BenchmarkBulkDocs500(b *testing.B) {
	a := newTestAPI(b)
	serve(b, a, "PUT", "/db", "")
	body := `{"docs":[` + strings.TrimSuffix(strings.Repeat(sample+",", 500), ",") + `]}`
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		serve(b, a, "POST", "/db/_bulk_docs", body)
	}
}
