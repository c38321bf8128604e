package pgkv

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sectional/sectional/internal/dberr"
)

// A pooler between may give a connection another session of the server with each transaction. Then locks would be let go
// of by others or by nobody, settings would be made for others, and statements be missing.

// sessionRounds is how often it is looked whether a pooler keeps sessions.
const sessionRounds = 8

// errSessions refuses a pooler.
var errSessions = dberr.New(dberr.Invalid, "", "A pooler before the PostgreSQL server does not keep the sessions of its clients. "+
	"Have it do that (of pgbouncer: pool_mode = session), or connect to the server itself.")

// checkSessions refuses a pooler that does not keep sessions. A server tells each connection the number of its session,
// which poolers make up: where it is the session's there is none between.
func (e *Engine) checkSessions(ctx context.Context, conn *pgx.Conn) error {
	mine, err := sessionOf(ctx, conn)
	if err != nil || mine == conn.PgConn().PID() {
		return err
	}
	other, err := e.connectPatiently(ctx, conn.Config())
	if err != nil {
		return err
	}
	defer end(other)
	for range sessionRounds {
		if err := sessionsDiffer(ctx, conn, other, mine); err != nil {
			return err
		}
	}
	return nil
}

// sessionsDiffer looks whether a connection has its session still while another is in a transaction.
func sessionsDiffer(ctx context.Context, conn, other *pgx.Conn, mine uint32) error {
	tx, err := other.Begin(ctx)
	if err != nil {
		return ofPooler(err)
	}
	theirs, err := sessionOf(ctx, other)
	if err != nil {
		return ofPooler(err)
	}
	now, err := sessionOf(ctx, conn)
	if err == nil && (theirs == mine || now != mine) {
		err = errSessions
	}
	return errors.Join(err, tx.Rollback(ctx))
}

// ofPooler is an error of a transaction: one that keeps sessions for statements only refuses them.
func ofPooler(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && !transient(err) {
		return errSessions
	}
	return err
}

// sessionOf is the number of the session that a statement runs in.
func sessionOf(ctx context.Context, conn *pgx.Conn) (pid uint32, err error) {
	err = conn.QueryRow(ctx, "SELECT pg_backend_pid()::int8").Scan(&pid)
	return pid, err
}
