package pebblekv

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/kv"
)

// TestPointsAreHandedOn reads one state from several goroutines while its files
// change.
func TestPointsAreHandedOn(t *testing.T) {
	e := open(t, Options{Dir: t.TempDir()})
	defer e.Close()
	key := func(i int) []byte { return fmt.Appendf(nil, "k%03d", i) }
	for i := range 200 {
		update(t, e, func(tx kv.Txn) error { return tx.Put(key(i), key(i)) })
	}
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			view(t, e, func(s kv.Snapshot) error {
				for i := range 400 {
					v, err := s.Get(key(i))
					if there := i < 200; there && string(v) != string(key(i)) || !there && err != kv.ErrNotFound {
						return fmt.Errorf("key %d: %q, %w", i, v, err)
					}
				}
				return nil
			})
		})
	}
	if err := e.Compact(t.Context(), kv.Range{}); err != nil {
		t.Fatal(err)
	}
	readers.Wait()
	p := &e.states.durable.Load().points
	p.Lock()
	defer p.Unlock()
	if len(p.idle) > maxIdle {
		t.Errorf("%d idle iterators are kept", len(p.idle))
	}
}

// TestIdlePointsLetFilesGo: reads at rest keep nothing on disk that compaction
// has replaced.
func TestIdlePointsLetFilesGo(t *testing.T) {
	e := open(t, Options{Dir: t.TempDir()})
	defer e.Close()
	read := func() {
		view(t, e, func(s kv.Snapshot) error {
			_, err := s.Get([]byte("a"))
			return err
		})
	}
	for range 3 {
		update(t, e, func(tx kv.Txn) error { return tx.Put([]byte("a"), []byte("value")) })
		read()
		if err := e.Compact(t.Context(), kv.Range{}); err != nil {
			t.Fatal(err)
		}
		read()
	}
	late := time.After(20 * time.Second)
	for e.db.Metrics().Table.ZombieCount > 0 {
		select {
		case <-late:
			t.Fatal("replaced tables stay")
		default:
			runtime.Gosched()
		}
	}
}
