package server

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	collected "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Names of traces and spans of clients.
const (
	tracePut, traceGet, traceNot, traceMissing = "0af7651916cd43dd8448eb211c80319c", "1af7651916cd43dd8448eb211c80319c", "2af7651916cd43dd8448eb211c80319c", "3af7651916cd43dd8448eb211c80319c"
	clientSpan                                 = "b7ad6b7169203331"
)

// collector takes what is sent to it.
type collector struct {
	*httptest.Server
	batches chan []byte
}

func newCollector(t *testing.T) *collector {
	c := &collector{batches: make(chan []byte, 100)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		c.batches <- body
	}))
	t.Cleanup(c.Close)
	return c
}

// until returns the spans that come until one has a name, "" for a batch of them, and the bytes they came as.
func (c *collector) until(t *testing.T, last string) (spans []*collected.Span, raw []byte) {
	for {
		batch := <-c.batches
		raw = append(raw, batch...)
		var d collected.TracesData
		if err := proto.Unmarshal(batch, &d); err != nil {
			t.Fatal(err)
		}
		for _, r := range d.ResourceSpans {
			for _, s := range r.ScopeSpans {
				spans = append(spans, s.Spans...)
			}
		}
		if last == "" || slices.ContainsFunc(spans, func(s *collected.Span) bool { return s.Name == last }) {
			return spans, raw
		}
	}
}

// paths returns the spans of a trace by their names, from the request's down, each once.
func paths(spans []*collected.Span, trace string) (paths []string) {
	byID := map[string]*collected.Span{}
	for _, s := range spans {
		byID[string(s.SpanId)] = s
	}
	var path func(s *collected.Span) string
	path = func(s *collected.Span) string {
		if above := byID[string(s.ParentSpanId)]; above != nil {
			return path(above) + " > " + s.Name
		}
		return hex.EncodeToString(s.ParentSpanId) + " > " + s.Name
	}
	for _, s := range spans {
		if hex.EncodeToString(s.TraceId) == trace {
			paths = append(paths, path(s))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// attributes returns those of the span of a trace that a client's is above.
func attributes(spans []*collected.Span, trace string) map[string]string {
	m := map[string]string{}
	for _, s := range spans {
		if hex.EncodeToString(s.TraceId) == trace && hex.EncodeToString(s.ParentSpanId) == clientSpan {
			for _, a := range s.Attributes {
				m[a.Key] = a.Value.GetStringValue()
				if m[a.Key] == "" {
					m[a.Key] = http.StatusText(int(a.Value.GetIntValue()))
				}
			}
		}
	}
	return m
}

// TestTraces has requests traced, by an engine in memory: what spans there are, what is above them, what they say, and that
// they have nothing of what was sent.
func TestTraces(t *testing.T) {
	t.Parallel()
	const who = "Ayla"
	c := newCollector(t)
	r := start(t, Options{Data: t.TempDir(), User: who, Password: "pass", DynamoDB: "127.0.0.1:0", DynamoDBOpen: true, Config: configured(t, "[tracing]\nendpoint = "+c.URL+"\n[log]\nrequests = true\n")})
	for _, q := range secretive {
		r.ask(q.method, q.path, q.body, who, "pass", proving(http.Header{"X-Couch-Request-Id": {secret}, "Tracestate": {"a=" + secret}, "Traceparent": {secret}}))
	}
	r.ask(secret, "/db/p:"+secret, "", who, secret, nil)
	r.dynamoDB("PutItem", `{"TableName":"none","Item":{"id":{"S":"`+secret+`"}}}`)
	r.dynamoDB(secret, `{}`)
	for _, q := range []struct{ method, path, trace, flag string }{
		{"PUT", "/db/p:a", tracePut, "01"}, {"GET", "/db/p:a", traceGet, "01"}, {"GET", "/db/p:a", traceNot, "00"}, {"GET", "/db/p:none", traceMissing, "01"},
	} {
		r.ask(q.method, q.path, "{}", who, "pass", http.Header{"Traceparent": {"00-" + q.trace + "-" + clientSpan + "-" + q.flag}})
	}
	r.ask("GET", "/_uuids", "", who, "pass", nil)
	spans, raw := c.until(t, "GET /_uuids")
	if bytes.Contains(raw, []byte(secret)) || bytes.Contains(raw, []byte(who)) {
		t.Error("spans have what was sent, or who did")
	}
	put, get := clientSpan+" > PUT /{db}/{id}", clientSpan+" > GET /{db}/{id}"
	for _, want := range []struct {
		trace string
		paths []string
	}{
		{tracePut, []string{put, put + " > admit", put + " > authenticate", put + " > commit", put + " > commit > engine.update"}},
		{traceGet, []string{get, get + " > admit", get + " > authenticate", get + " > engine.view"}},
		{traceMissing, []string{get, get + " > admit", get + " > authenticate", get + " > engine.view"}},
		{traceNot, nil},
	} {
		if d := cmp.Diff(want.paths, paths(spans, want.trace)); d != "" {
			t.Error(d)
		}
	}
	about := map[string]string{"http.request.method": "PUT", "http.route": "/{db}/{id}", "http.response.status_code": "Created", "db.namespace": "db", "sectional.partition": "p"}
	if d := cmp.Diff(about, attributes(spans, tracePut)); d != "" {
		t.Error(d)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains([]byte(r.log.String()), []byte("trace="+tracePut)) {
		t.Error("the log does not name the trace")
	}
}

// TestTracesOverPostgreSQL has the round trips of reads below the engine's spans.
func TestTracesOverPostgreSQL(t *testing.T) {
	c := newCollector(t)
	r := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass", Store: ownDatabase(t), Config: configured(t, "[tracing]\nendpoint = "+c.URL+"\n")})
	r.ask("PUT", "/db", "", "adm", "pass", nil)
	for _, q := range [][2]string{{"PUT", tracePut}, {"GET", traceGet}} {
		r.ask(q[0], "/db/a", "{}", "adm", "pass", http.Header{"Traceparent": {"00-" + q[1] + "-" + clientSpan + "-01"}})
	}
	r.ask("GET", "/_uuids", "", "adm", "pass", nil)
	spans, _ := c.until(t, "GET /_uuids")
	for trace, want := range map[string]string{tracePut: " > PUT /{db}/{id} > commit > engine.update > engine.read", traceGet: " > GET /{db}/{id} > engine.view > engine.read"} {
		if got := paths(spans, trace); !slices.Contains(got, clientSpan+want) {
			t.Errorf("%q has no %s", got, want)
		}
	}
}

// TestCollectorHangs has a collector that answers nobody: requests and the end of the server do not wait for it.
func TestCollectorHangs(t *testing.T) {
	t.Parallel()
	free, asked := make(chan struct{}), make(chan struct{}, 100)
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-free
	}))
	defer hanging.Close()
	defer close(free)
	r := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass", Config: configured(t, "[tracing]\nendpoint = "+hanging.URL+"/other\n")})
	r.ask("PUT", "/db", "", "adm", "pass", nil)
	<-asked
	for range 10 {
		if status, body, _ := r.ask("GET", "/db", "", "adm", "pass", nil); status != 200 {
			t.Fatal(status, body)
		}
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
}
