package kv

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// TestLocks has many take overlapping keys in different orders: each key has one
// holder at a time, nobody waits for ever, and nothing is remembered in the end.
func TestLocks(t *testing.T) {
	var l Locks
	keys := [][]byte{[]byte("a"), []byte("b"), []byte("c")}
	var holders [3]int
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for range 200 {
				one, other := w%3, (w+1+w/3)%3
				unlock, err := l.Lock(context.Background(), [][]byte{keys[one], keys[other], keys[one]})
				if err != nil {
					t.Error(err)
					return
				}
				for _, k := range []int{one, other} {
					holders[k]++
					if holders[k] != 1 {
						t.Errorf("%d hold %s", holders[k], keys[k])
					}
				}
				holders[one]--
				holders[other]--
				unlock()
				unlock()
			}
		})
	}
	wg.Wait()
	if n := len(l.mu.held); n != 0 {
		t.Errorf("%d keys are still remembered", n)
	}
}

// TestLocksLeave: who leaves while waiting has locked nothing.
func TestLocksLeave(t *testing.T) {
	var l Locks
	unlock, err := l.Lock(context.Background(), [][]byte{[]byte("b")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.Lock(ctx, [][]byte{[]byte("a"), []byte("b")}); !errors.Is(err, context.Canceled) {
		t.Fatalf("Lock: %v, want Canceled", err)
	}
	again, err := l.Lock(context.Background(), [][]byte{[]byte("a")})
	if err != nil {
		t.Fatal(err)
	}
	again()
	unlock()
	if n := len(l.mu.held); n != 0 {
		t.Errorf("%d keys are still remembered", n)
	}
}
