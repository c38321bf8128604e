package pebblekv

import (
	"errors"
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
	p := &e.states.durable.Load().idle
	p.Lock()
	defer p.Unlock()
	if n := len(p.by[points]); n > maxIdle {
		t.Errorf("%d idle iterators are kept", n)
	}
}

// TestIdleIteratorsLetFilesGo: reads at rest keep nothing on disk that compaction
// has replaced.
func TestIdleIteratorsLetFilesGo(t *testing.T) {
	e := open(t, Options{Dir: t.TempDir()})
	defer e.Close()
	read := func() {
		view(t, e, func(s kv.Snapshot) error {
			_, err := s.Get([]byte("a"))
			return errors.Join(err, kv.Each(s, kv.Range{}, func(_, _ []byte) error { return nil }))
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
	late := time.After(2 * time.Minute)
	for e.db.Metrics().Table.ZombieCount > 0 {
		select {
		case <-late:
			t.Fatal("replaced tables stay")
		default:
			runtime.Gosched()
		}
	}
}

// TestWalksAreHandedOn: an iterator that another walk has used knows nothing of
// it, whatever its range and direction were, and closing one twice does not hand
// it to two readers.
func TestWalksAreHandedOn(t *testing.T) {
	e := open(t, Options{Dir: t.TempDir()})
	defer e.Close()
	update(t, e, func(tx kv.Txn) error {
		for c := byte('a'); c <= 'z'; c++ {
			if err := tx.Put([]byte{c}, []byte{c}); err != nil {
				return err
			}
		}
		return nil
	})
	walk := func(s kv.Snapshot, from, to string, reverse bool) (got string) {
		it, err := s.Iterate(kv.Range{Start: []byte(from), End: []byte(to)}, kv.IterOptions{Reverse: reverse})
		if err != nil {
			t.Fatal(err)
		}
		for it.Next() {
			got += string(it.Key())
		}
		if err := errors.Join(it.Err(), it.Close(), it.Close()); err != nil {
			t.Fatal(err)
		}
		return got
	}
	view(t, e, func(s kv.Snapshot) error {
		for range 3 {
			for _, want := range []struct {
				from, to string
				reverse  bool
				keys     string
			}{
				{"c", "f", false, "cde"}, {"c", "f", true, "edc"}, {"a", "c", false, "ab"},
				{"x", "zz", true, "zyx"}, {"m", "m", false, ""}, {"c", "d", false, "c"},
			} {
				if got := walk(s, want.from, want.to, want.reverse); got != want.keys {
					t.Errorf("%s to %s (%v): %q", want.from, want.to, want.reverse, got)
				}
			}
		}
		a, errA := s.Iterate(kv.Range{Start: []byte("a")}, kv.IterOptions{})
		b, errB := s.Iterate(kv.Range{Start: []byte("k")}, kv.IterOptions{})
		if err := errors.Join(errA, errB); err != nil {
			return err
		}
		a.Next()
		b.Next()
		a.Next()
		if string(a.Key())+string(b.Key()) != "bk" {
			t.Errorf("two walks at once are at %q and %q", a.Key(), b.Key())
		}
		return errors.Join(a.Close(), b.Close())
	})
	p := &e.states.durable.Load().idle
	p.Lock()
	defer p.Unlock()
	if n := len(p.by[walks]); n != 2 {
		t.Errorf("%d iterators are idle, two were in use at a time", n)
	}
}
