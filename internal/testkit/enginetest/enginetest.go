// Package enginetest lets the tests of higher layers run over PostgreSQL: when the environment
// names a server, Open gives them an engine there, in a schema of its own. Only tests import it.
package enginetest

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pgkv"
	"github.com/sectional/sectional/internal/testkit/pgtest"
)

// Open returns an empty engine over the PostgreSQL server that the environment names, nil
// where it names none. The caller closes it.
func Open(t testing.TB) kv.Engine {
	t.Helper()
	url := os.Getenv(pgtest.URLVariable)
	if url == "" {
		return nil
	}
	e, err := pgkv.Open(context.Background(), pgkv.Options{
		URL: url, Schema: "t" + strings.ToLower(rand.Text()), Connections: 16, Age: 10 * time.Minute, Unsafe: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &unclocked{e}
}

// unclocked is the engine without its clock: tests set the clocks of their stores.
type unclocked struct{ *pgkv.Engine }

// Time implements kv.Clocked: nobody has set the clock.
func (*unclocked) Time(context.Context) (time.Time, error) { return time.Time{}, nil }
