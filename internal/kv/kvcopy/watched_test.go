package kvcopy

import (
	"testing"
	"time"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvtest"
)

// TestWatchedIsAnEngine holds a watched engine to the contract, while nobody tracks and while somebody tracks all of it.
func TestWatchedIsAnEngine(t *testing.T) {
	for name, tracked := range map[string]bool{"alone": false, "tracked": true} {
		t.Run(name, func(t *testing.T) {
			kvtest.Run(t, func(t *testing.T, now func() time.Time) kv.Engine {
				w := Watch(kvtest.NewModel(kvtest.ModelOptions{Now: now}))
				if tracked {
					if _, err := w.Track(t.Context(), kv.Range{}); err != nil {
						t.Fatal(err)
					}
				}
				return w
			})
		})
	}
}
