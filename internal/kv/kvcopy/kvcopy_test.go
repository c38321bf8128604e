package kvcopy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// options are those of the tests: the seal lies among other rows.
var options = Options{Seal: []byte("m/store"), Marker: 'M'}

// small makes many batches of few rows.
var small = kv.Limits{Key: 200, Value: 80_000, Txn: 200_000, Age: 1e15}

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

func remove(t *testing.T, e kv.Engine, key string) {
	t.Helper()
	if err := e.Update(t.Context(), func(tx kv.Txn) error { return tx.Delete([]byte(key)) }); err != nil {
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
	put(t, e, string(options.Seal), []byte("whole"))
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
	if len(one) != len(two) {
		t.Fatalf("%d rows and %d", len(one), len(two))
	}
	for key, value := range one {
		if two[key] != value {
			t.Fatalf("%s differs", key)
		}
	}
}

// TestCopy copies into each engine and back.
func TestCopy(t *testing.T) {
	for name, to := range map[string]kv.Engine{"model": model(t, kv.Limits{}), "pebble": pebble(t)} {
		t.Run(name, func(t *testing.T) {
			from := model(t, kv.Limits{})
			fill(t, from, 5000)
			sum, err := Copy(t.Context(), from, to, options)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, from, to)
			if sum.Rows != 5000 {
				t.Errorf("%d rows", sum.Rows)
			}
			back := model(t, kv.Limits{})
			again, err := Copy(t.Context(), to, back, options)
			if err != nil || again != sum {
				t.Errorf("%+v and back %+v, %v", sum, again, err)
			}
			equal(t, from, back)
		})
	}
}

// TestInterruptedCopy ends a copy at each of its calls, at either side, in every way: the part is not sealed, and the
// next copy goes on to the same rows.
func TestInterruptedCopy(t *testing.T) {
	source := model(t, kv.Limits{})
	fill(t, source, 100)
	for _, fault := range []kvtest.Fault{kvtest.Refused, kvtest.FailRead, kvtest.LostCommit, kvtest.LostAnswer, kvtest.LateCommit, kvtest.Rerun} {
		interrupted := 0
		for n := 1; ; n++ {
			to, from := kvtest.NewFaults(model(t, small)), kvtest.NewFaults(source)
			failing := to
			if n%2 == 0 {
				failing = from
			}
			failing.Fail((n+1)/2, fault)
			_, err := Copy(t.Context(), from, to, options)
			if failing.Calls() < (n+1)/2 {
				break // the whole copy takes fewer calls
			}
			if err != nil {
				interrupted++
				if seal := rowsOf(t, to.Engine)["m/store"]; seal == "whole" && fault != kvtest.LostAnswer {
					t.Fatalf("fault %d at call %d: %v, and it looks whole", fault, n, err)
				}
				if _, err = Copy(t.Context(), source, to, options); err != nil && !errors.Is(err, errWhole) {
					t.Fatalf("fault %d at call %d: it does not go on: %v", fault, n, err)
				}
			}
			equal(t, source, to)
		}
		if interrupted == 0 && fault != kvtest.Rerun {
			t.Errorf("fault %d interrupted nothing", fault)
		}
	}
}

// TestCopyAfterChanges: what has changed at the source since a copy was interrupted is brought by the next one.
func TestCopyAfterChanges(t *testing.T) {
	from, to := model(t, kv.Limits{}), kvtest.NewFaults(model(t, small))
	fill(t, from, 150)
	to.Fail(6, kvtest.Refused)
	if _, err := Copy(t.Context(), from, to, options); err == nil {
		t.Fatal("it was not interrupted")
	}
	written := rowsOf(t, to)
	if len(written) < 2 {
		t.Fatal("nothing was written")
	}
	n := 0
	for key := range written {
		if key == "m/store" {
			continue
		}
		switch n++; n % 3 {
		case 0:
			put(t, from, key, []byte("another"))
		case 1:
			remove(t, from, key)
		}
	}
	put(t, from, "a", nil)
	if _, err := Copy(t.Context(), from, to, options); err != nil {
		t.Fatal(err)
	}
	equal(t, from, to)
}

// full is an engine whose disk has room for a number of commits.
type full struct {
	kv.Engine
	room int
}

var errFull = dberr.New(dberr.Full, "", "The disk is full.")

func (e *full) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	if e.room--; e.room < 0 {
		return errFull
	}
	return e.Engine.Update(ctx, fn, locked...)
}

// TestFullDisk: a copy for which the target has no room says so, and goes on when there is some.
func TestFullDisk(t *testing.T) {
	from, to := model(t, kv.Limits{}), &full{Engine: model(t, small)}
	fill(t, from, 150)
	tries := 0
	for ; ; tries++ {
		to.room = 3 // of which the marker takes one
		_, err := Copy(t.Context(), from, to, options)
		if err == nil {
			break
		}
		if !dberr.Is(err, dberr.Full) || tries > 100 {
			t.Fatal(err)
		}
	}
	if tries < 2 {
		t.Errorf("it took %d tries", tries)
	}
	equal(t, from, to)
}

// TestTargets: a copy goes into an engine that is empty but for what is skipped, or has a part of the same copy.
func TestTargets(t *testing.T) {
	from := model(t, kv.Limits{})
	fill(t, from, 10)
	put(t, from, "skipped", []byte("the source's"))
	o := options
	o.Skip = func(key []byte) bool { return string(key) == "skipped" }
	for _, c := range []struct {
		key, value string
		want       error
	}{
		{"skipped", "its own", nil},
		{"x", "", errTaken},
		{"m/store", "of another", errTaken},
		{"m/store", "", errTaken},
		{"m/store", "whole", errWhole},
		{"m/store", "M\x06other!\x01x", errOther},
		{"m/store", "M", errOther},
		{"m/store", "M\x05whole\x01x", nil},
	} {
		to := model(t, kv.Limits{})
		put(t, to, c.key, []byte(c.value))
		before := rowsOf(t, to)
		_, err := Copy(t.Context(), from, to, o)
		if c.want != nil {
			if !errors.Is(err, c.want) || fmt.Sprint(rowsOf(t, to)) != fmt.Sprint(before) {
				t.Errorf("%q: %v", c.value, err)
			}
			continue
		}
		got := rowsOf(t, to)
		if err != nil || got["m/store"] != "whole" || got["skipped"] != before["skipped"] {
			t.Errorf("%q: %v %q", c.value, err, got["skipped"])
		}
	}
}

// TestFinish: what Finish fails with leaves a part, and another copy that has begun ends this one.
func TestFinish(t *testing.T) {
	from, to := model(t, kv.Limits{}), model(t, kv.Limits{})
	fill(t, from, 10)
	given := errors.New("given")
	o := options
	o.Finish = func(context.Context) error { return given }
	if _, err := Copy(t.Context(), from, to, o); !errors.Is(err, given) || rowsOf(t, to)["m/store"][0] != 'M' {
		t.Error(err)
	}
	o.Finish = func(ctx context.Context) error {
		_, err := Copy(ctx, from, to, options)
		return err
	}
	if _, err := Copy(t.Context(), from, to, o); !errors.Is(err, errConcurrent) {
		t.Error(err)
	}
	equal(t, from, to)
}

// altered is an engine that stores another value for a row.
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
	fill(t, from, 10)
	put(t, from, "a/bad", []byte("right"))
	if _, err := Copy(t.Context(), from, altered{to}, options); !dberr.Is(err, dberr.Internal) {
		t.Errorf("%v", err)
	}
	if rowsOf(t, to)["m/store"] == "whole" {
		t.Error("it looks whole")
	}
}
