package tracing

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	collected "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// newTracer returns a tracer of everything for a collector.
func newTracer(t *testing.T, endpoint string) *Tracer {
	t.Helper()
	tracer, err := New(Options{Endpoint: endpoint, Sample: 1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

// TestFullQueue has a collector hang while more spans end than may wait: nobody waits, what has no room is lost, and
// what had arrives.
func TestFullQueue(t *testing.T) {
	t.Parallel()
	const all = 5 * queueLength
	free := make(chan struct{})
	var mu sync.Mutex
	came := 0
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		<-free
		var d collected.TracesData
		if err != nil || proto.Unmarshal(body, &d) != nil || q.URL.Path != "/v1/traces" {
			t.Error("no spans", q.URL.Path, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, r := range d.ResourceSpans {
			for _, s := range r.ScopeSpans {
				came += len(s.Spans)
			}
		}
	}))
	defer collector.Close()
	tracer := newTracer(t, collector.URL)
	for range all {
		_, span, _ := tracer.Request(context.Background(), nil)
		span.Answered(Answer{Method: "GET"})
	}
	close(free)
	if err := tracer.provider.ForceFlush(context.Background()); err != nil {
		t.Fatal(err)
	}
	tracer.Close()
	ended, sent, failed := tracer.Counts()
	if most := int64(queueLength + 2*batchLength); ended != all || sent == 0 || sent > most || failed != 0 || sent != int64(came) {
		t.Errorf("%d ended, %d sent, %d failed, %d came", ended, sent, failed, came)
	}
}

// TestAway has nobody listen: spans are counted as sent in vain.
func TestAway(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	gone.Close()
	for _, url := range []string{gone.URL, refusing.URL} {
		tracer := newTracer(t, url)
		_, span, _ := tracer.Request(context.Background(), nil)
		span.End(nil)
		_ = tracer.provider.ForceFlush(context.Background())
		tracer.Close()
		if ended, sent, failed := tracer.Counts(); ended != 1 || sent != 0 || failed != 1 {
			t.Errorf("%d ended, %d sent, %d failed", ended, sent, failed)
		}
	}
}

// TestMostSpans begins more spans than a request may have.
func TestMostSpans(t *testing.T) {
	t.Parallel()
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer collector.Close()
	tracer := newTracer(t, collector.URL)
	defer tracer.Close()
	ctx, root, _ := tracer.Request(context.Background(), nil)
	for range 2 * maxSpans {
		_, span := Begin(ctx, "step")
		span.End(nil)
	}
	root.End(nil)
	if ended, _, _ := tracer.Counts(); ended != maxSpans {
		t.Errorf("%d spans", ended)
	}
}

// TestUntraced asks for spans where there is none above: nothing is done, and nothing allocated.
func TestUntraced(t *testing.T) {
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() {
		inner, span := Begin(ctx, "step")
		span.End(nil)
		if inner != ctx || span.Recorded() || span.In(ctx) != ctx {
			t.Error("a span")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSampling has the sampling leave everything out: what clients say gets them a wish, that somebody else grants.
func TestSampling(t *testing.T) {
	t.Parallel()
	tracer, err := New(Options{Endpoint: "http://127.0.0.1:1", Sample: 0, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer tracer.Close()
	const of = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"
	for _, c := range []struct {
		headers []string
		want    bool
	}{{nil, false}, {[]string{"00-" + of + "-00"}, false}, {[]string{"00-" + of + "-01"}, true}, {[]string{"00-" + of + "-01", "x"}, false}, {[]string{"nonsense"}, false}} {
		_, span, wish := tracer.Request(context.Background(), c.headers)
		if span.Recorded() || (wish != nil) != c.want {
			t.Errorf("%q: recorded %v, wish %v", c.headers, span.Recorded(), wish)
		}
		if wish == nil {
			continue
		}
		if ctx, span := wish.Grant(context.Background(), time.Now()); span.TraceID() != of[:32] {
			t.Errorf("%q: a trace of %s", c.headers, span.TraceID())
		} else if _, step := Begin(ctx, "step"); !step.Recorded() {
			t.Errorf("%q: its steps are not recorded", c.headers)
		}
	}
}

// TestSampledNames has clients choose names of traces, of which a share is sampled: the names have no part in it.
func TestSampledNames(t *testing.T) {
	t.Parallel()
	tracer, err := New(Options{Endpoint: "http://127.0.0.1:1", Sample: 0.5, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer tracer.Close()
	for _, name := range []string{"00000000000000000000000000000001", "ffffffffffffffffffffffffffffffff"} {
		recorded := 0
		for range 1000 {
			if _, span, _ := tracer.Request(context.Background(), []string{"00-" + name + "-b7ad6b7169203331-01"}); span.Recorded() {
				recorded++
			}
		}
		if recorded < 300 || recorded > 700 {
			t.Errorf("%s: %d of 1000", name, recorded)
		}
	}
}

// TestWork has a job of several pieces: each is a trace of its own, linked to that of the job.
func TestWork(t *testing.T) {
	t.Parallel()
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer collector.Close()
	tracer := newTracer(t, collector.URL)
	defer tracer.Close()
	ctx, job := Work(tracer.Into(context.Background()), "job")
	inner, piece := Work(ctx, "piece")
	_, step := Begin(inner, "step")
	if job.TraceID() == piece.TraceID() || step.TraceID() != piece.TraceID() {
		t.Error("the pieces are of other traces")
	}
	links := piece.span.(sdk.ReadOnlySpan).Links()
	if len(links) != 1 || links[0].SpanContext.SpanID() != job.span.SpanContext().SpanID() {
		t.Errorf("links %v", links)
	}
	tracer.sample = 0
	inner, piece = Work(ctx, "piece")
	if _, step := Begin(inner, "step"); piece.Recorded() || step.Recorded() {
		t.Error("what is left out is recorded as a step of the job")
	}
	tracer.sample = 1
	if ctx, none := Work(context.Background(), "job"); none.Recorded() || ctx != context.Background() {
		t.Error("there is no tracer, and a span")
	}
	request, span, _ := tracer.Request(context.Background(), nil)
	if _, step := Work(request, "piece"); step.TraceID() != span.TraceID() {
		t.Error("within a request it is none of its steps")
	}
	if _, inner, _ := tracer.Request(ctx, nil); inner.TraceID() != job.TraceID() {
		t.Error("a request of the process to itself is not a step of its work")
	}
	if (*Tracer)(nil).Into(ctx) != ctx {
		t.Error("no tracer is put into the context")
	}
}

// TestEndpoints refuses what is no URL of a collector.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"localhost:4318", "ftp://h", "http://", "http://u:p@h", "http://h/?token=x", "http://h:x"} {
		if _, err := New(Options{Endpoint: url}); err == nil {
			t.Errorf("%s is taken", url)
		}
	}
}
