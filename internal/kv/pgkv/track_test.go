package pgkv

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// left is how many triggers a table has, and rows the notes of them.
func left(t *testing.T, e *Engine) (triggers, notes int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), e.o.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), stillNoting, e.o.Schema+".kv").Scan(&triggers); err != nil {
		t.Fatal(err)
	}
	if triggers > 0 {
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM "+e.o.Schema+".written").Scan(&notes); err != nil {
			t.Fatal(err)
		}
	}
	return triggers, notes
}

// free waits until nobody tracks: PostgreSQL notices the end of a connection after a moment.
func free(t *testing.T, e *Engine) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), e.o.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, lock := range []string{trackingLock, notingLock} {
		if _, err := conn.Exec(t.Context(), "SELECT pg_advisory_lock($1), pg_advisory_unlock($1)", e.advisory(lock)); err != nil {
			t.Fatal(err)
		}
	}
}

func putKey(t *testing.T, e *Engine, key []byte) {
	t.Helper()
	if err := e.Update(t.Context(), func(tx kv.Txn) error { return tx.Put(key, []byte("x")) }); err != nil {
		t.Fatal(err)
	}
}

// TestTracking: long keys are told by where they lie, and nothing stays of a tracking that has ended.
func TestTracking(t *testing.T) {
	e := open(t, Options{})
	defer e.Close()
	long := bytes.Repeat([]byte("a"), storedKey+5)
	putKey(t, e, []byte("ab")) // before
	tr, err := e.Track(t.Context(), kv.Prefix([]byte("a")))
	if err != nil {
		t.Fatal(err)
	}
	putKey(t, e, long)
	putKey(t, e, []byte("b")) // elsewhere
	for range 2 {
		putKey(t, e, []byte("ac"))
	}
	if err := e.Update(t.Context(), func(tx kv.Txn) error { return tx.Delete([]byte("ab")) }); err != nil {
		t.Fatal(err)
	}
	keys, discarded, err := tr.Written(t.Context())
	if err != nil || len(discarded) != 1 || !discarded[0].Contains(long) || discarded[0].Contains([]byte("ac")) {
		t.Errorf("%d ranges, %v", len(discarded), err)
	}
	if len(keys) != 2 {
		t.Errorf("%q", keys)
	}
	if err := tr.End(); err != nil {
		t.Error(err)
	}
	if n, _ := left(t, e); n != 0 {
		t.Errorf("%d triggers are left", n)
	}
}

// TestTrackerDies: what a tracker has left that was killed notes nothing, and goes; the next one can track at once.
func TestTrackerDies(t *testing.T) {
	e := open(t, Options{})
	defer e.Close()
	die := func() *tracking {
		tr, err := e.Track(t.Context(), kv.Range{})
		if err != nil {
			t.Fatal(err)
		}
		putKey(t, e, []byte("a"))
		end(tr.(*tracking).conn)
		free(t, e)
		return tr.(*tracking)
	}
	dead := die()
	if _, _, err := dead.Written(t.Context()); !dberr.Is(err, dberr.Unavailable) {
		t.Errorf("it was told what is not known: %v", err)
	}
	again := die()
	putKey(t, e, []byte("b"))
	if n, notes := left(t, e); n != 3 || notes > 1 {
		t.Errorf("%d triggers, %d notes", n, notes)
	}
	free(t, e)
	other := open(t, Options{Schema: e.o.Schema})
	defer other.Close()
	if n, _ := left(t, e); n != 0 {
		t.Errorf("%d triggers are left", n)
	}
	if err := again.End(); err != nil {
		t.Error(err)
	}
}

// TestFenceDies: a fence goes with who put it up, and what was to be written behind it is not.
func TestFenceDies(t *testing.T) {
	e := open(t, Options{})
	defer e.Close()
	tr, err := e.Track(t.Context(), kv.Range{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.End()
	if err := tr.Fence(t.Context()); err != nil {
		t.Fatal(err)
	}
	endFence(t, e, tr)
	putKey(t, e, []byte("a"))
	err = tr.Through(t.Context(), func(tx kv.Txn) error { return tx.Put([]byte("moved"), nil) }, dberr.New(dberr.Unavailable, "moved", "gone"))
	if err == nil {
		t.Error("it went through a fence that was down")
	}
	putKey(t, e, []byte("b"))
}

// TestFenceFell: who asks for a fence again is told that it fell, and may put up another.
func TestFenceFell(t *testing.T) {
	e := open(t, Options{})
	defer e.Close()
	tr, err := e.Track(t.Context(), kv.Range{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.End()
	if err := errors.Join(tr.Fence(t.Context()), tr.Fence(t.Context())); err != nil {
		t.Fatal(err)
	}
	endFence(t, e, tr)
	putKey(t, e, []byte("a"))
	if err := tr.Fence(t.Context()); !errors.Is(err, context.DeadlineExceeded) || !dberr.Is(err, dberr.Unavailable) {
		t.Fatalf("a fence that fell: %v", err)
	}
	if err := tr.Fence(t.Context()); err != nil {
		t.Fatal(err)
	}
	if keys, _, err := tr.Written(t.Context()); err != nil || len(keys) != 1 || string(keys[0]) != "a" {
		t.Errorf("%q %v", keys, err)
	}
	if err := tr.Through(t.Context(), func(tx kv.Txn) error { return tx.Put([]byte("moved"), nil) }, nil); err != nil {
		t.Error(err)
	}
}

// endFence has PostgreSQL end the session of a fence.
func endFence(t *testing.T, e *Engine, tr kv.Tracking) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), e.o.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "SELECT pg_terminate_backend($1)", tr.(*tracking).fence.conn.Conn().PgConn().PID()); err != nil {
		t.Fatal(err)
	}
}

// TestRefusalIsTakenBack: who moved a store away can have it take writes again.
func TestRefusalIsTakenBack(t *testing.T) {
	e := open(t, Options{})
	defer e.Close()
	tr, err := e.Track(t.Context(), kv.Range{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Fence(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = tr.Through(t.Context(), func(tx kv.Txn) error { return tx.Put([]byte("moved"), nil) }, dberr.New(dberr.Unavailable, "moved", "gone"))
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.End(); err != nil {
		t.Error(err)
	}
	if err := e.Discard(t.Context(), kv.Prefix([]byte("a"))); !dberr.Is(err, dberr.Unavailable) || !e.Refused() {
		t.Errorf("%v, refused %v", err, e.Refused())
	}
	if err := e.Admit(t.Context()); err != nil || e.Refused() {
		t.Errorf("%v, refused %v", err, e.Refused())
	}
	putKey(t, e, []byte("a"))
}
