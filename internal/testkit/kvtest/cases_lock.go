package kvtest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

func lockCases() []testCase {
	return []testCase{
		{"locked before the snapshot", lockedFirst},
		{"a lock keeps out nobody who does not name it", lockedOthers},
		{"whoever waits for a lock may leave", lockedLeave},
		{"locks end with whatever ends a transaction", lockedEnd},
	}
}

// lockedFirst: when all who write a row name it, none of them runs twice. Some name
// a second key, in either order.
func lockedFirst(v env) {
	const workers, rounds = 8, 30
	var runs atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			keys := [][]byte{[]byte("shared"), []byte("other"), []byte("shared")}[w%3/2 : 1+w%3]
			for range rounds {
				v.wantKind(v.e.Update(context.Background(), func(t kv.Txn) error {
					runs.Add(1)
					for _, key := range keys {
						v.increment(t, string(key)+"_n") // a name is one of a lock: nothing need be there
					}
					return nil
				}, keys...), none)
			}
		})
	}
	wg.Wait()
	v.wantRuns(int(runs.Load()), workers*rounds)
}

// lockedOthers: a transaction that does not name the key comes between, and is noticed.
func lockedOthers(v env) {
	v.load("n=1")
	runs := 0
	err := v.e.Update(context.Background(), func(t kv.Txn) error {
		runs++
		seen := v.lock(t, "n")
		if runs == 1 {
			v.load("n=2")
			v.view(func(s kv.Snapshot) { v.want(v.get(s, "n"), "2") })
			v.wantKind(v.e.Update(context.Background(), func(t kv.Txn) error { v.put(t, "m=1"); return nil }, []byte("m")), none)
		}
		v.put(t, "saw="+seen)
		return nil
	}, []byte("n"))
	v.wantKind(err, none)
	v.wantRuns(runs, 2)
	v.want(v.all(), "m=1 n=2 saw=2")
}

func lockedLeave(v env) {
	v.wantKind(v.e.Update(context.Background(), func(t kv.Txn) error {
		ctx, cancel := context.WithCancel(context.Background())
		begun := make(chan struct{})
		left := make(chan error)
		go func() {
			close(begun)
			left <- v.e.Update(ctx, func(t kv.Txn) error { return errRefused }, []byte("other"), []byte("n"))
		}()
		<-begun
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			v.Errorf("Update: %v, want Canceled", err)
		}
		v.wantKind(v.e.Update(context.Background(), func(t kv.Txn) error { v.put(t, "a=1"); return nil }, []byte("other")), none)
		return nil
	}, []byte("n")), none)
	v.want(v.all(), "a=1")
}

// lockedEnd: an error, a panic and a transaction without writes let go what they locked.
func lockedEnd(v env) {
	key := []byte("n")
	v.wantKind(v.e.Update(context.Background(), func(t kv.Txn) error { return errRefused }, key), dberr.Internal)
	func() {
		defer func() { _ = recover() }() // the panic is what the case makes
		_ = v.e.Update(context.Background(), func(t kv.Txn) error { panic("in the closure") }, key)
	}()
	v.wantKind(v.e.Update(context.Background(), func(t kv.Txn) error { v.get(t, "n"); return nil }, key), none)
	v.wantKind(v.e.Update(context.Background(), func(t kv.Txn) error { v.put(t, "n=1"); return nil }, key), none)
	v.want(v.all(), "n=1")
}
