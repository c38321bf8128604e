package pgkv

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/pgtest"
)

var postgres pgtest.Shared

func TestMain(m *testing.M) { os.Exit(postgres.Main(m)) }

func TestConformance(t *testing.T) {
	kvtest.Run(t, func(t *testing.T, now func() time.Time) kv.Engine {
		return open(t, Options{Now: now})
	})
}

// open opens an engine over a schema of its own.
func open(t testing.TB, o Options) *Engine {
	t.Helper()
	if o.URL == "" {
		o.URL = postgres.Cluster(t).URL()
	}
	if o.Schema == "" {
		o.Schema = postgres.Cluster(t).Schema()
	}
	o.Unsafe = true
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	e, err := Open(context.Background(), o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return e
}

// TestTime asks PostgreSQL, which runs on this machine, for the time.
func TestTime(t *testing.T) {
	e := open(t, Options{})
	before := time.Now().Add(-time.Millisecond)
	now, err := e.Time(t.Context())
	if after := time.Now(); err != nil || now.Before(before) || now.After(after) {
		t.Errorf("%v, %v: it is between %v and %v", now, err, before, after)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Time(t.Context()); err == nil {
		t.Error("a closed engine tells the time")
	}
}
