package tracing

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options say where traces go.
type Options struct {
	// Endpoint is the collector's URL, http or https; without a path, /v1/traces.
	Endpoint string
	// Sample is which share of requests, and of pieces of background work, is traced, from 0 to 1.
	Sample float64
	// Version and Node name the server.
	Version, Node string
	Log           *slog.Logger
}

// Spans wait for the collector in a queue of queueLength, go in batches, and are lost if it does not take one within exportTimeout.
const (
	queueLength   = 4096
	batchLength   = 512
	batchPause    = 2 * time.Second
	exportTimeout = 10 * time.Second
	longestValue  = 256 // bytes of an attribute, such as the name of a database that does not exist
	maxAttributes = 16
	maxForFlush   = time.Second // that the end of the server waits for the collector
)

// Tracer makes spans and sends them.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	sample   float64
	out      *sender
	end      func() // of what is being sent
}

// New returns a tracer. It connects to nobody: a collector that is not there is noticed when spans are sent, and logged. The error is
// that the endpoint is no URL, or has a password, which would be shown with the settings.
func New(o Options) (*Tracer, error) {
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("[tracing] endpoint is the URL of a collector, such as http://localhost:4318, without user and password")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	to := newClient(u.String())
	out := &sender{SpanExporter: otlptrace.NewUnstarted(to), log: o.Log}
	limits := sdk.NewSpanLimits()
	limits.AttributeValueLengthLimit, limits.AttributeCountLimit = longestValue, maxAttributes
	provider := sdk.NewTracerProvider(
		sdk.WithSampler(sdk.AlwaysSample()), // Tracer decides what is begun
		sdk.WithRawSpanLimits(limits),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "sectional"), attribute.String("service.version", o.Version),
			attribute.String("service.instance.id", o.Node))),
		sdk.WithSpanProcessor(counting{sdk.NewBatchSpanProcessor(out, sdk.WithMaxQueueSize(queueLength), sdk.WithMaxExportBatchSize(batchLength),
			sdk.WithBatchTimeout(batchPause), sdk.WithExportTimeout(exportTimeout)), out}),
	)
	return &Tracer{provider: provider, tracer: provider.Tracer("sectional"), sample: o.Sample, out: out, end: to.end}, nil
}

// Counts returns how many spans have ended, were taken by the collector, and were sent in vain. Of the others those are
// lost that are not among the few thousand which may wait.
func (t *Tracer) Counts() (ended, sent, failed int64) {
	return t.out.ended.Load(), t.out.sent.Load(), t.out.failed.Load()
}

// Close sends what waits, for a moment, and ends the tracer.
func (t *Tracer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), maxForFlush)
	defer t.end()
	defer cancel()
	if t.provider.Shutdown(ctx) != nil {
		t.out.log.Warn("the last traces have not reached the collector of [tracing] endpoint")
	}
}

// counting counts the spans that have ended, before those that find no room in the queue are lost.
type counting struct {
	sdk.SpanProcessor
	out *sender
}

// OnEnd implements sdk.SpanProcessor.
func (c counting) OnEnd(s sdk.ReadOnlySpan) {
	c.out.ended.Add(1)
	c.SpanProcessor.OnEnd(s)
}

// sender sends batches, counts them, and logs when the collector goes away and comes back.
type sender struct {
	sdk.SpanExporter
	log                 *slog.Logger
	ended, sent, failed atomic.Int64
	away                atomic.Bool
}

// ExportSpans implements sdk.SpanExporter. Failures are told here, for OpenTelemetry would write them where the process
// has its standard error.
func (s *sender) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := s.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		s.sent.Add(int64(len(spans)))
		if s.away.Swap(false) {
			s.log.Info("the collector of [tracing] endpoint takes traces again")
		}
		return nil
	}
	s.failed.Add(int64(len(spans)))
	if !s.away.Swap(true) {
		s.log.Warn("the collector of [tracing] endpoint does not take traces; they are lost until it does", "err", err)
	}
	return nil
}
