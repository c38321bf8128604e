package server

import (
	"context"
	"strconv"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/tracing"
	"github.com/sectional/sectional/internal/web"
)

// openTracer makes the tracer that [tracing] asks for; nil where it does not.
func openTracer(a *instance, s *config.Snapshot) (*tracing.Tracer, error) {
	endpoint := s.String("tracing", "endpoint", "")
	if endpoint == "" {
		return nil, nil
	}
	sample, err := strconv.ParseFloat(s.String("tracing", "sample", "1"), 64)
	if err != nil {
		sample = 1 // warned of with the other settings
	}
	return tracing.New(tracing.Options{Endpoint: endpoint, Sample: sample, Version: a.o.Version, Node: s.String("sectional", "node", ""), Log: a.log})
}

// tracedEngine returns the engine for the store: one that has spans where requests are traced.
func (a *instance) tracedEngine() kv.Engine {
	if a.tracer == nil {
		return a.engine
	}
	switch e := a.engine.(type) {
	case embedded:
		return tracedEmbedded{e}
	case shared:
		return tracedShared{e}
	}
	return a.engine
}

// tracedEmbedded is the embedded engine with spans.
type tracedEmbedded struct{ embedded }

// View implements kv.Engine.
func (e tracedEmbedded) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	return inSpan(ctx, "engine.view", func(ctx context.Context) error { return e.embedded.View(ctx, fn) })
}

// Update implements kv.Engine.
func (e tracedEmbedded) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	return inSpan(ctx, "engine.update", func(ctx context.Context) error { return e.embedded.Update(ctx, fn, locked...) })
}

// Pipeline implements kv.Pipeliner.
func (e tracedEmbedded) Pipeline(ctx context.Context, fn func(kv.Txn) error, applied func(), locked ...[]byte) error {
	return inSpan(ctx, "engine.update", func(ctx context.Context) error { return e.embedded.Pipeline(ctx, fn, applied, locked...) })
}

// tracedShared is PostgreSQL with spans, of the round trips of reads too.
type tracedShared struct{ shared }

// View implements kv.Engine.
func (e tracedShared) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	return inSpan(ctx, "engine.view", func(ctx context.Context) error {
		return e.shared.View(ctx, func(s kv.Snapshot) error { return fn(tracedSnapshot{s, ctx}) })
	})
}

// Update implements kv.Engine.
func (e tracedShared) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	return inSpan(ctx, "engine.update", func(ctx context.Context) error {
		return e.shared.Update(ctx, func(t kv.Txn) error { return fn(tracedTxn{t, tracedSnapshot{t, ctx}}) }, locked...)
	})
}

// tracedSnapshot has a span for each round trip but those of iterators beyond their first page.
type tracedSnapshot struct {
	kv.Snapshot
	ctx context.Context
}

// Get implements kv.Snapshot.
func (s tracedSnapshot) Get(key []byte) ([]byte, error) {
	return trip(s.ctx, func() ([]byte, error) { return s.Snapshot.Get(key) })
}

// GetMany implements kv.Snapshot.
func (s tracedSnapshot) GetMany(keys [][]byte) ([][]byte, error) {
	return trip(s.ctx, func() ([][]byte, error) { return s.Snapshot.GetMany(keys) })
}

// Iterate implements kv.Snapshot.
func (s tracedSnapshot) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	return trip(s.ctx, func() (kv.Iterator, error) { return s.Snapshot.Iterate(r, o) })
}

// Read implements kv.Snapshot.
func (s tracedSnapshot) Read(r kv.Reads) (kv.Found, error) {
	return trip(s.ctx, func() (kv.Found, error) { return s.Snapshot.Read(r) })
}

// tracedTxn is a transaction with spans for what it reads.
type tracedTxn struct {
	kv.Txn
	reads tracedSnapshot
}

// Get implements kv.Snapshot.
func (t tracedTxn) Get(key []byte) ([]byte, error) { return t.reads.Get(key) }

// GetMany implements kv.Snapshot.
func (t tracedTxn) GetMany(keys [][]byte) ([][]byte, error) { return t.reads.GetMany(keys) }

// Iterate implements kv.Snapshot.
func (t tracedTxn) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	return t.reads.Iterate(r, o)
}

// Read implements kv.Snapshot.
func (t tracedTxn) Read(r kv.Reads) (kv.Found, error) { return t.reads.Read(r) }

// GetForUpdate implements kv.Txn.
func (t tracedTxn) GetForUpdate(key []byte) ([]byte, error) {
	return trip(t.reads.ctx, func() ([]byte, error) { return t.Txn.GetForUpdate(key) })
}

// GetManyForUpdate implements kv.Txn.
func (t tracedTxn) GetManyForUpdate(keys [][]byte) ([][]byte, error) {
	return trip(t.reads.ctx, func() ([][]byte, error) { return t.Txn.GetManyForUpdate(keys) })
}

// inSpan runs fn in a span of ctx. What is not there is no failure.
func inSpan(ctx context.Context, name string, fn func(context.Context) error) (err error) {
	ctx, span := tracing.Begin(ctx, name)
	defer func() {
		if dberr.Is(err, dberr.NotFound) {
			span.End(nil)
		} else {
			span.End(err)
		}
	}()
	return fn(ctx)
}

// trip is inSpan for a read, of which the engine's span has the outcome.
func trip[T any](ctx context.Context, read func() (T, error)) (T, error) {
	_, span := tracing.Begin(ctx, "engine.read")
	defer span.End(nil)
	return read()
}

// tracingGauges are the figures of the tracer.
func tracingGauges(ended, sent, failed int64) []web.Gauge {
	return []web.Gauge{
		web.Count("tracing_spans_total", "Spans of traced requests and background work.", float64(ended)),
		web.Count("tracing_sent_total", "Spans that the collector has taken.", float64(sent)),
		web.Count("tracing_failed_total", "Spans that were sent in vain.", float64(failed)),
	}
}
