package pgkv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sectional/sectional/internal/dberr"
)

// poolConfig returns how connections are made.
func (e *Engine) poolConfig() (*pgxpool.Config, error) {
	if !schemaName.MatchString(e.o.Schema) {
		return nil, dberr.New(dberr.Invalid, "", "The schema %q is not a name of small letters, digits and underscores.", e.o.Schema)
	}
	config, err := pgxpool.ParseConfig(e.o.URL)
	if err != nil { // its text leaves the password out
		return nil, dberr.New(dberr.Invalid, "", "The URL of the PostgreSQL server can't be understood: %v", err)
	}
	c := config.ConnConfig
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 5 * time.Second
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "sectional"
	}
	c.DefaultQueryExecMode = pgx.QueryExecModeExec // what is said often is prepared here
	c.OnNotice = noteUnreplicated
	c.DialFunc = dialer().DialContext
	config.AfterConnect = e.connected
	config.PingTimeout = min(e.o.Timeout, probeFor)
	config.MaxConnLifetimeJitter = 5 * time.Minute
	config.MaxConnIdleTime = 5 * time.Minute
	return config, nil
}

// connected prepares a new connection, in the time that a trip may take.
func (e *Engine) connected(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	pg := conn.PgConn()
	if _, err := pg.Exec(ctx, fmt.Sprintf(settings, e.o.Commit, e.o.standing().Milliseconds())).ReadAll(); err != nil {
		return err
	}
	p := pg.StartPipeline(ctx)
	for name, sql := range e.sql {
		p.SendPrepare(name, sql, nil)
	}
	if err := p.Sync(); err != nil {
		return err
	}
	return p.Close()
}

// session is a connection that a closure has for itself, and what state it is in.
type session struct {
	conn   *pgxpool.Conn
	slot   chan struct{} // gives back the right to a connection; nil while it lingers
	open   bool          // a transaction has begun, and perhaps failed
	locked bool          // it may hold locks that go on beyond a transaction
}

// call is one statement of a trip.
type call struct {
	name string // "": here the server forgets a failure and goes on with the next
	args [][]byte
	row  func(values [][]byte) // called with each row; the values are valid until it returns
	done func(tag pgconn.CommandTag)
}

// connLostError wraps what happened to a connection that can't be used any more.
type connLostError struct{ cause error }

func (e *connLostError) Error() string { return "connection lost: " + e.cause.Error() }
func (e *connLostError) Unwrap() error { return e.cause }

var asBinary = []int16{1}

// trip sends calls together and reads what comes back. Up to the next empty call, what
// follows a failed one is not done. The error is the first, a *pgconn.PgError or an
// *connLostError. A done ctx ends the trip by ending the connection; with the background's it may take
// as long as timeout.
func (s *session) trip(ctx context.Context, timeout time.Duration, calls ...call) error {
	pg := s.conn.Conn().PgConn()
	delete(pg.CustomData(), unreplicated)
	if ctx == context.Background() { // nothing is watched, which would cost a goroutine
		if err := pg.Conn().SetDeadline(time.Now().Add(timeout)); err != nil {
			return &connLostError{err}
		}
		defer func() { _ = pg.Conn().SetDeadline(time.Time{}) }() // if it is closed, that has been told
	}
	p := pg.StartPipeline(ctx)
	for _, c := range calls {
		if c.name == "" {
			p.SendPipelineSync()
		} else {
			p.SendQueryPrepared(c.name, c.args, asBinary, asBinary)
		}
	}
	if err := p.Sync(); err != nil {
		return &connLostError{err}
	}
	failed := answers(p, calls)
	if err := p.Close(); failed == nil || pg.IsClosed() {
		if failed == nil {
			failed = err
		}
		if failed != nil {
			return &connLostError{failed}
		}
	}
	return failed
}

// answers reads the answers to calls, and returns the first error.
func answers(p *pgconn.Pipeline, calls []call) (failed error) {
	for i := 0; ; i++ {
		result, err := p.GetResults()
		if rows, ok := result.(*pgconn.ResultReader); ok {
			err = calls[i].read(rows)
		} else if result == nil && err == nil {
			return failed
		}
		if err == nil {
			continue
		}
		if failed == nil {
			failed = err
		}
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Severity != "ERROR" {
			return failed
		}
		for i++; i < len(calls) && calls[i].name != ""; i++ { // the next result is that of the synchronization
		}
		i--
	}
}

// read reads the answer to one call.
func (c *call) read(rows *pgconn.ResultReader) error {
	for rows.NextRow() {
		if c.row != nil {
			c.row(rows.Values())
		}
	}
	tag, err := rows.Close()
	if err == nil && c.done != nil {
		c.done(tag)
	}
	return err
}

// unreplicated is under what a connection remembers that its last trip has committed what no standby has.
const unreplicated = "unreplicated"

// errUnreplicated says that the wait for a standby was cancelled. PostgreSQL warns of that, and acknowledges the commit
// as any other; but if the standby takes the server's place the commit is lost.
var errUnreplicated = errors.New("pgkv: the commit did not wait for its standby")

// noteUnreplicated remembers it. The text of the warning is in the language of the server.
func noteUnreplicated(pg *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine == "SyncRepWaitForLSN" || strings.Contains(n.Message, "synchronous replication") {
		pg.CustomData()[unreplicated] = true
	}
}

func (s *session) unreplicated() bool {
	return s.conn.Conn().PgConn().CustomData()[unreplicated] != nil
}

// destroy ends the connection, and with it whatever it holds.
func (s *session) destroy() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.conn.Conn().Close(ctx) // nothing could be done about it
	pg := s.conn.Conn().PgConn()
	hangUp := time.AfterFunc(2*partFor, func() { _ = pg.Conn().Close() })
	go func() {
		<-pg.CleanupDone()
		hangUp.Stop()
	}()
	s.release()
}

// release gives the connection back, in which no transaction is open.
func (s *session) release() {
	s.conn.Release()
	if s.slot != nil {
		<-s.slot
	}
}

// end ends the transaction, lets go of locks and gives the connection back.
func (s *session) end(timeout time.Duration) {
	calls := make([]call, 0, 2)
	if s.open {
		calls = append(calls, call{name: stRollback})
	}
	if s.locked {
		calls = append(calls, call{name: stUnlock})
	}
	if len(calls) > 0 && s.trip(context.Background(), timeout, calls...) != nil {
		s.destroy()
		return
	}
	s.release()
}
