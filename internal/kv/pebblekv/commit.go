package pebblekv

import (
	"context"
	"errors"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// sharedAttempts is how often a closure is run beside others before it gets the
// engine for itself.
const sharedAttempts = 8

// errConflict says that a transaction has to be run again.
var errConflict = errors.New("pebblekv: conflicting commit")

// Update implements kv.Engine.
func (e *Engine) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	return e.Pipeline(ctx, fn, func() {}, locked...)
}

// Pipeline implements kv.Pipeliner.
func (e *Engine) Pipeline(ctx context.Context, fn func(kv.Txn) error, applied func(), locked ...[]byte) error {
	if err := e.enter(ctx); err != nil {
		return err
	}
	defer e.open.RUnlock()
	if len(locked) > 0 {
		unlock, err := e.locks.Lock(ctx, locked)
		if err != nil {
			return err
		}
		defer unlock()
		then := applied
		applied = func() {
			unlock()
			then()
		}
	}
	for attempt := 0; ; attempt++ {
		var err error
		if attempt < sharedAttempts {
			err = e.attempt(ctx, fn, applied)
		} else {
			err = e.attemptSingle(ctx, fn, applied)
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
	w, err := t.prepare()
	if err != nil {
		return err
	}
	defer w.close()
	e.giveWay(ctx, t.own.bytes)
	e.commit.Lock()
	st, err := e.apply(t, w)
	e.commit.Unlock()
	return e.finish(t, w, st, err, applied)
}

// attemptSingle runs fn with the commit mutex held, so that nothing can conflict
// with it.
func (e *Engine) attemptSingle(ctx context.Context, fn func(kv.Txn) error, applied func()) error {
	t, w, st, err := e.applySingle(ctx, fn)
	if t == nil {
		return err
	}
	defer t.end()
	if w == nil {
		return e.refuse(t, err)
	}
	defer w.close()
	return e.finish(t, w, st, err, applied)
}

// applySingle is the part of attemptSingle under the mutex. Without writes err is
// the closure's.
func (e *Engine) applySingle(ctx context.Context, fn func(kv.Txn) error) (t *txn, _ *writes, _ *state, err error) {
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
	w, err := t.prepare()
	if err != nil {
		return t, nil, nil, err
	}
	st, err := e.apply(t, w)
	return t, w, st, err
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

// writes are a transaction's in the form in which Pebble takes them: a batch for
// the log, or tables (bulk.go).
type writes struct {
	e      *Engine
	own    *overlay
	batch  *pebble.Batch // nil for tables
	tables []string
}

// prepare returns the transaction's writes their form, before the commit mutex is
// taken, since that takes a while for a large transaction.
func (t *txn) prepare() (*writes, error) {
	w := &writes{e: t.e, own: &t.own}
	if len(t.own.entries) > 0 {
		if t.e.readOnly {
			return nil, dberr.New(dberr.Unavailable, "", "The data was opened to be read only.")
		}
		if err := t.e.space.admit(t.own.bytes, kv.IsFreeing(t.ctx)); err != nil {
			return nil, err
		}
	}
	if t.e.bulks.large(&t.own) && t.own.plain() {
		var err error
		if w.tables, err = t.e.bulks.write(&t.own); err == nil {
			return w, nil
		}
		t.e.log.Warn("the tables of a large commit can't be written", "err", err)
		if errors.Is(err, syscall.ENOSPC) {
			return nil, errFull
		}
	}
	return w, w.toLog()
}

// toLog makes the batch for the log.
func (w *writes) toLog() error {
	w.batch = w.e.db.NewBatchWithSize(w.own.bytes + 16*len(w.own.entries) + 96)
	if err := errors.Join(promiseIn(w.batch), w.own.appendTo(w.batch)); err != nil {
		w.close()
		return dberr.Wrap("pebblekv.Update", err)
	}
	return nil
}

// close releases what was not handed over. Pebble keeps a batch that was applied
// as long as it needs it, and takes tables away.
func (w *writes) close() {
	if w.batch != nil {
		_ = w.batch.Close() // a batch that has been built closes without an error
	}
	w.e.bulks.remove(w.tables)
}

// apply validates t and makes its writes the applied state, which it returns;
// nil if there is nothing to write. The caller holds the commit mutex.
func (e *Engine) apply(t *txn, w *writes) (*state, error) {
	if err := t.age.check(); err != nil {
		return nil, err
	}
	keys := t.keys()
	recent := &e.commit.recent
	if recent.conflicts(t.state.n, t.locked) || recent.conflicts(t.state.n, keys) {
		return nil, errConflict
	}
	if len(t.own.entries) == 0 {
		return nil, nil
	}
	if err := e.stopped(); err != nil {
		return nil, err
	}
	if e.space.full.Load() && !kv.IsFreeing(t.ctx) { // since it was admitted
		return nil, errFull
	}
	return e.hand(w, t.state.n, keys, func(n uint64) { e.commit.hot.wrote(t, n, keys) })
}

// hand hands writes to Pebble and takes the state they leave. own is where the
// transaction began, keys the hashes of what it wrote; applied is called with the
// commit's number before others can begin on it. The caller holds the commit
// mutex.
func (e *Engine) hand(w *writes, own uint64, keys []uint64, applied func(n uint64)) (*state, error) {
	defer e.disk.handing()()
	if w.batch == nil {
		if err := e.ingest(w); err != nil {
			return nil, err
		}
	}
	if w.batch != nil {
		e.disk.synced.Load().keep(w.batch)
		if err := e.db.ApplyNoSyncWait(w.batch, pebble.Sync); err != nil {
			return nil, dberr.Wrap("pebblekv.Update", err)
		}
	}
	st := newState(e.db.NewSnapshot(), e.states.last()+1)
	applied(st.n)
	oldest, others := e.states.advance(st, own)
	if !others {
		e.commit.recent.forgetAll()
		return st, nil
	}
	e.commit.recent.forget(oldest)
	e.commit.recent.add(st.n, keys)
	return st, nil
}

// finish waits until the outcome of apply is on disk.
func (e *Engine) finish(t *txn, w *writes, st *state, err error, applied func()) error {
	if err != nil {
		return err
	}
	if st == nil {
		return e.refuse(t, nil)
	}
	applied()
	return e.sync(w, st)
}

// sync waits until the writes that led to st are on disk and publishes st.
func (e *Engine) sync(w *writes, st *state) error {
	if w.batch != nil {
		if err := w.batch.SyncWait(); err != nil {
			e.fail(err)
		}
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
