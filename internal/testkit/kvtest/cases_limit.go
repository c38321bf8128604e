package kvtest

import (
	"bytes"
	"context"
	"fmt"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

func limitCases() []testCase {
	return []testCase{
		{"limits leave room for the store", limitsRoom},
		{"key limit", keyLimit},
		{"value limit", valueLimit},
		{"transaction limit", txnLimit},
	}
}

func limitsRoom(v env) {
	l := v.e.Limits()
	if l.Key < 1<<10 || l.Value < 65<<10 || l.Txn < 4<<20 || l.Age <= 0 {
		v.Errorf("limits %+v are smaller than the store needs", l)
	}
}

func keyLimit(v env) {
	limit := v.e.Limits().Key
	longest := bytes.Repeat([]byte{0xff}, limit)
	v.update(func(t kv.Txn) {
		v.wantKind(t.Put(longest, []byte("x")), none)
		v.wantKind(t.Put(longest[:limit-1], []byte("y")), none)
	})
	v.view(func(s kv.Snapshot) {
		v.want(v.get(s, string(longest)), "x")
		if _, err := s.Get(append(longest, 0)); !dberr.Is(err, dberr.NotFound) {
			v.Errorf("Get of a key over the limit: %v", err)
		}
		values, err := s.GetMany([][]byte{append(longest, 0), longest})
		if err != nil || values[0] != nil || string(values[1]) != "x" {
			v.Errorf("GetMany of a key over the limit beside one within: %q, %v", values, err)
		}
	})
	for _, write := range []func(kv.Txn, []byte) error{
		func(t kv.Txn, key []byte) error { return t.Put(key, nil) },
		kv.Txn.Delete,
	} {
		v.wantKind(v.e.Update(context.Background(), func(t kv.Txn) error {
			return write(t, append(longest, 0))
		}), dberr.TooLarge)
		if err := v.e.Update(context.Background(), func(t kv.Txn) error { return write(t, nil) }); err == nil {
			v.Error("an empty key was written")
		}
	}
	v.wantKind(v.e.Discard(context.Background(), span("\xff", "")), none)
	v.want(v.all(), "")
}

func valueLimit(v env) {
	testrun.Sequential(v)
	limit := v.e.Limits().Value
	largest := bytes.Repeat([]byte("v"), limit)
	v.update(func(t kv.Txn) { v.wantKind(t.Put([]byte("k"), largest), none) })
	v.view(func(s kv.Snapshot) {
		if got := v.get(s, "k"); got != string(largest) {
			v.Errorf("the largest value came back with %d bytes", len(got))
		}
	})
	v.wantKind(v.e.Update(context.Background(), func(t kv.Txn) error {
		return t.Put([]byte("k2"), append(largest, 'v'))
	}), dberr.TooLarge)
}

func txnLimit(v env) {
	testrun.Sequential(v)
	l := v.e.Limits()
	value := make([]byte, 64<<10)
	fill := func(t kv.Txn, n int) error {
		for i := range n {
			if err := t.Put(fmt.Appendf(nil, "%06d", i), value); err != nil {
				return err
			}
		}
		return nil
	}
	fits := l.Txn / (len(value) + 6)
	v.wantKind(v.e.Update(context.Background(), func(t kv.Txn) error { return fill(t, fits+1) }), dberr.TooLarge)
	v.want(v.all(), "")
	v.wantKind(v.e.Update(context.Background(), func(t kv.Txn) error { return fill(t, fits) }), none)
	n := 0
	v.view(func(s kv.Snapshot) {
		it, err := s.Iterate(kv.Range{}, forward)
		v.wantKind(err, none)
		defer it.Close()
		for it.Next() {
			n++
		}
	})
	if n != fits {
		v.Errorf("%d rows of a large transaction are there, want %d", n, fits)
	}
}
