package pgkv

import (
	"context"
	"log/slog"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
)

// TestPooler: over a pooler that keeps sessions everything goes as without one; one that does not is refused, and has
// nothing made in the database.
func TestPooler(t *testing.T) {
	c := postgres.Cluster(t)
	for _, o := range []struct {
		name, mode string
		settings   []string
		refused    bool
	}{
		{name: "sessions", mode: "session"},
		{name: "transactions", mode: "transaction", refused: true},
		{name: "transactions, in turns", mode: "transaction", settings: []string{"server_round_robin = 1", "min_pool_size = 5"}, refused: true},
		{name: "statements", mode: "statement", refused: true},
	} {
		t.Run(o.name, func(t *testing.T) {
			url := c.Bouncer(t, o.mode, o.settings...)
			if !o.refused {
				e := open(t, Options{URL: url, Connections: 12})
				defer e.Close()
				n := &tally{}
				n.run(t, e, 4, 20, func(int, int) {})
				return
			}
			schema := c.Schema()
			e, err := Open(context.Background(), Options{URL: url, Schema: schema, Unsafe: true, Logger: slog.New(slog.DiscardHandler)})
			if err == nil {
				e.Close()
			}
			if !dberr.Is(err, dberr.Invalid) {
				t.Errorf("it was told: %v", err)
			}
			if err := c.Admin(t.Context(), "CREATE SCHEMA "+schema); err != nil {
				t.Errorf("something is there: %v", err)
			}
		})
	}
}
