package store

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// Every commit writes a row of its own, its token. When the engine cannot tell whether a
// commit happened, the token can; but a look is not enough, for the commit may still
// be on its way and arrive after it. So the store writes the token itself, as void:
// then the commit, which writes the same row and began before, cannot happen any more.
// If the token is there already, and is not void, the commit has happened.

// commit runs fn in a transaction together with a token row, and settles an
// unknown outcome by that row: fn's writes are there exactly if the token is.
func (s *Store) commit(ctx context.Context, fn func(kv.Txn) error) error {
	return s.pipeline(ctx, fn, func() {}, func(error) {})
}

// pipeline is commit, and calls applied when the next transaction reads the
// writes, if the engine can tell that before they are durable.
// away is called, perhaps several times, when the outcome can't be found out because the engine does not
// answer, with what it says instead.
// Keys named by locked are locked before the transaction's snapshot (kv.Engine.Update).
// Open claims in ctx are looked at before.
func (s *Store) pipeline(ctx context.Context, fn func(kv.Txn) error, applied func(), away func(error), locked ...[]byte) error {
	if err := preconditionsOf(ctx).Confirm(ctx); err != nil {
		return err
	}
	update := s.engine.Update
	if p, ok := s.base.(kv.Pipeliner); ok {
		update = func(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
			return s.engine.update(fn, func(fn func(kv.Txn) error) error { return p.Pipeline(ctx, fn, applied, locked...) })
		}
	}
	for {
		if s.outdated.Load() {
			return ErrOutdated
		}
		if s.twin.Load() {
			return s.errTwin()
		}
		key, err := s.newToken()
		if err != nil {
			return err
		}
		err = update(ctx, func(tx kv.Txn) error {
			if err := fn(tx); err != nil {
				return err
			}
			return tx.Put(key, []byte{rowVersion})
		}, locked...)
		if !dberr.Is(err, dberr.UnknownOutcome) {
			return err
		}
		happened, lost := s.resolveOutcome(ctx, key, away)
		if lost != nil {
			return errors.Join(err, lost)
		}
		if happened {
			return nil
		}
	}
}

// newToken returns the key of a new token.
func (s *Store) newToken() ([]byte, error) {
	token := make([]byte, 16)
	_, err := io.ReadFull(s.o.Rand, token)
	return keyspace.CommitToken.Key(0, keyspace.U(uint64(token[0]%tokenBuckets)), keyspace.U(uint64(s.o.Clock().Unix())), keyspace.B(string(token))), err
}

// tokenBuckets is how many places commits write their tokens to. In one place, in the order
// of time, all commits of all servers would write to the end of one range, which an engine
// that divides its ranges between machines has on one of them.
const tokenBuckets = 16

const (
	// resolveFor is how long an outcome is asked for while the engine is away. Tokens are
	// kept longer.
	resolveFor = tokenKeep / 2
	// askFor is how long others wait behind a commit of an engine that can be reached, but does not
	// tell what became of it, such as one whose commits wait for a standby that is away.
	askFor = 10 * time.Second
	// resolveEvery is how long the store waits after the first question that was not
	// answered; later it waits longer, up to resolveSeldom.
	resolveEvery  = 10 * time.Millisecond
	resolveSeldom = time.Second
)

// resolveOutcome finds out whether the commit of a token happened, and if it did not, that it
// will not. It asks until the engine answers, which may be away for a while. The error
// says that it stopped for good, or that the store is being closed.
func (s *Store) resolveOutcome(ctx context.Context, token []byte, waits func(error)) (happened bool, err error) {
	began := s.o.Clock()
	for pause := resolveEvery; ; pause = min(2*pause, resolveSeldom) {
		if happened, err = s.void(kv.Freeing(ctx), token); err == nil {
			return happened, nil
		}
		away := !errors.Is(err, kv.ErrStopped) && (dberr.Is(err, dberr.Unavailable) || dberr.Is(err, dberr.UnknownOutcome) || dberr.Is(err, dberr.SnapshotTooOld))
		if away && (dberr.Is(err, dberr.Unavailable) || s.o.Clock().Sub(began) > askFor) {
			waits(&dberr.Error{Kind: dberr.Unavailable, Reason: "It is not known yet what became of the last write to the database, since the storage engine does not answer.", Cause: err})
		}
		if !away || s.o.Clock().Sub(began) > resolveFor || !s.wait(ctx, pause) {
			return false, err
		}
	}
}

// void makes a token void unless it is there already, and reports whether it was there
// and not void.
func (s *Store) void(ctx context.Context, token []byte) (valid bool, err error) {
	err = s.engine.Update(ctx, func(tx kv.Txn) error {
		value, err := tx.GetForUpdate(token)
		valid = err == nil && len(value) == 1
		if errors.Is(err, kv.ErrNotFound) {
			return tx.Put(token, []byte{rowVersion, 0})
		}
		return err
	})
	return valid, err
}

// wait waits for a moment; false when the store is being closed, or ctx is done.
func (s *Store) wait(ctx context.Context, d time.Duration) bool {
	if s.o.Idle {
		d = 0 // a test's store: nobody is to be spared
	}
	select {
	case <-ctx.Done():
		return false
	case <-s.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
