package pgkv

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// sharedAttempts is how often a closure is run beside others before it keeps all other
// writers out.
const sharedAttempts = 8

// errConflict says that a transaction has to be run again.
var errConflict = errors.New("pgkv: conflicting commit")

// Update implements kv.Engine.
func (e *Engine) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	if err := e.enter(ctx); err != nil {
		return err
	}
	defer e.open.RUnlock()
	numbers, unlock, err := e.lock(ctx, locked)
	if err != nil {
		return err
	}
	defer unlock()
	u := &updater{e: e, ctx: ctx, locks: numbers}
	defer u.end()
	for attempt := 0; ; attempt++ {
		err := u.attempt(fn, attempt >= sharedAttempts)
		if err != errConflict {
			return err
		}
		e.stats.conflicts.Add(1)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// updater runs one closure until it is committed. It keeps the connection from one run to
// the next, and with it the locks.
type updater struct {
	e         *Engine
	ctx       context.Context
	locks     []byte
	s         *session
	lostConns retry // of connections that are lost
}

// end gives back the connection, with what a panic has left open.
func (u *updater) end() {
	if u.s != nil {
		(&reader{e: u.e, s: u.s}).end()
	}
}

// attempt runs fn once.
func (u *updater) attempt(fn func(kv.Txn) error, alone bool) error {
	t := &txn{reader: reader{e: u.e, ctx: u.ctx, pool: u.e.writes, begun: u.e.o.Now(), locks: u.locks, exclusive: alone, s: u.s}}
	u.s = nil
	defer func() { u.s, t.s = t.s, nil }()
	if err := fn(longKeys.Txn(t)); err != nil {
		if t.lost != nil && t.taken && u.shouldRetry(t.lost) {
			return errConflict
		}
		return err
	}
	if err := t.check(); err != nil {
		return err
	}
	if t.lost != nil {
		if u.shouldRetry(t.lost) {
			return errConflict
		}
		return t.lost
	}
	return t.commit()
}

// shouldRetry reports whether a closure whose connection was lost before its commit runs again.
func (u *updater) shouldRetry(err error) bool {
	u.lostConns.e = u.e
	return dberr.Is(err, dberr.Unavailable) && u.lostConns.wait(u.ctx, err)
}

// commit makes the writes durable, in one trip. The error is errConflict where the closure
// has to be run again.
func (t *txn) commit() error {
	if len(t.own) == 0 && len(t.locked) == 0 {
		return nil
	}
	if !t.taken {
		if err := t.begin(func() {}); err != nil {
			return err
		}
	}
	done := false
	calls := append(t.calls(), call{name: stCommit, done: func(tag pgconn.CommandTag) { done = tag.String() == "COMMIT" }})
	if t.s.locked {
		calls = append(calls, call{name: stUnlock})
	}
	t.e.stats.trips.Add(1)
	err := t.s.trip(context.Background(), t.e.o.Timeout, calls...)
	if done && t.s.unreplicated() {
		err, done = &connLostError{errUnreplicated}, false
	}
	if err == nil && done {
		t.s.open, t.s.locked = false, false
	}
	if done {
		t.e.stats.commits.Add(1)
		t.e.full.Store(false)
		if err != nil {
			t.drop()
		}
		return nil
	}
	return t.failed(err)
}

// failed says what became of a commit that was not acknowledged.
func (t *txn) failed(err error) error {
	var refused *pgconn.PgError
	lost := (*connLostError)(nil)
	switch {
	case errors.As(err, &lost):
		if !errors.As(err, &refused) && !errors.Is(err, errUnreplicated) { // no word of the backend's end
			t.e.hold(t.s)
			t.s = nil
		}
		t.drop()
		if t.stoodStill(err) {
			return errConflict
		}
		if errors.As(err, &refused) && refused.Code == stoodStill {
			return t.e.unavailable(err)
		}
		t.e.stats.unknown.Add(1)
		return &dberr.Error{Op: "pgkv.Update", Kind: dberr.UnknownOutcome,
			Reason: "It is not known whether the write has been stored.", Cause: err}
	case errors.As(err, &refused) && conflicting(refused.Code):
		return errConflict
	case err == nil:
		err = errors.New("COMMIT was answered by something else")
	}
	t.drop()
	return t.e.unavailable(err)
}

// conflicting reports whether an error means that another transaction came first.
func conflicting(code string) bool {
	switch code {
	case "40001", // the row has changed since the snapshot
		"40P01": // a deadlock: two transactions of which each writes what the other has read
		return true
	}
	return false
}

// effects are what a commit does, by keys.
type effects struct {
	hold   [][]byte // rows that must be as the snapshot has them
	update [][]byte // rows of the snapshot that change
	claim  [][]byte // keys of which it is not known whether the snapshot has them
	put    [][]byte // those, and keys that it does not have
	gone   [][]byte
}

// calls are a transaction's locks and writes.
func (t *txn) calls() (calls []call) {
	f := t.effects()
	say := func(name string, keys [][]byte, values bool) {
		if len(keys) == 0 {
			return
		}
		slices.SortFunc(keys, bytes.Compare)
		c := call{name: name, args: [][]byte{array(oidBytea, keys)}}
		if values {
			c.args = append(c.args, array(oidBytea, t.values(keys)))
		}
		calls = append(calls, c)
	}
	say(stShare, f.hold, false)
	say(stClaim, f.claim, false)
	say(stUpdate, f.update, true)
	say(stPut, f.put, true)
	say(stDelete, f.gone, false)
	return calls
}

// effects returns what the commit does.
//
// PostgreSQL finds a conflict where it locks, changes or deletes a row of the snapshot, and
// where it inserts one that another transaction has inserted; but to insert a row that another
// has deleted is none. So what is put without having been read is looked for first.
func (t *txn) effects() (f effects) {
	for key, w := range t.own {
		there, known := t.known[key]
		switch {
		case w.Put && there:
			f.update = append(f.update, w.Key)
		case w.Put:
			f.put = append(f.put, w.Key)
			if !known {
				f.claim = append(f.claim, w.Key)
			}
		case there || !known:
			f.gone = append(f.gone, w.Key)
		}
	}
	for key := range t.locked {
		there := t.known[key]
		w := t.own[key]
		switch {
		case there && w == nil:
			f.hold = append(f.hold, []byte(key))
		case !there && (w == nil || !w.Put):
			f = t.ghost(f, []byte(key))
		}
	}
	return f
}

// ghost has the commit depend on the absence of a key, which no row stands for: one is put, which
// fails if another transaction has put it, and makes another wait that wants to; and deleted.
func (t *txn) ghost(f effects, key []byte) effects {
	f.put = append(f.put, key)
	if _, known := t.known[string(key)]; known || t.own[string(key)] == nil {
		f.gone = append(f.gone, key)
	}
	return f
}

// values are what is put under keys: nothing under those that are deleted at once.
func (t *txn) values(keys [][]byte) [][]byte {
	values := make([][]byte, len(keys))
	for i, key := range keys {
		if w := t.own[string(key)]; w != nil {
			values[i] = w.Value
		}
	}
	return values
}
