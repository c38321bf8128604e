package pebblekv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// TestRuns cuts writes into tables.
func TestRuns(t *testing.T) {
	cut := func(value int, keys ...string) string {
		var o overlay
		for _, k := range keys {
			o.put([]byte(k), make([]byte, value))
		}
		var out []string
		order := o.order()
		for from, to := range o.runs(order) {
			out = append(out, fmt.Sprintf("%s to %s", o.entries[order[from]].key, o.entries[order[to-1]].key))
		}
		return strings.Join(out, ", ")
	}
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("db1/docs/%03d/x", i), fmt.Sprintf("db1/feed/%03d", i))
	}
	for _, c := range []struct{ name, got, want string }{
		{"one row", cut(1, "a"), "a to a"},
		{"kinds of rows", cut(1, append(many, "db1/lane")...), "db1/docs/000/x to db1/docs/099/x, db1/feed/000 to db1/feed/099, db1/lane to db1/lane"},
		{"nothing in common", cut(1, strings.Split("abcdefghijklmnop", "")...), "a to p"},
		{"a long run", cut(bulkBytes/4, "a", "ab", "ac"), "a to a, ab to ab, ac to ac"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
}

// loadRows writes rows of two kinds after those of the loads before, and a counter.
func loadRows(ctx context.Context, e *Engine, n int) error {
	return e.Update(ctx, func(t kv.Txn) error {
		for i := range 1000 {
			for _, kind := range []string{"document", "feed"} {
				if err := t.Put(fmt.Appendf(nil, "db/%s/%05d", kind, n*1000+i), bytes.Repeat([]byte{byte(i)}, 100)); err != nil {
					return err
				}
			}
		}
		return t.Put([]byte("db/counter"), fmt.Append(nil, n))
	})
}

// TestLoadsLieDeep has loads whose tables lie between no others: they go where
// compactions need not touch them again.
func TestLoadsLieDeep(t *testing.T) {
	e := open(t, Options{FS: vfs.NewMem(), bulk: 100 << 10})
	defer e.Close()
	for n := range 5 {
		if err := loadRows(context.Background(), e, n); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.db.Flush(); err != nil {
		t.Fatal(err)
	}
	m := e.db.Metrics()
	if n := m.Levels[6].TablesCount; n < 10 {
		t.Errorf("%d tables of 10 lie in the last level:\n%s", n, m)
	}
	if entries, err := e.bulks.fs.List("data/" + bulkDir); err != nil || len(entries) > 0 {
		t.Errorf("left over: %v (%v)", entries, err)
	}
}

// TestLoadsThatScatter has loads whose tables lie across those before: most go to
// the log, so that level 0 does not fill up with them.
func TestLoadsThatScatter(t *testing.T) {
	testrun.Sequential(t)
	e := open(t, Options{FS: vfs.NewMem(), bulk: 100 << 10})
	defer e.Close()
	const loads = 50
	random := rand.New(rand.NewPCG(1, 2))
	for range loads {
		err := e.Update(context.Background(), func(t kv.Txn) error {
			var err error
			for range 1000 {
				err = errors.Join(err, t.Put(binary.BigEndian.AppendUint64([]byte("index/"), random.Uint64()), make([]byte, 100)))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := e.bulks.taken.Load(); n == 0 || n > loads/5 {
		t.Errorf("%d of %d loads became tables", n, loads)
	}
}

// TestTablesThatFail has tables that can't be written, or not be taken in: the
// commit goes through the log.
func TestTablesThatFail(t *testing.T) {
	for _, kind := range []errorfs.OpKind{errorfs.OpCreate, errorfs.OpFileWrite, errorfs.OpLink} {
		fails := false
		hook := errorfs.InjectorFunc(func(op errorfs.Op) error {
			if fails && op.Kind == kind && isTable(op.Path) && strings.Contains(op.Path, bulkDir) {
				return errDisk
			}
			return nil
		})
		e := open(t, Options{FS: errorfs.Wrap(vfs.NewMem(), hook), bulk: 100 << 10})
		fails = true
		if err := loadRows(context.Background(), e, 7); err != nil {
			t.Fatal(err)
		}
		fails = false
		if n := e.bulks.taken.Load(); n > 0 && kind != errorfs.OpLink { // which is made up for by a copy
			t.Errorf("%v: %d transactions became tables", kind, n)
		}
		if err := e.View(context.Background(), func(s kv.Snapshot) error {
			n, err := s.Get([]byte("db/counter"))
			_, at := s.Get([]byte("db/document/07999"))
			if string(n) != "7" {
				err = fmt.Errorf("counter %q", n)
			}
			return errors.Join(err, at)
		}); err != nil {
			t.Errorf("%v: %v", kind, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
