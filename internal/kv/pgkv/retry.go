package pgkv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// away remembers since when the server has not answered, so that calls do not wait for
// long where others have waited in vain.
type away struct {
	since  atomic.Int64 // 0: it answers
	logged atomic.Bool  // calls have been refused, and the log says so
	log    *slog.Logger
}

// mark notes that the server does not answer, and returns since when.
func (a *away) mark() time.Time {
	now := time.Now()
	a.since.CompareAndSwap(0, now.UnixNano())
	return time.Unix(0, a.since.Load())
}

// back notes that it does.
func (a *away) back() {
	if a.since.Load() == 0 {
		return
	}
	if since := a.since.Swap(0); a.logged.Swap(false) {
		a.log.Info("the PostgreSQL server answers again", "away", time.Since(time.Unix(0, since)).Round(time.Second))
	}
}

// note notes that calls are refused, because the server has not answered for longer than they wait.
func (a *away) note(err error) {
	if a.since.Load() != 0 && !a.logged.Swap(true) {
		a.log.Error("the PostgreSQL server does not answer; until it does requests are refused", "error", err)
	}
}

// Full reports whether the last write found no room on the server's disk.
func (e *Engine) Full() bool { return e.full.Load() }

// The pauses between attempts to reach the server.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// retry says how often and how long a call tries again.
type retry struct {
	e     *Engine
	pause time.Duration
}

// wait waits before the next attempt after err, and reports whether there is one. The
// pauses become longer; they end when the server has been away for as long as the
// engine's patience, whoever noticed it first.
func (p *retry) wait(ctx context.Context, err error) bool {
	since := p.e.away.mark()
	if p.pause == 0 {
		p.pause = firstPause
	}
	if ctx.Err() != nil || !transient(err) {
		return false
	}
	if time.Since(since) > p.e.o.RetryFor {
		p.e.away.note(err)
		return false
	}
	kv.Pause(ctx, p.pause)
	p.pause = min(2*p.pause, longestPause)
	return ctx.Err() == nil
}

// transient reports whether an error passes by itself: a lost connection, or a server that
// starts, stops, or has no connection left.
func transient(err error) bool {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return true
	}
	switch refused.Code {
	case "57P01", "57P02", "57P03", // the server stops, has crashed, starts
		tooManyConnections,
		"25006",    // read-only: a standby that will be promoted, perhaps
		stoodStill, // idle for too long
		"08006", "08003", "08000", "08001", "08004":
		return true
	}
	return false
}

// tooManyConnections is the code of a server that has no connection left.
const tooManyConnections = "53300"

// connect takes a connection of a pool. It waits for one in ctx.
func (e *Engine) connect(ctx context.Context, pool *connPool) (*session, error) {
	for p := (retry{e: e}); ; {
		s, err := pool.take(ctx)
		if err == nil {
			return s, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if dberr.Is(err, dberr.Unavailable) { // it is there
			return nil, err
		}
		if !p.wait(ctx, err) {
			return nil, e.unavailable(err)
		}
	}
}

// connectPatiently makes a connection beside the pools.
func (e *Engine) connectPatiently(ctx context.Context, config *pgx.ConnConfig) (*pgx.Conn, error) {
	for p := (retry{e: e}); ; {
		conn, err := pgx.ConnectConfig(ctx, config)
		if err == nil || !p.wait(ctx, err) {
			return conn, err
		}
	}
}

// hints say what to do about what PostgreSQL refuses because it is not set up as it has to be.
var hints = map[string]string{
	"3D000": "The PostgreSQL server has no such database. Create it, with createdb, or name another in the URL.",
	"28000": "The PostgreSQL server does not let this user in. Look at the user in the URL, and at pg_hba.conf of the server.",
	"28P01": "The PostgreSQL server does not take the password. It may be in the URL, in $PGPASSWORD or in ~/.pgpass.",
	"42501": "The role may not do this in the PostgreSQL server: it has to own the database, or the schema if that is there.",
}

// hinted is an error of who opens the database, with what to do about it where that is known.
func hinted(err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || hints[refused.Code] == "" {
		return err
	}
	return &dberr.Error{Kind: dberr.Invalid, Reason: hints[refused.Code], Cause: err}
}

// unavailable is an error of PostgreSQL or of a connection in the contract's terms.
func (e *Engine) unavailable(err error) error {
	var known *dberr.Error
	var refused *pgconn.PgError
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case !errors.As(err, &refused):
		return &dberr.Error{Op: "pgkv", Kind: dberr.Unavailable, Reason: "The PostgreSQL server can't be reached.", Cause: awayBy(err)}
	case refused.Code == stoodStill:
		return &dberr.Error{Kind: dberr.SnapshotTooOld, Reason: "The snapshot is older than " + e.o.Age.String() + ".", Cause: err}
	case refused.Code == "53100":
		e.full.Store(true)
		return &dberr.Error{Op: "pgkv", Kind: dberr.Full, Reason: "The disk of the PostgreSQL server is full.", Cause: err}
	case transient(err) || refused.Code[:2] == "53" || refused.Code[:2] == "57":
		return &dberr.Error{Op: "pgkv", Kind: dberr.Unavailable, Reason: "The PostgreSQL server can't serve at present.", Cause: awayBy(err)}
	}
	return &dberr.Error{Op: "pgkv", Kind: dberr.Internal, Reason: "internal error", Cause: err}
}

// awayBy is the cause of an error that says that the server is away.
func awayBy(err error) error { return fmt.Errorf("%w: %w", kv.ErrAway, err) }
