package pebblekv

import (
	"bytes"
	"context"
	"errors"
	"syscall"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// beyond is greater than every key that can be written.
var beyond = bytes.Repeat([]byte{0xff}, maxKey+1)

// bounds returns r with both ends; ok is false if r holds no key. The start is
// never the empty key, which no row has: Pebble mishandles range tombstones that
// begin there (rows came back in builds with its invariant checks).
func bounds(r kv.Range) (start, end []byte, ok bool) {
	start, end = r.Start, r.End
	if len(start) == 0 {
		start = []byte{0}
	}
	if end == nil {
		end = beyond
	}
	return start, end, bytes.Compare(start, end) < 0
}

// Discard implements kv.Engine. It is one range tombstone, however much lies
// under it; Pebble drops whole tables under it within seconds of the flush that
// FlushDelayDeleteRange asks for, and rewrites the tables at its ends later.
func (e *Engine) Discard(ctx context.Context, r kv.Range) error {
	if err := e.enter(ctx); err != nil {
		return err
	}
	defer e.open.RUnlock()
	start, end, ok := bounds(r)
	if !ok {
		return nil
	}
	w := &writes{e: e, batch: e.db.NewBatch()}
	defer w.close()
	if err := errors.Join(promiseIn(w.batch), w.batch.DeleteRange(start, end, nil)); err != nil {
		return dberr.Wrap("pebblekv.Discard", err)
	}
	st, err := func() (*state, error) {
		e.commit.Lock()
		defer e.commit.Unlock()
		if err := e.stopped(); err != nil {
			return nil, err
		}
		return e.hand(w, noTxn, nil, func(uint64) { e.commit.hot.forget() })
	}()
	if err != nil {
		return err
	}
	e.disk.tables.discarded.Store(true)
	return e.sync(w, st)
}

// DiskSize implements kv.Measurer. Rows that are only in memtables yet do not
// count.
func (e *Engine) DiskSize(r kv.Range) (uint64, error) {
	if err := e.enter(context.Background()); err != nil {
		return 0, err
	}
	defer e.open.RUnlock()
	start, end, ok := bounds(r)
	if !ok {
		return 0, nil
	}
	n, err := e.db.EstimateDiskUsage(start, end)
	return n, dberr.Wrap("pebblekv.DiskSize", err)
}

// Compact implements kv.Compacter.
func (e *Engine) Compact(ctx context.Context, r kv.Range) error {
	if err := e.enter(ctx); err != nil {
		return err
	}
	defer e.open.RUnlock()
	start, end, ok := bounds(r)
	if !ok {
		return nil
	}
	err := e.db.Compact(ctx, start, end, true)
	if errors.Is(err, syscall.ENOSPC) { // what it would write needs room beside what it replaces
		return errFull
	}
	return dberr.Wrap("pebblekv.Compact", err)
}
