package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testrun"
)

// formerRows are rows of databases as format 6 had them, by key, and where they are to
// be: more than a page of removals, rows larger than a page, tenants' rows that stay.
func formerRows(databases ...*Database) (former, want map[string]string) {
	former, want = map[string]string{}, map[string]string{}
	add := func(d *Database, code byte, tail []byte, now []byte, value string) {
		before := append(keyspace.Database(d.number), code)
		former[string(append(before, tail...))], want[string(now)] = value, value
	}
	number := func(n uint64) []byte {
		return keyspace.IndexProgress.Key(0, keyspace.U(n))[len(keyspace.IndexProgress.Key(0)):]
	}
	text := func(s string) []byte {
		return keyspace.Partition.Key(0, keyspace.T(s))[len(keyspace.Partition.Key(0)):]
	}
	for _, d := range databases {
		ns, p := d.Whole(), d.Tenant("p")
		for n := range uint64(2100) {
			add(d, 0x52, number(n+300), ns.removalKey(keyspace.U(n+300)), fmt.Sprint("removal ", n))
		}
		for n := range uint64(5) {
			value := bytes.Repeat([]byte{byte(n)}, 600<<10)
			add(d, 0x80, number(n), ns.Key(&keyspace.Index, keyspace.U(n)), string(value))
			add(d, 0x81, text(fmt.Sprint("s", n)), ns.Key(&keyspace.IndexSignature, keyspace.T(fmt.Sprint("s", n))), fmt.Sprint("signature ", n))
			add(d, 0x82, text(fmt.Sprint("_design/", n)), ns.Key(&keyspace.IndexUse, keyspace.T(fmt.Sprint("_design/", n))), fmt.Sprint("use ", n))
		}
		for _, key := range [][]byte{p.Key(&keyspace.Index, keyspace.U(7)), p.removalKey(keyspace.U(8))} {
			former[string(key)], want[string(key)] = "a tenant's", "a tenant's"
		}
	}
	return former, want
}

// TestDefinitionsMove takes rows of format 6 to format 7, with an end at each page, after
// which another start goes on: all rows are where they belong, once.
func TestDefinitionsMove(t *testing.T) {
	testrun.Sequential(t)
	for stopAfter := range 4 {
		t.Run(fmt.Sprint(stopAfter), func(t *testing.T) { definitionsMove(t, stopAfter) })
	}
}

func definitionsMove(t *testing.T, stopAfter int) {
	w := newWorld(t, Options{Idle: true})
	names := []string{"one"}
	for i := range movedDatabases + 20 {
		names = append(names, fmt.Sprintf("p%03d", i))
		w.create(names[i+1], false)
	}
	names = append(names, "two")
	former, want := formerRows(w.create("one", true), w.create("two", false))
	err := w.Store.engine.Update(ctx, func(tx kv.Txn) error {
		value, err := tx.GetForUpdate(metaKey("store"))
		if err == nil {
			value[0] = 6
			err = tx.Put(metaKey("store"), value)
		}
		for key, value := range former {
			err = errors.Join(err, tx.Put([]byte(key), []byte(value)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	step := formatSteps[slices.IndexFunc(formatSteps, func(s formatStep) bool { return s.version == 7 })]
	stopped, pages, starts := errors.New("stopped"), 0, 0
	stopping := step
	stopping.migrate = func(tx kv.Txn, from []byte) (next []byte, done bool, err error) {
		if pages++; stopAfter > 0 && pages%(stopAfter+1) == 0 {
			return nil, false, stopped
		}
		return step.migrate(tx, from)
	}
	for {
		starts++
		if err := w.take(ctx, stopping); err == nil {
			break
		} else if !errors.Is(err, stopped) {
			t.Fatal(err)
		}
	}
	if pages < 8 || stopAfter > 0 && starts < 3 {
		t.Errorf("%d pages in %d starts", pages, starts)
	}
	got := map[string]string{}
	err = w.Store.engine.View(ctx, func(v kv.Snapshot) error {
		for _, name := range names {
			d, err := w.Database(ctx, name)
			if err != nil {
				return err
			}
			for _, code := range []byte{0x52, 0x80, 0x81, 0x82, keyspace.Index.Code, keyspace.IndexSignature.Code, keyspace.IndexUse.Code, keyspace.Removal.Code} {
				err := kv.Each(v, kv.Prefix(append(keyspace.Database(d.number), code)), func(key, value []byte) error {
					got[string(key)] = string(value)
					return nil
				})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %.2000s", err, diff)
	}
}
