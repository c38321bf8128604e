package pgkv

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// A backend of PostgreSQL that waits for the synchronous standby does not notice that its client has
// gone, and stays for as long as the standby is away. To cancel its wait, as pgx does when a connection is given up,
// would make its commit visible, and others would read what is lost if the standby takes over.
// So that those backends do not use up all connections of PostgreSQL,
// each keeps the slot of the connection that it was reached by: there are never more of
// them than an engine has connections for writes.
//
// The slot is kept until the backend is gone. One that does not wait for the standby may do so later: it is
// slow, or has to get a lock first.

// held are the backends whose commit was not answered, and the slots that they keep.
type held struct {
	sync.Mutex
	backends map[uint32]backend // by process id
	pause    time.Duration      // until it is looked again
	watching bool
}

// backend is one of them.
type backend struct {
	pool *connPool
	// began is when it did, which tells it from a later one of the same number; 0: it has not been looked at yet.
	began int64
}

// The pauses until it is looked again whether they are there.
const (
	heldAtFirst = 20 * time.Millisecond
	heldEvery   = time.Second
)

// stAskHeld finds those of the backends that are there.
const stAskHeld = `SELECT pid, coalesce(extract(epoch FROM backend_start) * 1000000, 0)::int8
	FROM pg_stat_activity WHERE pid = ANY($1)`

// hold ends a connection on which a commit was not answered, and keeps its slot while the backend is there.
func (e *Engine) hold(s *session) {
	pid, slot := s.conn.Conn().PgConn().PID(), s.slot
	s.slot = nil
	s.destroy()
	if slot == nil {
		return
	}
	e.held.Lock()
	defer e.held.Unlock()
	if e.held.backends == nil {
		e.held.backends = map[uint32]backend{}
	}
	if old, ok := e.held.backends[pid]; ok { // it is gone, since its number was given again
		e.letGo(pid, old)
	}
	e.held.backends[pid] = backend{pool: e.writes}
	e.held.pause = heldAtFirst
	e.writes.kept.Add(1)
	if !e.held.watching {
		e.held.watching = e.messages.begin(e.watchHeld)
	}
	if !e.held.watching {
		e.letGo(pid, e.held.backends[pid])
	}
}

// letGo gives back the slot of a backend that is gone. The caller holds the lock.
func (e *Engine) letGo(pid uint32, b backend) {
	delete(e.held.backends, pid)
	b.pool.kept.Add(-1)
	<-b.pool.slots
}

// watchHeld looks which of them are there until none is, or the engine is closed.
func (e *Engine) watchHeld() {
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			end(conn)
		}
	}()
	for {
		asked := e.heldPids()
		there, err := e.askHeld(&conn, asked)
		e.held.Lock()
		// A server that does not answer has them, perhaps.
		if err == nil || e.messages.ctx.Err() != nil {
			e.noteHeld(asked, there)
		}
		pause := e.held.pause
		e.held.pause = min(2*pause, heldEvery)
		e.held.watching = len(e.held.backends) > 0
		more := e.held.watching
		e.held.Unlock()
		if !more {
			return
		}
		kv.Pause(e.messages.ctx, pause)
	}
}

// noteHeld notes which of those that were asked for are there, and when they began. The caller holds the lock.
func (e *Engine) noteHeld(asked []int32, there map[int32]int64) {
	for _, n := range asked {
		pid := uint32(n)
		b, kept := e.held.backends[pid]
		if !kept {
			continue
		}
		began, is := there[n]
		if !is || b.began != 0 && b.began != began {
			e.letGo(pid, b)
			continue
		}
		b.began = began
		e.held.backends[pid] = b
	}
}

// askHeld returns which are there. It asks on a connection of its own.
func (e *Engine) askHeld(conn **pgx.Conn, pids []int32) (there map[int32]int64, err error) {
	ctx, cancel := context.WithTimeout(e.messages.ctx, probeFor)
	defer cancel()
	if *conn == nil || (*conn).IsClosed() {
		if *conn, err = e.beside(ctx); err != nil {
			return nil, err
		}
	}
	rows, err := (*conn).Query(ctx, stAskHeld, pids)
	if err != nil {
		return nil, err
	}
	there = map[int32]int64{}
	var pid int32
	var began int64
	_, err = pgx.ForEachRow(rows, []any{&pid, &began}, func() error {
		there[pid] = began
		return nil
	})
	return there, err
}

func (e *Engine) heldPids() (pids []int32) {
	e.held.Lock()
	defer e.held.Unlock()
	for pid := range e.held.backends {
		pids = append(pids, int32(pid))
	}
	return pids
}

// errHeld is told those for whom there is no connection, because commits wait for the standby.
func errHeld() error {
	return &dberr.Error{Kind: dberr.Unavailable, Reason: "The commits of the PostgreSQL server wait for its standby.", Cause: kv.ErrAway}
}
