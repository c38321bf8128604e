package pebblekv

import (
	"context"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// patience is how often a closure is rerun beside others before it gets the
// engine for itself.
const patience = 8

// errConflict says that a transaction has to be run again.
var errConflict = errors.New("pebblekv: conflicting commit")

// Update implements kv.Engine.
func (e *Engine) Update(ctx context.Context, fn func(kv.Txn) error) error {
	return e.Pipeline(ctx, fn, func() {})
}

// Pipeline implements kv.Pipeliner.
func (e *Engine) Pipeline(ctx context.Context, fn func(kv.Txn) error, applied func()) error {
	if err := e.enter(ctx); err != nil {
		return err
	}
	defer e.open.RUnlock()
	for run := 0; ; run++ {
		var err error
		if run < patience {
			err = e.attempt(ctx, fn, applied)
		} else {
			err = e.attemptAlone(ctx, fn, applied)
		}
		if err != errConflict {
			return err
		}
		e.stats.conflicts.Add(1)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// attempt runs fn once beside other transactions.
func (e *Engine) attempt(ctx context.Context, fn func(kv.Txn) error, applied func()) error {
	t, err := e.begin(ctx)
	if err != nil {
		return err
	}
	defer t.end()
	if err := fn(t); err != nil {
		return e.refuse(t, err)
	}
	batch, err := t.batch()
	if err != nil {
		return err
	}
	defer batch.Close()
	e.commit.Lock()
	st, err := e.apply(t, batch)
	e.commit.Unlock()
	return e.finish(t, batch, st, err, applied)
}

// attemptAlone runs fn with the commit mutex held, so that nothing can conflict
// with it.
func (e *Engine) attemptAlone(ctx context.Context, fn func(kv.Txn) error, applied func()) error {
	t, batch, st, err := e.applyAlone(ctx, fn)
	if t == nil {
		return err
	}
	defer t.end()
	if batch == nil {
		return e.refuse(t, err)
	}
	defer batch.Close()
	return e.finish(t, batch, st, err, applied)
}

// applyAlone is the part of attemptAlone under the mutex. Without a batch err
// is the closure's.
func (e *Engine) applyAlone(ctx context.Context, fn func(kv.Txn) error) (t *txn, _ *pebble.Batch, _ *state, err error) {
	e.commit.Lock()
	defer e.commit.Unlock()
	if t, err = e.begin(ctx); err != nil {
		return nil, nil, nil, err
	}
	ended := false
	defer func() {
		if !ended { // fn panicked
			t.end()
		}
	}()
	err = fn(t)
	ended = true
	if err != nil {
		return t, nil, nil, err
	}
	batch, err := t.batch()
	if err != nil {
		return t, nil, nil, err
	}
	st, err := e.apply(t, batch)
	return t, batch, st, err
}

func (e *Engine) begin(ctx context.Context) (*txn, error) {
	if err := e.stopped(); err != nil {
		return nil, err
	}
	return &txn{e: e, snapshot: snapshot{ctx: ctx, state: e.states.begin(), age: e.newAge()}}, nil
}

// refuse returns a closure's error once everything the closure read is on disk.
func (e *Engine) refuse(t *txn, err error) error {
	if stopped := e.states.waitDurable(t.state.n, e.stopped); stopped != nil {
		return stopped
	}
	return err
}

// batch gives the transaction's writes to Pebble's form. It is made before the
// commit mutex is taken, since copying a large transaction takes a while.
func (t *txn) batch() (*pebble.Batch, error) {
	batch := t.e.db.NewBatchWithSize(t.own.bytes + 16*len(t.own.entries) + 64)
	if err := t.own.appendTo(batch); err != nil {
		return nil, errors.Join(dberr.Wrap("pebblekv.Update", err), batch.Close())
	}
	return batch, nil
}

// apply validates t and makes its writes the applied state, which it returns;
// nil if there is nothing to write. The caller holds the commit mutex.
func (e *Engine) apply(t *txn, batch *pebble.Batch) (*state, error) {
	if err := t.age.check(); err != nil {
		return nil, err
	}
	writes := t.writes()
	recent := &e.commit.recent
	if recent.conflicts(t.state.n, t.locked) || recent.conflicts(t.state.n, writes) {
		return nil, errConflict
	}
	if batch.Empty() {
		return nil, nil
	}
	if err := e.stopped(); err != nil {
		return nil, err
	}
	return e.applyBatch(batch, t.state.n, writes, func(n uint64) { e.commit.hot.wrote(t, n, writes) })
}

// applyBatch hands batch to Pebble and takes the state it leaves. own is where
// the transaction began; applied is called with the commit's number before
// others can begin on it. The caller holds the commit mutex.
func (e *Engine) applyBatch(batch *pebble.Batch, own uint64, writes []uint64, applied func(n uint64)) (*state, error) {
	if err := e.db.ApplyNoSyncWait(batch, pebble.Sync); err != nil {
		return nil, dberr.Wrap("pebblekv.Update", err)
	}
	st := newState(e.db.NewSnapshot(), e.states.last()+1)
	applied(st.n)
	oldest, others := e.states.advance(st, own)
	if !others {
		e.commit.recent.forgetAll()
		return st, nil
	}
	e.commit.recent.forget(oldest)
	e.commit.recent.add(st.n, writes)
	return st, nil
}

// finish waits until the outcome of apply is on disk.
func (e *Engine) finish(t *txn, batch *pebble.Batch, st *state, err error, applied func()) error {
	if err != nil {
		return err
	}
	if st == nil {
		return e.refuse(t, nil)
	}
	applied()
	return e.sync(batch, st)
}

// sync waits until the batch that led to st is on disk and publishes st.
func (e *Engine) sync(batch *pebble.Batch, st *state) error {
	if err := batch.SyncWait(); err != nil {
		e.fail(err)
	}
	// The failing disk stops the engine before Pebble hears of a success.
	if err := e.unknown(); err != nil {
		st.release()
		return err
	}
	e.states.publish(st)
	e.stats.commits.Add(1)
	return nil
}
