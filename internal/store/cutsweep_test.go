package store

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// meddled is an engine with which something happens while a transaction that has read the job of pieces runs for the first time.
type meddled struct {
	kv.Engine
	after  int // so many reads of the job for update are left alone
	meddle func()
}

func (m *meddled) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	return m.Engine.Update(ctx, func(tx kv.Txn) error {
		w := &watchedTxn{Txn: tx}
		err := fn(w)
		if !w.read || m.meddle == nil {
			return err
		}
		if m.after--; m.after < 0 {
			do := m.meddle
			m.meddle = nil
			do()
		}
		return err
	}, locked...)
}

type watchedTxn struct {
	kv.Txn
	read bool
}

func (w *watchedTxn) GetForUpdate(key []byte) ([]byte, error) {
	w.read = w.read || bytes.HasPrefix(key, keyspace.Job.Key(0, keyspace.T(jobPieces)))
	return w.Txn.GetForUpdate(key)
}

// TestPiecesComeAtTheEnd: a value that comes to lie in pieces while the job ends that looks for what is left of others finds
// the job there, or puts it there, at whatever moment that is.
func TestPiecesComeAtTheEnd(t *testing.T) {
	for after := 0; ; after++ {
		m := &meddled{Engine: kvtest.NewModel(kvtest.ModelOptions{}), after: after}
		w := openWorld(t, m, Options{LongestRow: 1000})
		d := w.create("db", false)
		put := func(body string) {
			t.Helper()
			if _, err := d.Whole().PutLocal(ctx, "_local/a", 0, []byte(body)); err != nil {
				t.Fatal(err)
			}
		}
		long := strings.Repeat("x", 5000)
		put(long)
		if err := d.Whole().DeleteLocal(ctx, "_local/a"); err != nil {
			t.Fatal(err)
		}
		w.later(piecesEvery)
		m.meddle = func() { put(long) }
		w.sweep()
		came := m.meddle == nil
		w.check()
		m.meddle = nil
		if came {
			if err := d.Whole().DeleteLocal(ctx, "_local/a"); err != nil {
				t.Fatal(err)
			}
			w.later(2 * piecesEvery)
			w.sweep()
		}
		w.wantNoJobs(t)
		w.closeAll()
		if !came {
			if after < 2 {
				t.Errorf("the job was read %d times", after)
			}
			return
		}
	}
}
