package pgkv

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// A backend of PostgreSQL that waits for the synchronous standby does not notice that its client has
// gone, and stays for as long as the standby is away. To cancel its wait, as pgx does when a connection is given up,
// would make its commit visible, and others would read what is lost if the standby takes over.
// So that those backends do not use up all connections of PostgreSQL,
// each keeps the seat of the connection that it was reached by: there are never more of
// them than an engine has connections for writes.

// held are the backends that may wait for the standby, and the seats that they keep.
type held struct {
	sync.Mutex
	seats    map[uint32]*lounge // by the process id of the backend
	watching bool
}

// heldEvery is how often it is looked whether they still wait.
const heldEvery = time.Second

// stAskHeld finds those of the backends that wait.
const stAskHeld = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND pid = ANY($1)"

// uncancelled returns how connections are made on which nothing is cancelled when they are given up: once one is
// made, pgx dials again only for that. What waits for locks the server ends by itself, when it finds that nobody is there.
func uncancelled(config *pgxpool.Config) *pgxpool.Config {
	config = config.Copy()
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		dial, made := c.DialFunc, new(atomic.Bool)
		c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			if made.Load() {
				return nil, errUncancelled
			}
			return dial(ctx, network, address)
		}
		c.AfterConnect = func(context.Context, *pgconn.PgConn) error {
			made.Store(true)
			return nil
		}
		return nil
	}
	return config
}

var errUncancelled = errors.New("pgkv: commits are not cancelled")

// timedOut reports whether the server did not answer in time, on a connection that nothing else has happened to.
func timedOut(err error) bool {
	var late net.Error
	return errors.As(err, &late) && late.Timeout()
}

// hold ends a connection on which a commit was not answered in time, and keeps its seat while the backend waits for
// the standby.
func (e *Engine) hold(s *session) {
	pid, seat := s.conn.Conn().PgConn().PID(), s.seat
	s.seat = nil
	s.destroy()
	if seat == nil {
		return
	}
	e.held.Lock()
	defer e.held.Unlock()
	if e.held.seats == nil {
		e.held.seats = map[uint32]*lounge{}
	}
	e.held.seats[pid] = e.writes
	e.writes.kept.Add(1)
	if !e.held.watching {
		e.held.watching = e.messages.begin(e.watchHeld)
	}
	if !e.held.watching {
		e.letGo(nil)
	}
}

// letGo gives back the seats of those that do not wait. The caller holds the lock.
func (e *Engine) letGo(waiting map[uint32]bool) {
	for pid, l := range e.held.seats {
		if !waiting[pid] {
			delete(e.held.seats, pid)
			l.kept.Add(-1)
			<-l.seats
		}
	}
}

// watchHeld looks for those that wait until there are none, or the engine is closed.
func (e *Engine) watchHeld() {
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			end(conn)
		}
	}()
	for more := true; more; {
		waiting, err := map[uint32]bool(nil), e.messages.ctx.Err()
		if err == nil {
			waiting, err = e.askHeld(&conn)
		}
		more = e.noteHeld(waiting, err)
		if more {
			kv.Pause(e.messages.ctx, heldEvery)
		}
	}
}

// noteHeld notes who waits, and reports whether anybody does. A server that has no connection left for the question
// has not been asked; one that can't be reached has perhaps none that wait.
func (e *Engine) noteHeld(waiting map[uint32]bool, err error) (more bool) {
	e.held.Lock()
	defer e.held.Unlock()
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == tooManyConnections {
		return true
	}
	e.letGo(waiting)
	e.held.watching = len(e.held.seats) > 0
	return e.held.watching
}

// askHeld returns those that wait. It asks on a connection of its own.
func (e *Engine) askHeld(conn **pgx.Conn) (waiting map[uint32]bool, err error) {
	ctx, cancel := context.WithTimeout(e.messages.ctx, probeFor)
	defer cancel()
	if *conn == nil || (*conn).IsClosed() {
		if *conn, err = e.beside(ctx); err != nil {
			return nil, err
		}
	}
	rows, err := (*conn).Query(ctx, stAskHeld, e.heldPids())
	if err != nil {
		return nil, err
	}
	waiting = map[uint32]bool{}
	var pid int32
	_, err = pgx.ForEachRow(rows, []any{&pid}, func() error {
		waiting[uint32(pid)] = true
		return nil
	})
	return waiting, err
}

func (e *Engine) heldPids() (pids []int32) {
	e.held.Lock()
	defer e.held.Unlock()
	for pid := range e.held.seats {
		pids = append(pids, int32(pid))
	}
	return pids
}

// errHeld is told those for whom there is no connection, because commits wait for the standby.
func errHeld() error {
	return dberr.New(dberr.Unavailable, "", "The commits of the PostgreSQL server wait for its standby.")
}
