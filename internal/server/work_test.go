package server

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	collected "go.opentelemetry.io/proto/otlp/trace/v1"
)

// working has a server do all kinds of background work on databases of a name with a number: builds and batches of indexes, a replication,
// deliveries to a receiver.
func working(r *running, receiver string, n int) {
	r.t.Helper()
	name := fmt.Sprint("work", n)
	for _, q := range [][3]string{
		{"PUT", "/" + name, ""},
		{"PUT", "/" + name + "/before", `{"member":"` + secret + `"}`},
		{"PUT", "/" + name + "/_design/d", `{"views":{"v":{"map":"function(doc){ emit(doc.member) }"}}}`},
		{"POST", "/" + name + "/_index", `{"index":{"fields":["member"]}}`},
		{"PUT", "/" + name + "/_subscriptions/s" + secret, `{"url":"` + receiver + `?` + secret + `","secret":"` + secret + `1234567890123456"}`},
		{"PUT", "/" + name + "/after" + secret, `{"member":"` + secret + `"}`},
		{"POST", "/_replicate", `{"source":"` + name + `","target":"copy` + name + `","create_target":true}`},
	} {
		if status, body, _ := r.ask(q[0], q[1], q[2], "adm", "pass", nil); status/100 != 2 {
			r.t.Fatal(q[1], status, body)
		}
	}
}

// receiver takes deliveries.
func receiver(t *testing.T, status int) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, secret)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// metric returns a number of a server.
func (r *running) metric(name string) float64 {
	r.t.Helper()
	_, text := r.get("/_node/_local/_prometheus", "adm", "pass")
	m := regexp.MustCompile(`(?m)^sectional_` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		return -1
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

// until waits until a number of a server is what is asked for.
func (r *running) until(name string, is func(float64) bool) {
	r.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		v := r.metric(name)
		if is(v) {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s is %v", name, v)
		}
	}
}

// TestWorkMetrics has background work done, and counts it; more databases make no more series.
func TestWorkMetrics(t *testing.T) {
	t.Parallel()
	r := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass", Config: configured(t, "[subscriptions]\nallow_private = true\n")})
	series := func() int {
		_, text := r.get("/_node/_local/_prometheus", "adm", "pass")
		n := 0
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "sectional_") && !strings.HasPrefix(line, "sectional_http") {
				n++
			}
		}
		return n
	}
	working(r, receiver(t, 200), 0)
	r.until("subscriptions_delivered_total", func(v float64) bool { return v >= 1 })
	r.until("replications_last_success_seconds", func(v float64) bool { return v > 1e9 })
	before := series()
	for n := range 5 {
		working(r, receiver(t, 500), n+1)
	}
	r.until("subscriptions_failed_total", func(v float64) bool { return v >= 5 })
	r.until("indexes_changes_behind", func(v float64) bool { return v == 0 })
	r.until(`jobs_due{pool="index"}`, func(v float64) bool { return v == 0 })
	if after := series(); after != before {
		t.Errorf("%d series with one database, %d with 12", before, after)
	}
	if got := r.metric("replications_completed_total"); got != 6 {
		t.Errorf("%v replications completed", got)
	}
	if got := r.metric("replications_documents_written_total"); got < 6*4 || got != r.metric("replications_documents_read_total") {
		t.Errorf("%v documents written", got)
	}
	for _, name := range []string{`jobs_turns_total{pool="index"}`, `jobs_turns_total{pool="deliver"}`, "subscriptions_changes_delivered_total"} {
		if r.metric(name) < 1 {
			t.Errorf("%s is %v", name, r.metric(name))
		}
	}
	for _, name := range []string{"replications_running", "replications_crashing", "indexes_building", "subscriptions_dead_letters_total"} {
		if r.metric(name) != 0 {
			t.Errorf("%s is %v", name, r.metric(name))
		}
	}
	r.ask("PUT", "/_replicator/one", `{"source":"http://127.0.0.1:1/x","target":"work0","continuous":true,"retries_per_request":0}`, "adm", "pass", nil)
	r.until("replications_crashing", func(v float64) bool { return v == 1 })
	r.until("replications_failures_total", func(v float64) bool { return v >= 1 })
}

// TestBackgroundTraces has background work traced: which spans there are, of which traces, what links them, and that they have nothing of documents.
func TestBackgroundTraces(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	r := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass", DynamoDB: "127.0.0.1:0", DynamoDBOpen: true,
		Config: configured(t, "[subscriptions]\nallow_private = true\n[tracing]\nendpoint = "+c.URL+"\n")})
	working(r, receiver(t, 500), 0)
	r.dynamoDB("PutItem", `{"TableName":"Music","Item":{"id":{"S":"`+secret+`"}}}`)
	var spans []*collected.Span
	var raw []byte
	wanted := []string{"job index/build", "index.batch", "job index/follow", "replication", "replication.batch", "job deliver/subscription", "subscription.deliver", "PutItem"}
	named := func(name string) *collected.Span {
		if i := slices.IndexFunc(spans, func(s *collected.Span) bool { return s.Name == name }); i >= 0 {
			return spans[i]
		}
		return nil
	}
	for slices.ContainsFunc(wanted, func(name string) bool { return named(name) == nil }) {
		more, text := c.until(t, "")
		spans, raw = append(spans, more...), append(raw, text...)
	}
	if bytes.Contains(raw, []byte(secret)) {
		t.Error("spans have what was sent")
	}
	byID := map[string]*collected.Span{}
	for _, s := range spans {
		byID[string(s.SpanId)] = s
	}
	for name, of := range map[string][]string{"replication.batch": {"replication"}, "subscription.deliver": {"job deliver/subscription", "job redeliver/subscription"}} {
		s := named(name)
		if len(s.Links) != 1 || len(s.ParentSpanId) != 0 {
			t.Fatalf("%s has %d links, and is below %s", name, len(s.Links), hex.EncodeToString(s.ParentSpanId))
		}
		if to := byID[string(s.Links[0].SpanId)]; to != nil && (!slices.Contains(of, to.Name) || bytes.Equal(to.TraceId, s.TraceId)) {
			t.Errorf("%s is linked to %s", name, to.Name)
		}
	}
	if got := about(named("subscription.deliver")); got["db.namespace"] != "work0" || got["sectional.outcome"] != "failed" || got["sectional.changes"] == "0" {
		t.Error(got)
	}
	if s := named("PutItem"); about(s)["db.collection.name"] != "Music" || about(s)["db.operation.name"] != "PutItem" {
		t.Error(about(s))
	}
}

// about returns the attributes of a span.
func about(s *collected.Span) map[string]string {
	m := map[string]string{}
	for _, a := range s.Attributes {
		if m[a.Key] = a.Value.GetStringValue(); m[a.Key] == "" {
			m[a.Key] = strconv.FormatInt(a.Value.GetIntValue(), 10)
		}
	}
	return m
}

// TestTraceparentOfStrangers has nothing sampled, and clients who want to be recorded: those who are somebody are.
func TestTraceparentOfStrangers(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	r := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass", Config: configured(t, "[tracing]\nendpoint = "+c.URL+"\nsample = 0\n")})
	wants := func(trace string) http.Header {
		return http.Header{"Traceparent": {"00-" + trace + "-" + clientSpan + "-01"}}
	}
	r.ask("GET", "/", "", "", "", wants(traceNot))
	r.ask("GET", "/db", "", "adm", "wrong", wants(traceNot))
	r.ask("POST", "/_session", `{"name":"adm","password":"wrong"}`, "", "", wants(traceNot))
	r.ask("PUT", "/db", "", "adm", "pass", nil)
	r.ask("PUT", "/db/a", "{}", "adm", "pass", wants(tracePut))
	r.ask("GET", "/db/a", "", "adm", "pass", wants(traceGet))
	spans, _ := c.until(t, "GET /{db}/{id}")
	if got := paths(spans, traceNot); got != nil {
		t.Errorf("strangers are recorded: %q", got)
	}
	put := clientSpan + " > PUT /{db}/{id}"
	if got, want := paths(spans, tracePut), []string{put, put + " > admit", put + " > authenticate", put + " > commit", put + " > commit > engine.update"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, s := range spans {
		if trace := hex.EncodeToString(s.TraceId); trace != tracePut && trace != traceGet {
			t.Errorf("%s of %s is recorded", s.Name, trace)
		}
	}
}
