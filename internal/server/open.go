package server

import (
	"context"
	"log/slog"

	"github.com/sectional/sectional/internal/assembly"
	"github.com/sectional/sectional/internal/web"
)

// open puts the parts together. The engine comes before all that writes: it holds the
// lock on the directory, so that a second process changes nothing.
func (a *instance) open(ctx context.Context) (err error) {
	a.log = newLog(a.o.Log, slog.LevelInfo, nil)
	if err = wantOwn(a.o.Data); err != nil {
		return err
	}
	if err = wantOriginal(a.o.Data); err != nil {
		return err
	}
	if err = a.readConfiguration(); err != nil {
		return err
	}
	a.followLog()
	if err = keepPrivate(a.o.Data, a.log); err != nil {
		return err
	}
	if a.engine, err = openEngine(ctx, a.o.Data, a.o.Store, a.config.Snapshot(), a.sizes, a.log); err != nil {
		return err
	}
	a.release = noteInUse(a.o.Data, a.log)
	if err = a.configure(); err != nil {
		return err
	}
	if a.tracer, err = openTracer(a, a.config.Snapshot()); err != nil {
		return err
	}
	texts, err := a.textOptions(a.config.Snapshot())
	if err != nil {
		return err
	}
	of, err := a.amongServers()
	if err != nil {
		return err
	}
	if a.Server, err = assembly.Open(ctx, a.tracedEngine(), assembly.Options{
		Config: a.config, Version: a.o.Version, Log: a.log, Tracer: a.tracer, Fetcher: newFetcher(nil), Store: of, Texts: texts,
		Engine: a.engine.name(), Disk: a.engine.gauges, Health: a.draining.health(a.engine.health), DynamoDBOpen: a.o.DynamoDBOpen,
	}); err != nil {
		return err
	}
	a.audit = newAudit(a.config, a.log)
	a.API.Audit, a.API.ReadActs = a.audit.record, a.audit.page
	if err := a.takeActs(ctx); err != nil {
		a.log.Error("acts of commands could not be brought to the audit log", "error", err)
	}
	if a.tracer != nil {
		a.API.Metrics.Gauges(func() []web.Gauge { return tracingGauges(a.tracer.Counts()) })
	}
	a.openControl()
	return nil
}
