package web

import "github.com/sectional/sectional/internal/tracing"

// PartitionCall is a Call that knows which partition the request is about, for its span.
type PartitionCall interface {
	// TracedPartition returns it, "" for none. Admit may not have been called.
	TracedPartition() string
}

// traced takes a step, in a span of its own if the request is traced.
func (r *Request) traced(name string, step func() error) error {
	if !r.span.Recorded() {
		return step()
	}
	var span tracing.Span
	r.context, span = tracing.Begin(r.context, name)
	err := step()
	span.End(err)
	r.context = r.span.In(r.context) // the step may have made another of it
	return err
}

// grantTrace has the request recorded if its client wants that and is somebody, once it is known who asks.
func (r *Request) grantTrace() {
	if r.wish == nil || r.Caller == nil || r.Caller.Name == "" {
		return
	}
	r.context, r.span = r.wish.Grant(r.context, r.Began)
	r.wish = nil
}

// endTrace ends the span of the request. It has what the log has of it, but who asked, from where, and the request's
// name, which is the client's: the log has the name of the trace.
func (r *Request) endTrace() {
	if !r.span.Recorded() {
		return
	}
	a := tracing.Answer{Method: r.HTTP.Method, Database: r.Database, Status: r.status}
	if r.Action.Operation {
		a.Operation = r.Action.Name
	} else {
		a.Route = r.Action.Name
	}
	if p, ok := r.call.(PartitionCall); ok {
		a.Partition = p.TracedPartition()
	}
	r.span.Answered(a)
}
