// Package tracing owns traces: spans of a request's steps, down to the storage engine, which are sent to a collector
// by OTLP over HTTP. A span says what was done and how long it took, in names that are the server's own: an
// operation, a database, a partition, a status. It has no document's id, no key, no body, no text of an error, and nobody's name.
//
// The frame of the APIs begins the span of a request (Tracer.Request), and everybody below asks the context for it
// (Begin). What works in the background begins traces of its own (Work). Where nothing is traced that is a look into the context. Spans wait for the collector in a queue of a fixed
// length, and those that find no room are lost. Begin reading at Tracer.
package tracing

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// maxSpans is how many spans one request may have: a feed of hours, or a listing of everything, would have any number.
const maxSpans = 1000

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

// Request begins the span of a request that came with these values of the header traceparent. A request without one, or with one
// that says nothing of use, is recorded as the sampling has it; one that says that it is not to be recorded, never. Of one that says
// that it is to be recorded and which the sampling leaves out, wish is what Wish.Grant begins the span by, once it is known that the caller may
// ask for that: strangers would fill the collector. If nothing is recorded the context is the one given, and the span the zero
// value. Within a span of this process it is a step of that. The span is named when it ends (Answered).
func (t *Tracer) Request(ctx context.Context, traceparent []string) (_ context.Context, s Span, wish *Wish) {
	if above, _ := ctx.Value(key{}).(*active); above != nil {
		ctx, s = Begin(ctx, "request")
		return ctx, s, nil
	}
	parent := trace.SpanContext{}
	if len(traceparent) == 1 {
		parent = trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent[0]}))
	}
	if parent.IsValid() && !parent.IsSampled() {
		return ctx, s, nil
	}
	if t.samples() {
		ctx, s = t.begin(ctx, parent)
		return ctx, s, nil
	}
	if parent.IsValid() {
		wish = &Wish{t, parent}
	}
	return ctx, s, wish
}

// begin begins the span of a request below that of its client, if that has one.
func (t *Tracer) begin(ctx context.Context, parent trace.SpanContext, o ...trace.SpanStartOption) (context.Context, Span) {
	_, span := t.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, parent), "request", append(o, trace.WithSpanKind(trace.SpanKindServer))...)
	s := Span{&active{span, &request{tracer: t.tracer}}}
	return s.In(ctx), s
}

// Wish is that a client wants a request recorded which the sampling left out.
type Wish struct {
	tracer *Tracer
	parent trace.SpanContext
}

// Grant begins the span of the request, which began before, and has below it the time that it took to find out who asks.
func (w *Wish) Grant(ctx context.Context, began time.Time) (context.Context, Span) {
	ctx, s := w.tracer.begin(ctx, w.parent, trace.WithTimestamp(began))
	_, before := w.tracer.tracer.Start(trace.ContextWithSpan(ctx, s.span), "authenticate", trace.WithTimestamp(began))
	s.of.spans.Add(1)
	before.End()
	return ctx, s
}

// Begin begins a span below that of the context, and returns a context for what happens in it. Where the context has none, or
// its request has had too many, it is the context given, and the zero value.
func Begin(ctx context.Context, name string) (context.Context, Span) {
	parent, _ := ctx.Value(key{}).(*active)
	if parent == nil || parent.of.spans.Add(1) >= maxSpans {
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
	Operation           string // of an API that has these in the place of routes
	Database, Partition string // Database is a table, where there is an Operation
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
	database := "db.namespace"
	if a.Operation != "" {
		name, database = a.Operation, "db.collection.name"
	}
	s.span.SetName(name)
	s.span.SetAttributes(attribute.String("http.request.method", method), attribute.Int("http.response.status_code", a.Status))
	for _, one := range []struct{ name, value string }{{"http.route", a.Route}, {"db.operation.name", a.Operation}, {database, a.Database}, {"sectional.partition", a.Partition}} {
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
