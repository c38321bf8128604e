package pgkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestErrors: what PostgreSQL says is told in the contract's terms.
func TestErrors(t *testing.T) {
	e := &Engine{o: Options{}.withDefaults()}
	for code, want := range map[string]dberr.Kind{
		"53100": dberr.Full,
		"53300": dberr.Unavailable,
		"57P01": dberr.Unavailable,
		"57P03": dberr.Unavailable,
		"25006": dberr.Unavailable,
		"25P03": dberr.SnapshotTooOld,
		"42P01": dberr.Internal,
	} {
		if err := e.unavailable(fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code})); !dberr.Is(err, want) {
			t.Errorf("%s is told as kind %d, want %d", code, dberr.KindOf(err), want)
		}
	}
	if err := e.unavailable(&connLostError{errors.New("EOF")}); !dberr.Is(err, dberr.Unavailable) {
		t.Errorf("a lost connection is told as kind %d", dberr.KindOf(err))
	}
}

// TestOptions: what would lose acknowledged writes, or can't be understood, is refused.
func TestOptions(t *testing.T) {
	url := postgres.Cluster(t).URL()
	for name, o := range map[string]Options{
		"commits that wait for nothing": {URL: url, Schema: "options", Commit: "off", Unsafe: true},
		"a server with fsync off":       {URL: url, Schema: "options"},
		"a schema that needs quotes":    {URL: url, Schema: `x"; DROP`, Unsafe: true},
		"no URL":                        {URL: "postgres://%%%", Unsafe: true},
	} {
		e, err := Open(context.Background(), o)
		if err == nil {
			e.Close()
		}
		if !dberr.Is(err, dberr.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFsyncOffIsTold: whoever has a server with fsync off taken finds it in the log at each start.
func TestFsyncOffIsTold(t *testing.T) {
	var log bytes.Buffer
	e, err := Open(t.Context(), Options{URL: postgres.Cluster(t).URL(), Schema: "told", Unsafe: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if said := log.String(); !strings.Contains(said, "level=ERROR") || !strings.Contains(said, "fsync OFF") {
		t.Errorf("the log has %q", said)
	}
}

// TestFormIsChecked: tables of another form are not touched.
func TestFormIsChecked(t *testing.T) {
	c := postgres.Cluster(t)
	e := open(t, Options{Schema: "newer"})
	e.Close()
	if err := c.Admin(context.Background(), "UPDATE newer.format SET version = version + 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), Options{URL: c.URL(), Schema: "newer", Unsafe: true}); !dberr.Is(err, dberr.Invalid) {
		t.Errorf("tables of a newer form: %v", err)
	}
}

// TestTripsOfAnUpdate holds how many round trips a transaction takes: one for its first read with the
// locks and the snapshot, one for the commit.
func TestTripsOfAnUpdate(t *testing.T) {
	e := open(t, Options{})
	defer e.Close()
	for range 2 {
		before := e.Metrics().Trips
		err := e.Update(context.Background(), func(tx kv.Txn) error {
			if _, err := tx.GetManyForUpdate([][]byte{[]byte("head"), []byte("a"), []byte("b")}); err != nil {
				return err
			}
			for _, key := range []string{"head", "a", "new1", "new2"} {
				if err := tx.Put([]byte(key), []byte("x")); err != nil {
					return err
				}
			}
			return tx.Delete([]byte("c"))
		}, []byte("head"))
		if trips := e.Metrics().Trips - before; err != nil || trips != 2 {
			t.Errorf("%d trips, want 2 (%v)", trips, err)
		}
	}
}

// TestSeekInFirstPages: whoever seeks in a page that came with a Read goes nowhere for it, before and after its first move.
func TestSeekInFirstPages(t *testing.T) {
	e := open(t, Options{Schema: "firstpages"})
	defer e.Close()
	if err := e.Update(context.Background(), func(tx kv.Txn) error {
		for i := range 20 {
			if err := tx.Put(fmt.Appendf(nil, "k%02d", i), []byte("x")); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	whole := kv.Range{Start: []byte("k"), End: []byte("l")}
	before := e.Metrics().Trips
	if err := e.View(context.Background(), func(s kv.Snapshot) error {
		found, err := s.Read(kv.Reads{Walks: []kv.Walk{
			{Range: whole, IterOptions: kv.IterOptions{Want: 12}},
			{Range: whole, IterOptions: kv.IterOptions{Want: 12, Reverse: true}},
			{Range: whole, IterOptions: kv.IterOptions{Want: 12}},
		}})
		if err != nil {
			return err
		}
		for i, seeks := range [][][2]string{
			{{"k", "k00"}, {"k05", "k05"}, {"k025", "k03"}, {"k11", "k11"}},
			{{"l", "k19"}, {"k15", "k15"}, {"k175", "k17"}, {"k08", "k08"}},
			{{"k04", "k04"}, {"k00", "k00"}},
		} {
			for _, seek := range seeks {
				if !found.Walks[i].Seek([]byte(seek[0])) || string(found.Walks[i].Key()) != seek[1] {
					t.Errorf("walk %d, Seek(%s): not at %s", i, seek[0], seek[1])
				}
			}
		}
		if !found.Walks[0].Seek([]byte("k10")) || !found.Walks[0].Next() || string(found.Walks[0].Key()) != "k11" {
			t.Error("Next after Seek")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if trips := e.Metrics().Trips - before; trips != 1 {
		t.Errorf("%d trips, want 1", trips)
	}
}

// TestDiskSize: few rows are counted, many estimated.
func TestDiskSize(t *testing.T) {
	c := postgres.Cluster(t)
	e := open(t, Options{Schema: "sizes"})
	defer e.Close()
	noise := kvtest.NewRand(1)
	for page := range 5 {
		if err := e.Update(context.Background(), func(tx kv.Txn) error {
			for i := range 1000 {
				if err := tx.Put(fmt.Appendf(nil, "k%06d", page*1000+i), noise.Bytes(500)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Admin(context.Background(), "ANALYZE sizes.kv"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		start, end string
		size       uint64
	}{{"k", "l", 5000 * 560}, {"k000100", "k000300", 200 * 560}, {"x", "", 0}, {"b", "a", 0}} {
		r := kv.Range{Start: []byte(want.start)}
		if want.end != "" {
			r.End = []byte(want.end)
		}
		if n, err := e.DiskSize(r); err != nil || n < want.size*8/10 || n > want.size*12/10 {
			t.Errorf("%s to %s: %d bytes, want about %d (%v)", want.start, want.end, n, want.size, err)
		}
	}
}

// TestViewIsForMany reads one snapshot by many goroutines, while others write.
func TestViewIsForMany(t *testing.T) {
	e := open(t, Options{})
	defer e.Close()
	put := func(value byte) {
		if err := e.Update(context.Background(), func(tx kv.Txn) error {
			for i := range 300 {
				if err := tx.Put(fmt.Appendf(nil, "k%03d", i), []byte{value}); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	put('a')
	err := e.View(context.Background(), func(s kv.Snapshot) error {
		if _, err := s.Get([]byte("k000")); err != nil {
			return err
		}
		failed := make(chan error)
		for range 4 {
			go func() {
				failed <- kv.Each(s, kv.Range{}, func(key, value []byte) error {
					if !bytes.Equal(value, []byte("a")) {
						return fmt.Errorf("%s is %s", key, value)
					}
					return nil
				})
			}()
		}
		put('b')
		var all error
		for range 4 {
			all = errors.Join(all, <-failed)
		}
		return all
	})
	if err != nil {
		t.Error(err)
	}
}
