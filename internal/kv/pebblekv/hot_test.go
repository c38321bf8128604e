package pebblekv

import (
	"context"
	"errors"
	"testing"

	"github.com/sectional/sectional/internal/kv"
)

// forUpdate reads a key for update in a transaction of its own and returns what it
// found, "" for nothing.
func forUpdate(t *testing.T, e *Engine, key string) string {
	t.Helper()
	var found []byte
	err := e.Update(t.Context(), func(tx kv.Txn) (err error) {
		if found, err = tx.GetForUpdate([]byte(key)); errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(found)
}

// move writes a row after reading it for update, twice, so that it is remembered.
func move(t *testing.T, e *Engine, key, value string) {
	t.Helper()
	for range 2 {
		update(t, e, func(tx kv.Txn) error {
			if _, err := tx.GetForUpdate([]byte(key)); err != nil && !errors.Is(err, kv.ErrNotFound) {
				return err
			}
			return tx.Put([]byte(key), []byte(value))
		})
	}
	if e.commit.hot.rows[key].value == nil {
		t.Fatalf("%s is not remembered", key)
	}
}

func TestHotRowsFollowEveryWrite(t *testing.T) {
	e := open(t, Options{Dir: t.TempDir()})
	defer e.Close()
	key := []byte("k")
	for _, step := range []struct {
		name  string
		write func() error
		want  string
	}{
		{"a plain put", func() error {
			return e.Update(t.Context(), func(tx kv.Txn) error { return tx.Put(key, []byte("plain")) })
		}, "plain"},
		{"a delete", func() error {
			return e.Update(t.Context(), func(tx kv.Txn) error { return tx.Delete(key) })
		}, ""},
		{"a discard", func() error {
			return e.Discard(t.Context(), kv.Range{Start: []byte("a"), End: []byte("z")})
		}, ""},
		{"a large value", func() error {
			return e.Update(t.Context(), func(tx kv.Txn) error { return tx.Put(key, make([]byte, maxHotBytes+1)) })
		}, string(make([]byte, maxHotBytes+1))},
		{"a refusal", func() error {
			_ = e.Update(t.Context(), func(tx kv.Txn) error {
				return errors.Join(tx.Put(key, []byte("lost")), context.Canceled)
			})
			return nil
		}, "moved"},
	} {
		move(t, e, "k", "moved")
		if err := step.write(); err != nil {
			t.Fatal(err)
		}
		if got := forUpdate(t, e, "k"); got != step.want {
			t.Errorf("after %s: %.20q, want %.20q", step.name, got, step.want)
		}
	}
}

// TestHotRowsAreOfTheirState: a transaction that began before a row was moved
// reads it as it was.
func TestHotRowsAreOfTheirState(t *testing.T) {
	e := open(t, Options{Dir: t.TempDir()})
	defer e.Close()
	move(t, e, "k", "old")
	var seen []string
	update(t, e, func(tx kv.Txn) error {
		if len(seen) == 0 {
			move(t, e, "k", "new")
		}
		v, err := tx.GetForUpdate([]byte("k"))
		seen = append(seen, string(v))
		if err == nil {
			v[0] = 'x' // the caller owns it
		}
		return err
	})
	if len(seen) != 2 || seen[0] != "old" || seen[1] != "new" || forUpdate(t, e, "k") != "new" {
		t.Errorf("saw %q", seen)
	}
}

func TestHotRowsAreBounded(t *testing.T) {
	e := open(t, Options{Dir: t.TempDir()})
	defer e.Close()
	for run := range 2 {
		update(t, e, func(tx kv.Txn) error {
			for i := range maxHotRows + 10 {
				if _, err := tx.GetForUpdate(headKey(i)); err != nil && !errors.Is(err, kv.ErrNotFound) {
					return err
				}
				if err := tx.Put(headKey(i), []byte{byte(run)}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if n := len(e.commit.hot.rows); n == 0 || n > maxHotRows {
		t.Errorf("%d rows are remembered", n)
	}
}
