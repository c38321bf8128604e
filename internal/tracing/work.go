package tracing

import (
	"context"
	"math/rand/v2"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// tracerKey is that of the tracer in a context of background work.
type tracerKey struct{}

// Into returns ctx with the tracer in it: for work that no request asked for, whose spans begin by Work. nil: it is ctx.
func (t *Tracer) Into(ctx context.Context) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, tracerKey{}, t)
}

// Work begins the span of a piece of background work: a trace of its own, of which the sampling decides, with a link to the
// span of ctx, as that of a batch to that of the job which it is of. So a job of hours is many traces, each of
// which is sent when its piece is done. Within a request it is Begin.
func Work(ctx context.Context, name string) (context.Context, Span) {
	t, _ := ctx.Value(tracerKey{}).(*Tracer)
	if t == nil {
		return Begin(ctx, name)
	}
	above, _ := ctx.Value(key{}).(*active)
	if !t.samples() {
		if above != nil {
			ctx = context.WithValue(ctx, key{}, (*active)(nil)) // what is below is not a step of that
		}
		return ctx, Span{}
	}
	options := []trace.SpanStartOption{trace.WithNewRoot()}
	if above != nil {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: above.span.SpanContext()}))
	}
	_, span := t.tracer.Start(ctx, name, options...)
	s := Span{&active{span, &request{tracer: t.tracer}}}
	return s.In(ctx), s
}

// samples decides whether something is recorded of which nobody else does. The name of a trace, which is a
// client's to choose, has no part in it.
func (t *Tracer) samples() bool { return rand.Float64() < t.sample }

// Text notes a word of the server's own, or the name of a database, a table or a partition; "" is left out.
func (s Span) Text(name, value string) {
	if s.active != nil && value != "" {
		s.span.SetAttributes(attribute.String(name, value))
	}
}

// Number notes how many of something there were.
func (s Span) Number(name string, n int64) {
	if s.active != nil {
		s.span.SetAttributes(attribute.Int64(name, n))
	}
}

// Event notes in the span of ctx that something happened, such as that a request is made again, in a word of the server's own.
func Event(ctx context.Context, name string) {
	if at, _ := ctx.Value(key{}).(*active); at != nil {
		at.span.AddEvent(name)
	}
}
