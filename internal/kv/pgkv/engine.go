// Package pgkv is a shared engine: it keeps the kv contract over one table of a
// PostgreSQL server, for any number of processes.
//
// It owns how the contract becomes SQL: snapshots (reader.go), transactions whose
// writes wait in memory and go out in one trip (txn.go, commit.go), locks before a
// snapshot (lock.go), walks in pages (iterator.go), connections and what becomes of
// them when the server goes away (session.go, retry.go, probe.go, held.go, cancel.go), messages between processes
// (messages.go), and its table (schema.go).
// The reasons, and what was measured, are in docs/decisions/0070-postgresql.md. It must
// not know what a row means.
//
// Begin reading at Engine and at (*Engine).Update.
package pgkv

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// Engine is a kv.Engine over one table.
//
// A closure reads in a transaction of the level REPEATABLE READ, which begins with its
// first read, in the same trip. What it writes stays in memory; its commit sends, in one
// trip, a lock on each row that it read for update, its writes, and COMMIT. At that
// level PostgreSQL itself refuses (40001) to lock, change or delete a row that another
// transaction has changed since the snapshot, and to insert one that another has
// inserted; that is the contract's conflict, and the closure is run again.
//
// Views and Updates have pools of their own, so that neither takes the connections of
// the other.
type Engine struct {
	o       Options
	views   *connPool
	writes  *connPool
	sql     statements
	locks   locks
	stats   counters
	away    away
	probe   probe
	blocked blockers
	full    atomic.Bool // the last write found no room
	config  *pgx.ConnConfig

	messages *messages

	open   sync.RWMutex // read-held by every running call; Close takes it for good
	close  sync.Once
	ending sync.WaitGroup // transactions that are being ended in the background
}

var (
	_ kv.Engine       = (*Engine)(nil)
	_ kv.SizeReporter = (*Engine)(nil)
	_ kv.Messenger    = (*Engine)(nil)
	_ kv.SharedEngine = (*Engine)(nil)
	_ kv.ClockReader  = (*Engine)(nil)
)

// Open connects to the server that o names and creates the table if there is none.
// Errors: Invalid for a URL that can't be understood or a server whose settings would lose
// writes; Unavailable when the server is away; Internal when it refuses.
func Open(ctx context.Context, o Options) (*Engine, error) {
	o = o.withDefaults()
	e := &Engine{o: o, sql: newStatements(o.Schema, o.standing().Milliseconds(), o.MaxBlocking.Milliseconds()), messages: newMessages()}
	e.away.log = o.Logger
	config, err := e.poolConfig()
	if err != nil {
		return nil, err
	}
	e.config = config.ConnConfig
	if err := e.prepareSchema(ctx, config.ConnConfig); err != nil {
		return nil, dberr.Wrap("pgkv.Open", e.unavailable(hinted(err)))
	}
	if e.views, err = newConnPool(ctx, parting(config, true), o.readers(), o.RetryFor, e.finish); err != nil {
		return nil, dberr.Wrap("pgkv.Open", err)
	}
	if e.writes, err = newConnPool(ctx, parting(config, false), o.writers(), o.RetryFor, e.finish); err != nil {
		e.views.close()
		return nil, dberr.Wrap("pgkv.Open", err)
	}
	return e, nil
}

// finish ends the transaction of a connection and gives it back.
func (e *Engine) finish(s *session) { s.end(e.o.Timeout) }

// Limits implements kv.Engine.
func (e *Engine) Limits() kv.Limits {
	return kv.Limits{Key: maxKey, Value: maxValue, Txn: maxTxn, Age: e.o.Age, Idle: e.o.readers() / 2, Distant: true}
}

// Shared implements kv.Sharer: any number of servers may have the database open.
func (e *Engine) Shared() bool { return true }

// Time implements kv.Clocked by PostgreSQL's clock.
func (e *Engine) Time(ctx context.Context) (now time.Time, err error) {
	if err := e.enter(ctx); err != nil {
		return now, err
	}
	defer e.open.RUnlock()
	err = e.single(ctx, call{name: stTime, row: func(values [][]byte) { now = time.UnixMicro(int8From(values[0])) }})
	return now, err
}

// enter begins a call; it fails once Close was called. Every successful enter
// is followed by e.open.RUnlock.
func (e *Engine) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// Close takes the lock and keeps it, so that a failed try means closed.
	if !e.open.TryRLock() {
		return &dberr.Error{Kind: dberr.Unavailable, Reason: "The storage engine is closed.", Cause: kv.ErrStopped}
	}
	return nil
}

// View implements kv.Engine.
func (e *Engine) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	if err := e.enter(ctx); err != nil {
		return err
	}
	defer e.open.RUnlock()
	r := &reader{e: e, ctx: ctx, pool: e.views, begun: e.o.Now(), lingers: true}
	defer r.end()
	return fn(longKeys.Snapshot(r))
}

// Close implements kv.Engine.
func (e *Engine) Close() error {
	e.close.Do(func() {
		e.messages.close()
		if e.probe.conn != nil {
			end(e.probe.conn)
		}
		e.open.Lock() // waits for running calls; kept, so that later ones fail
		e.ending.Wait()
		e.views.close()
		e.writes.close()
	})
	return nil
}
