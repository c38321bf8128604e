package kvtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

func readCases() []testCase {
	return []testCase{
		{"get", getRows},
		{"values are copies", valuesAreCopies},
		{"many at once", getManyRows},
		{"many at once as the transaction sees them", getManyOwn},
		{"many values are copies", manyAreCopies},
		{"more than a transaction may write at once", getManyLarge},
		{"view returns the closure's error", viewError},
		{"cancelled context", cancelled},
		{"closed engine", closed},
		{"snapshot is stable", snapshotStable},
		{"snapshot is stable within an iteration", iterationStable},
		{"update returned, view sees it", readYourWrites},
		{"snapshot age", snapshotAge},
		{"snapshot age within an iteration", longIteration},
		{"prefix ranges", prefixRanges},
		{"versions", versions},
	}
}

func getRows(v env) {
	v.load("a=1 b= c=3")
	v.view(func(s kv.Snapshot) {
		v.want(v.get(s, "a"), "1")
		v.want(v.get(s, "b"), "")
		v.want(v.get(s, "bb"), "-")
		_, err := s.Get([]byte("zz"))
		if !errors.Is(err, kv.ErrNotFound) {
			v.Errorf("Get of an absent key: %v, want ErrNotFound", err)
		}
	})
}

func getManyRows(v env) {
	v.load("a=1 b= c=3 d=4")
	v.view(func(s kv.Snapshot) {
		v.want(v.getMany("c a bb b a zz d c", s.GetMany), "3 1 -  1 - 4 3")
		v.want(v.getMany("", s.GetMany), "")
		values, err := s.GetMany([][]byte{[]byte("b"), []byte("bb")})
		v.wantKind(err, none)
		if values[0] == nil || values[1] != nil {
			v.Errorf("an empty and an absent value are %#v", values)
		}
	})
}

func getManyOwn(v env) {
	v.load("a=1 b=2 c=3 d=4")
	v.update(func(t kv.Txn) {
		v.put(t, "b=own e= f=gone")
		v.wantKind(t.Delete([]byte("c")), none)
		v.wantKind(t.Delete([]byte("f")), none)
		for _, get := range []func([][]byte) ([][]byte, error){t.GetMany, t.GetManyForUpdate} {
			v.want(v.getMany("f e d c b a x b", get), "-  4 - own 1 - own")
		}
		v.put(t, "c=again")
		v.want(v.getMany("c a", t.GetManyForUpdate), "again 1")
	})
	v.want(v.all(), "a=1 b=own c=again d=4 e=")
}

func manyAreCopies(v env) {
	v.load("a=1 b=2")
	v.update(func(t kv.Txn) {
		v.put(t, "c=3")
		for _, get := range []func([][]byte) ([][]byte, error){t.GetMany, t.GetManyForUpdate} {
			values, err := get([][]byte{[]byte("c"), []byte("a"), []byte("a")})
			v.wantKind(err, none)
			for i := range values {
				values[i] = append(values[i][:0], 'X', 'Y')
			}
			v.want(v.getMany("a b c", get), "1 2 3")
		}
	})
	v.want(v.all(), "a=1 b=2 c=3")
}

// getManyLarge reads more rows, and more bytes of them, than an engine may want to
// take in one piece.
func getManyLarge(v env) {
	testrun.Sequential(v)
	const rows = 3000
	value := strings.Repeat("v", 4<<10)
	var keys [][]byte
	for i := range rows {
		keys = append(keys, fmt.Appendf(nil, "%06d", (i*7)%rows))
	}
	for page := range slices.Chunk(keys, 500) {
		v.update(func(t kv.Txn) {
			for _, key := range page {
				v.wantKind(t.Put(key, append([]byte(value), key...)), none)
			}
		})
	}
	v.update(func(t kv.Txn) {
		for _, get := range []func([][]byte) ([][]byte, error){t.GetMany, t.GetManyForUpdate} {
			values, err := get(keys)
			v.wantKind(err, none)
			for i, key := range keys {
				if got := string(values[i]); got != value+string(key) {
					v.Fatalf("the value of %s is of another key: %s", key, got[len(got)-10:])
				}
			}
		}
	})
}

// versions: for engines that number their states, each write leaves another
// number.
func versions(v env) {
	v.load("a=1")
	last, numbered := uint64(0), false
	other := func(what string, change func()) {
		change()
		v.view(func(s kv.Snapshot) {
			n, ok := s.(kv.Versioned)
			if ok && numbered && n.Version() == last {
				v.Errorf("after %s the version is still %d", what, last)
			}
			if ok {
				last, numbered = n.Version(), true
			}
		})
	}
	other("nothing", func() {})
	other("a put", func() { v.update(func(t kv.Txn) { v.wantKind(t.Put([]byte("b"), nil), none) }) })
	other("a deletion", func() { v.update(func(t kv.Txn) { v.wantKind(t.Delete([]byte("a")), none) }) })
	other("a discarded range", func() { v.wantKind(v.e.Discard(context.Background(), kv.Prefix([]byte("b"))), none) })
	v.update(func(t kv.Txn) {
		if _, ok := t.(kv.Versioned); ok {
			v.Errorf("a Txn tells a version, whatever it has written")
		}
	})
}

func valuesAreCopies(v env) {
	key, value := []byte("k"), []byte("value")
	v.update(func(t kv.Txn) {
		v.wantKind(t.Put(key, value), none)
		value[0], key[0] = 'X', 'X'
		v.want(v.get(t, "k"), "value")
		own, err := t.Get([]byte("k"))
		v.wantKind(err, none)
		own[0] = 'Y'
		v.want(v.get(t, "k"), "value")
		key[0] = 'k'
	})
	v.view(func(s kv.Snapshot) {
		got, err := s.Get([]byte("k"))
		v.wantKind(err, none)
		copy(got, "XXXXX")
		v.want(v.rows(s, kv.Range{}, forward), "k=value")
	})
}

func viewError(v env) {
	err := v.e.View(context.Background(), func(kv.Snapshot) error { return errRefused })
	if err != errRefused {
		v.Errorf("View returned %v, want the closure's error", err)
	}
}

func cancelled(v env) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := v.e.View(ctx, func(kv.Snapshot) error { return nil })
	if !errors.Is(err, context.Canceled) {
		v.Errorf("View: %v, want Canceled", err)
	}
	err = v.e.Update(ctx, func(t kv.Txn) error { return t.Put([]byte("a"), nil) })
	if !errors.Is(err, context.Canceled) {
		v.Errorf("Update: %v, want Canceled", err)
	}
	v.want(v.all(), "")
}

func closed(v env) {
	v.load("a=1")
	v.wantKind(v.e.Close(), none)
	v.wantKind(v.e.View(context.Background(), func(kv.Snapshot) error { return nil }), dberr.Unavailable)
	v.wantKind(v.e.Update(context.Background(), func(kv.Txn) error { return nil }), dberr.Unavailable)
	v.wantKind(v.e.Discard(context.Background(), kv.Range{}), dberr.Unavailable)
	if err := v.e.View(context.Background(), func(kv.Snapshot) error { return nil }); !errors.Is(err, kv.ErrStopped) {
		v.Errorf("a closed engine's error is not ErrStopped: %v", err)
	}
}

func snapshotStable(v env) {
	v.load("a=1 b=1")
	v.view(func(s kv.Snapshot) {
		v.want(v.get(s, "a"), "1")
		v.update(func(t kv.Txn) {
			v.put(t, "a=2 c=2")
			v.wantKind(t.Delete([]byte("b")), none)
		})
		v.want(v.rows(s, kv.Range{}, forward), "a=1 b=1")
		v.want(v.get(s, "c"), "-")
		v.view(func(later kv.Snapshot) { v.want(v.rows(later, kv.Range{}, forward), "a=2 c=2") })
	})
}

func iterationStable(v env) {
	v.load("a=1 b=1 c=1")
	v.view(func(s kv.Snapshot) {
		it, err := s.Iterate(kv.Range{}, forward)
		v.wantKind(err, none)
		defer it.Close()
		for i := 1; it.Next(); i++ {
			value, err := it.Value()
			v.wantKind(err, none)
			v.want(string(value), "1")
			v.load(fmt.Sprintf("a=%d b=%d c=%d d=%d", i+1, i+1, i+1, i+1))
		}
		v.wantKind(it.Err(), none)
	})
	v.want(v.all(), "a=4 b=4 c=4 d=4")
}

func readYourWrites(v env) {
	for i := range 200 {
		v.load(fmt.Sprintf("n=%d", i))
		v.want(v.all(), fmt.Sprintf("n=%d", i))
	}
}

func snapshotAge(v env) {
	v.load("a=1 b=2")
	over := v.e.Limits().Age + 1
	v.view(func(s kv.Snapshot) {
		it, err := s.Iterate(kv.Range{}, forward)
		v.wantKind(err, none)
		defer it.Close()
		v.clock.Advance(over - 1)
		v.want(v.get(s, "a"), "1")
		v.clock.Advance(1)
		_, err = s.Get([]byte("a"))
		v.wantKind(err, dberr.SnapshotTooOld)
		_, err = s.GetMany([][]byte{[]byte("a"), []byte("b")})
		v.wantKind(err, dberr.SnapshotTooOld)
		_, err = s.Iterate(kv.Range{}, forward)
		v.wantKind(err, dberr.SnapshotTooOld)
	})
	err := v.e.Update(context.Background(), func(t kv.Txn) error {
		v.put(t, "a=2")
		v.clock.Advance(over)
		return nil
	})
	v.wantKind(err, dberr.SnapshotTooOld)
	v.want(v.all(), "a=1 b=2")
}

// longIteration walks more rows than any engine may pass between two looks at
// the clock.
func longIteration(v env) {
	const rows = 2000
	v.update(func(t kv.Txn) {
		for i := range rows {
			v.put(t, fmt.Sprintf("%06d=x", i))
		}
	})
	v.view(func(s kv.Snapshot) {
		it, err := s.Iterate(kv.Range{}, forward)
		v.wantKind(err, none)
		defer it.Close()
		v.clock.Advance(v.e.Limits().Age + 1)
		n := 0
		for it.Next() {
			n++
		}
		v.wantKind(it.Err(), dberr.SnapshotTooOld)
		if n == rows {
			v.Error("the whole range was walked on a snapshot over its age")
		}
	})
}

func prefixRanges(v env) {
	v.load("p=0 p!=1 pa=2 p\xff=3 p\xff\xff=4 q=5 \xff=6 \xff\xff\x00=7")
	v.view(func(s kv.Snapshot) {
		v.want(v.rows(s, kv.Prefix([]byte("p")), forward), "p=0 p!=1 pa=2 p\xff=3 p\xff\xff=4")
		v.want(v.rows(s, kv.Prefix([]byte("p\xff")), backward), "p\xff\xff=4 p\xff=3")
		v.want(v.rows(s, kv.Prefix([]byte("\xff")), forward), "\xff=6 \xff\xff\x00=7")
	})
}
