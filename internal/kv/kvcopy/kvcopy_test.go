package kvcopy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/kvtest"
	"github.com/sectional/sectional/internal/kv/pebblekv"
)

// everything copies all rows with a seal, the row without which nobody believes a target.
func everything(from, to kv.Engine) Options {
	seal := []byte("m/store")
	put := func(ctx context.Context, value string) error {
		return Settled(ctx, to, func(tx kv.Txn) error { return tx.Put(seal, []byte(value)) })
	}
	return Options{
		Apart:    func(key []byte) bool { return bytes.Equal(key, seal) },
		Describe: func(key []byte) string { return string(key) },
		Begin:    func(ctx context.Context, _ Sum) error { return put(ctx, "half") },
		Finish:   func(ctx context.Context, _ kv.Tracking, _ Sum) error { return put(ctx, "whole") },
	}
}

func model(t *testing.T, l kv.Limits) kv.Engine {
	e := kvtest.NewModel(kvtest.ModelOptions{Limits: l})
	t.Cleanup(func() { e.Close() })
	return e
}

func pebble(t *testing.T) kv.Engine {
	e, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func put(t *testing.T, e kv.Engine, key string, value []byte) {
	t.Helper()
	if err := e.Update(t.Context(), func(tx kv.Txn) error { return tx.Put([]byte(key), value) }); err != nil {
		t.Fatal(err)
	}
}

// fill writes rows of many sizes, before and after the seal.
func fill(t *testing.T, e kv.Engine, n int) {
	t.Helper()
	r := kvtest.NewRand(3)
	for i := range n {
		value := bytes.Repeat([]byte{byte(i)}, r.IntN(1<<uint(r.IntN(17))))
		put(t, e, fmt.Sprintf("%c/%06d", 'a'+rune(r.IntN(26)), i), value)
	}
	put(t, e, "m/store", []byte("whole"))
}

func rowsOf(t *testing.T, e kv.Engine) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := e.View(t.Context(), func(v kv.Snapshot) error {
		return kv.Each(v, kv.Range{}, func(key, value []byte) error {
			all[string(key)] = string(value)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func equal(t *testing.T, a, b kv.Engine) {
	t.Helper()
	one, two := rowsOf(t, a), rowsOf(t, b)
	sameRows(t, one, two)
}

func sameRows(t *testing.T, one, two map[string]string) {
	t.Helper()
	if len(one) != len(two) {
		t.Fatalf("%d rows and %d", len(one), len(two))
	}
	for key, value := range one {
		if two[key] != value {
			t.Fatalf("%s differs", key)
		}
	}
}

func TestCopy(t *testing.T) {
	for name, to := range map[string]kv.Engine{"model": model(t, kv.Limits{}), "pebble": pebble(t)} {
		t.Run(name, func(t *testing.T) {
			from := model(t, kv.Limits{})
			fill(t, from, 600)
			sum, err := Copy(t.Context(), from, to, everything(from, to))
			if err != nil {
				t.Fatal(err)
			}
			equal(t, from, to)
			if sum.Rows != 600 {
				t.Errorf("%d rows", sum.Rows)
			}
			back := model(t, kv.Limits{})
			again, err := Copy(t.Context(), to, back, everything(to, back))
			if err != nil || again != sum {
				t.Errorf("%+v and back %+v, %v", sum, again, err)
			}
			equal(t, from, back)
			put(t, back, "a/more", []byte("1"))
			put(t, back, "zz", nil)
			put(t, from, "b/", nil)
			again, err = Copy(t.Context(), from, back, everything(from, back))
			if err != nil || again.Rows != sum.Rows+1 || again.Checksum == sum.Checksum {
				t.Errorf("again: %+v, %v", again, err)
			}
			equal(t, from, back)
		})
	}
}

// TestCopyOfARange copies what begins with a prefix to another one, beside rows that stay.
func TestCopyOfARange(t *testing.T) {
	from, to := model(t, kv.Limits{}), model(t, kv.Limits{})
	fill(t, from, 300)
	put(t, to, "d/other", []byte("stays"))
	put(t, to, "dd/other", []byte("goes"))
	put(t, to, "e/other", []byte("stays"))
	o := Options{From: []byte("c/"), To: []byte("dd/"), Finish: func(context.Context, kv.Tracking, Sum) error { return nil }}
	sum, err := Copy(t.Context(), from, to, o)
	if err != nil {
		t.Fatal(err)
	}
	got := rowsOf(t, to)
	if got["d/other"] != "stays" || got["e/other"] != "stays" {
		t.Error("rows of others are gone")
	}
	n := int64(0)
	for key, value := range rowsOf(t, from) {
		if rest, ok := strings.CutPrefix(key, "c/"); ok {
			n++
			if there, ok := got["dd/"+rest]; !ok || there != value {
				t.Errorf("%s differs", key)
			}
		}
	}
	if n == 0 || n != sum.Rows || len(got) != int(n)+2 {
		t.Errorf("%d rows, %d summed up, %d there", n, sum.Rows, len(got))
	}
}

// TestInterruptedCopy ends a copy at each of its calls, at either side, and has commits of
// the target fail in every way: what is there then can't be taken for the whole, and the
// next copy goes on.
func TestInterruptedCopy(t *testing.T) {
	source := model(t, kv.Limits{})
	fill(t, source, 150)
	for _, fault := range []kvtest.Fault{kvtest.Refused, kvtest.LostCommit, kvtest.LostAnswer, kvtest.Rerun} {
		for n := 1; ; n++ {
			to, from := kvtest.NewFaults(model(t, small)), kvtest.NewFaults(source)
			failing := to
			if n%2 == 0 {
				failing = from
			}
			failing.Fail((n+1)/2, fault)
			before := failing.Calls()
			_, err := Copy(t.Context(), from, to, everything(from, to))
			if failing.Calls()-before < (n+1)/2 {
				break // the whole copy takes fewer calls
			}
			if err != nil {
				if seal := rowsOf(t, to)["m/store"]; seal == "whole" {
					t.Fatalf("fault %d at call %d: %v, and it looks whole", fault, n, err)
				}
				if _, err = Copy(t.Context(), source, to, everything(source, to)); err != nil {
					t.Fatalf("fault %d at call %d: it does not go on: %v", fault, n, err)
				}
			}
			equal(t, source, to)
		}
	}
}

// TestWhatATargetDoesNotTake holds that rows over the limits are named before anything is
// written.
func TestWhatATargetDoesNotTake(t *testing.T) {
	from := model(t, kv.Limits{})
	fill(t, from, 10)
	put(t, from, "long/"+strings.Repeat("x", 300), nil)
	put(t, from, "large", make([]byte, 100_000))
	to := model(t, kv.Limits{Key: 200, Value: 90_000, Txn: 1 << 20, Age: 1e9})
	_, err := Copy(t.Context(), from, to, everything(from, to))
	if !dberr.Is(err, dberr.TooLarge) || !strings.Contains(err.Error(), "long/xxx") || !strings.Contains(err.Error(), "large: a value of 100000 bytes") {
		t.Errorf("%v", err)
	}
	if left := rowsOf(t, to); len(left) > 0 {
		t.Errorf("%d rows were written", len(left))
	}
}

// altered is an engine that gives another value for a row that was written.
type altered struct{ kv.Engine }

func (e altered) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	return e.Engine.Update(ctx, func(tx kv.Txn) error { return fn(alteredTxn{tx}) }, locked...)
}

type alteredTxn struct{ kv.Txn }

func (t alteredTxn) Put(key, value []byte) error {
	if string(key) == "a/bad" {
		value = []byte("other")
	}
	return t.Txn.Put(key, value)
}

// TestWhatIsNotTheSame has the target store something else than it was given.
func TestWhatIsNotTheSame(t *testing.T) {
	from, to := model(t, kv.Limits{}), model(t, kv.Limits{})
	put(t, from, "a/bad", []byte("right"))
	put(t, from, "m/store", []byte("whole"))
	if _, err := Copy(t.Context(), from, altered{to}, everything(from, to)); !dberr.Is(err, dberr.Internal) {
		t.Errorf("%v", err)
	}
	if seal := rowsOf(t, to)["m/store"]; seal != "half" {
		t.Errorf("the seal is %q", seal)
	}
}

// TestRowsApart holds that rows that are apart stay as whoever copies has prepared them,
// also when the copy is interrupted and goes on.
func TestRowsApart(t *testing.T) {
	from := model(t, kv.Limits{})
	fill(t, from, 50)
	put(t, from, "z/apart", []byte("the source's"))
	to := kvtest.NewFaults(model(t, kv.Limits{}))
	o := everything(from, to)
	seal, begin := o.Apart, o.Begin
	o.Apart = func(key []byte) bool { return seal(key) || string(key) == "z/apart" }
	o.Begin = func(ctx context.Context, sum Sum) error {
		put(t, to.Engine, "z/apart", []byte("its own"))
		return begin(ctx, sum)
	}
	to.Fail(3, kvtest.Refused)
	if _, err := Copy(t.Context(), from, to, o); err == nil {
		t.Fatal("it was not interrupted")
	}
	if _, err := Copy(t.Context(), from, to, o); err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, to); got["z/apart"] != "its own" || len(got) != 52 {
		t.Errorf("%d rows, %q", len(got), got["z/apart"])
	}
}

// TestCancelledCopy holds that a copy that was called off leaves nothing that looks whole.
func TestCancelledCopy(t *testing.T) {
	from, to := model(t, kv.Limits{}), model(t, kv.Limits{})
	fill(t, from, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Copy(ctx, from, to, everything(from, to)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if left := rowsOf(t, to); len(left) > 0 {
		t.Errorf("%d rows were written", len(left))
	}
}
