// Package tracing owns traces: spans of a request's steps, down to the storage engine, which are sent to a collector
// by OTLP over HTTP. A span says what was done and how long it took, in names that are the server's own: an
// operation, a database, a partition, a status. It has no document's id, no key, no body, no text of an error, and nobody's name.
//
// The frame of the APIs begins the span of a request (Tracer.Request), and everybody below asks the context for it
// (Begin). Where nothing is traced that is a look into the context. Spans wait for the collector in a queue of a fixed
// length, and those that find no room are lost. Begin reading at Tracer.
package tracing

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// mostSpans is how many spans one request may have: a feed of hours, or a listing of everything, would have any number.
const mostSpans = 1000

// key is that of the active span in a context.
type key struct{}

// active is a span that is recorded.
type active struct {
	span trace.Span
	of   *request
}

// request is what the spans of one request have in common.
type request struct {
	tracer trace.Tracer
	spans  atomic.Int64
}

// Span is a step under way. The zero value is one that nobody records: its methods do nothing.
type Span struct{ *active }

// Request begins the span of a request that came with these values of the header traceparent. If the sampling leaves it out the context
// is the one given, and the span the zero value. The span is named when it ends (Answered).
func (t *Tracer) Request(ctx context.Context, traceparent []string) (context.Context, Span) {
	if len(traceparent) == 1 {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent[0]})
	}
	_, span := t.tracer.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
	if !span.IsRecording() {
		return ctx, Span{}
	}
	s := Span{&active{span, &request{tracer: t.tracer}}}
	return s.In(ctx), s
}

// Begin begins a span below that of the context, and returns a context for what happens in it. Where the context has none, or
// its request has had too many, it is the context given, and the zero value.
func Begin(ctx context.Context, name string) (context.Context, Span) {
	parent, _ := ctx.Value(key{}).(*active)
	if parent == nil || parent.of.spans.Add(1) >= mostSpans {
		return ctx, Span{}
	}
	_, span := parent.of.tracer.Start(trace.ContextWithSpan(ctx, parent.span), name)
	s := Span{&active{span, parent.of}}
	return s.In(ctx), s
}

// In returns ctx with the span in it, so that what begins with that is below the span.
func (s Span) In(ctx context.Context) context.Context {
	if s.active == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, s.active)
}

// Recorded reports whether the span is recorded.
func (s Span) Recorded() bool { return s.active != nil }

// End ends it; err says only that it failed.
func (s Span) End(err error) {
	if s.active == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}

// TraceID returns the name of the trace, for the log.
func (s Span) TraceID() string { return s.span.SpanContext().TraceID().String() }

// Answer is what the span of a request says of it; what is "" is left out.
type Answer struct {
	Method, Route       string
	Database, Partition string
	Status              int
}

// Answered ends the span of a request.
func (s Span) Answered(a Answer) {
	if s.active == nil {
		return
	}
	method := known(a.Method)
	name := method
	if a.Route != "" {
		name += " " + a.Route
	}
	s.span.SetName(name)
	s.span.SetAttributes(attribute.String("http.request.method", method), attribute.Int("http.response.status_code", a.Status))
	for _, one := range []struct{ name, value string }{{"http.route", a.Route}, {"db.namespace", a.Database}, {"sectional.partition", a.Partition}} {
		if one.value != "" {
			s.span.SetAttributes(attribute.String(one.name, one.value))
		}
	}
	if a.Status >= 500 {
		s.span.SetStatus(codes.Error, "")
	}
	s.span.End()
}

// known returns a method as OpenTelemetry has it: a client may write any word in its place.
func known(method string) string {
	switch method {
	case "GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "COPY":
		return method
	}
	return "_OTHER"
}
