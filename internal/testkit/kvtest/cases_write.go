package kvtest

import (
	"context"
	"fmt"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

func writeCases() []testCase {
	return []testCase{
		{"put and delete", putDelete},
		{"the closure's error writes nothing", refusedClosure},
		{"a panic writes nothing", panicked},
		{"delete once", deleteOnce},
		{"delete once in one transaction", deleteOnceFolded},
		{"delete once, many cycles", deleteOnceCycles},
		{"discard", discard},
		{"discard to the end", discardAll},
		{"disk size and compaction", measured},
	}
}

func putDelete(v env) {
	v.load("a=1 b=2")
	v.update(func(t kv.Txn) {
		v.put(t, "a=3 c=4")
		v.wantKind(t.Delete([]byte("b")), none)
		v.wantKind(t.Delete([]byte("absent")), none)
		v.want(v.get(t, "a")+v.get(t, "b")+v.get(t, "c"), "3-4")
		v.put(t, "b=5")
		v.want(v.get(t, "b"), "5")
	})
	v.want(v.all(), "a=3 b=5 c=4")
}

func refusedClosure(v env) {
	v.load("a=1")
	err := v.e.Update(context.Background(), func(t kv.Txn) error {
		v.put(t, "a=2 b=2")
		return errRefused
	})
	if err != errRefused {
		v.Errorf("Update returned %v, want the closure's error", err)
	}
	v.want(v.all(), "a=1")
}

func panicked(v env) {
	func() {
		defer func() {
			if recover() == nil {
				v.Error("the closure's panic was swallowed")
			}
		}()
		err := v.e.Update(context.Background(), func(t kv.Txn) error {
			v.put(t, "a=2")
			panic("in the closure")
		})
		v.Errorf("Update returned %v", err)
	}()
	v.load("b=1")
	v.want(v.all(), "b=1")
}

func (v env) deleteOnce(t kv.Txn, key string) {
	v.Helper()
	v.wantKind(t.DeleteOnce([]byte(key)), none)
}

func deleteOnce(v env) {
	v.load("a=1 b=1 c=1")
	v.update(func(t kv.Txn) {
		v.deleteOnce(t, "b")
		v.want(v.get(t, "b"), "-")
	})
	v.want(v.all(), "a=1 c=1")
	v.compact()
	v.want(v.all(), "a=1 c=1")
}

// deleteOnceFolded walks through the ways in which puts and deletes of one key
// meet in one transaction; afterwards the key is deleted once more, which must
// not bring an older value back.
func deleteOnceFolded(v env) {
	fresh := []string{"put once", "put put once", "delete put", "delete put once", "put delete",
		"put delete put once", "put once put"}
	stored := []string{"once put", "delete put", "once put once", "delete put once", "once put once put",
		"put delete", "put delete put once", "delete put delete put"}
	for _, ops := range fresh {
		v.fold("", strings.Fields(ops))
	}
	for _, ops := range stored {
		v.fold("k=0", strings.Fields(ops))
	}
}

func (v env) fold(before string, ops []string) {
	v.Helper()
	v.load(before)
	v.update(func(t kv.Txn) { v.apply(t, ops) })
	want := "-"
	last := len(ops) - 1
	if ops[last] == "put" {
		want = fmt.Sprint(last)
	}
	for range 2 {
		v.view(func(s kv.Snapshot) { v.want(v.get(s, "k"), want) })
		v.compact()
	}
	if want != "-" {
		v.update(func(t kv.Txn) { v.deleteOnce(t, "k") })
	}
	for range 2 {
		v.want(v.all(), "")
		v.compact()
	}
}

// apply does ops to key k; a put's value is its position.
func (v env) apply(t kv.Txn, ops []string) {
	v.Helper()
	for n, op := range ops {
		switch op {
		case "put":
			v.put(t, fmt.Sprintf("k=%d", n))
		case "once":
			v.deleteOnce(t, "k")
		default:
			v.wantKind(t.Delete([]byte("k")), none)
		}
	}
}

func deleteOnceCycles(v env) {
	for i := range 50 {
		v.load(fmt.Sprintf("feed%02d=%d", i, i))
		if i%7 == 3 {
			v.compact()
		}
		v.update(func(t kv.Txn) {
			v.deleteOnce(t, fmt.Sprintf("feed%02d", i))
			v.put(t, "again=x")
			v.deleteOnce(t, "again")
			v.put(t, fmt.Sprintf("moved=%d", i))
		})
		v.want(v.all(), fmt.Sprintf("moved=%d", i))
		v.update(func(t kv.Txn) { v.deleteOnce(t, "moved") })
	}
	v.compact()
	v.want(v.all(), "")
}

// compact compacts everything if the engine can.
func (v env) compact() {
	v.Helper()
	if c, ok := v.e.(kv.Compacter); ok {
		v.wantKind(c.Compact(context.Background(), kv.Range{}), none)
	}
}

func discard(v env) {
	v.load("a=1 b=1 c=1 d=1")
	v.wantKind(v.e.Discard(context.Background(), span("b", "d")), none)
	v.want(v.all(), "a=1 d=1")
	v.wantKind(v.e.Discard(context.Background(), span("d", "b")), none)
	v.load("b=2")
	v.want(v.all(), "a=1 b=2 d=1")
	v.update(func(t kv.Txn) { v.deleteOnce(t, "b") })
	v.compact()
	v.want(v.all(), "a=1 d=1")
}

func discardAll(v env) {
	v.load("a=1 \xff=2 \xff\xff\xff=3")
	v.wantKind(v.e.Discard(context.Background(), span("b", "")), none)
	v.want(v.all(), "a=1")
	v.wantKind(v.e.Discard(context.Background(), kv.Range{}), none)
	v.want(v.all(), "")
}

func measured(v env) {
	m, ok := v.e.(kv.SizeReporter)
	c, ok2 := v.e.(kv.Compacter)
	if !ok || !ok2 {
		return // optional powers
	}
	size := func() uint64 {
		n, err := m.DiskSize(kv.Prefix([]byte("x")))
		v.wantKind(err, none)
		return n
	}
	v.update(func(t kv.Txn) {
		noise := NewRand(1)
		for i := range 200 {
			v.wantKind(t.Put(fmt.Appendf(nil, "x%04d", i), noise.Bytes(1000)), none)
		}
	})
	v.wantKind(c.Compact(context.Background(), kv.Range{}), none)
	if n := size(); n < 150_000 || n > 400_000 {
		v.Errorf("200 KB of rows take %d bytes", n)
	}
	v.wantKind(v.e.Discard(context.Background(), kv.Prefix([]byte("x"))), none)
	v.wantKind(c.Compact(context.Background(), kv.Range{}), none)
	if n := size(); n > 1000 {
		v.Errorf("discarded and compacted rows take %d bytes", n)
	}
	_, err := m.DiskSize(span("b", "a"))
	v.wantKind(err, none)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.Compact(ctx, kv.Range{}); err == nil || dberr.Is(err, dberr.NotFound) {
		v.Errorf("Compact with a cancelled context: %v", err)
	}
}
