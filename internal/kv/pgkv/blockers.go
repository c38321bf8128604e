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

// blockers are the backends whose commit was not answered, and the slots that they keep.
type blockers struct {
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
	firstCheck = 20 * time.Millisecond
	checkEvery = time.Second
)

// stBlocked finds those of the backends that are there.
const stBlocked = `SELECT pid, coalesce(extract(epoch FROM backend_start) * 1000000, 0)::int8
	FROM pg_stat_activity WHERE pid = ANY($1)`

// hold ends a connection on which a commit was not answered, and keeps its slot while the backend is there.
func (e *Engine) hold(s *session) {
	pid, slot := s.conn.Conn().PgConn().PID(), s.slot
	s.slot = nil
	s.destroy()
	if slot == nil {
		return
	}
	e.blocked.Lock()
	defer e.blocked.Unlock()
	if e.blocked.backends == nil {
		e.blocked.backends = map[uint32]backend{}
	}
	if old, ok := e.blocked.backends[pid]; ok { // it is gone, since its number was given again
		e.letGo(pid, old)
	}
	e.blocked.backends[pid] = backend{pool: e.writes}
	e.blocked.pause = firstCheck
	e.writes.kept.Add(1)
	if !e.blocked.watching {
		e.blocked.watching = e.messages.begin(e.watchBlocked)
	}
	if !e.blocked.watching {
		e.letGo(pid, e.blocked.backends[pid])
	}
}

// letGo gives back the slot of a backend that is gone. The caller holds the lock.
func (e *Engine) letGo(pid uint32, b backend) {
	delete(e.blocked.backends, pid)
	b.pool.kept.Add(-1)
	<-b.pool.slots
}

// watchBlocked looks which of them are there until none is, or the engine is closed.
func (e *Engine) watchBlocked() {
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			end(conn)
		}
	}()
	for {
		asked := e.sessionPids()
		there, err := e.queryBlocked(&conn, asked)
		e.blocked.Lock()
		// A server that does not answer has them, perhaps.
		if err == nil || e.messages.ctx.Err() != nil {
			e.noteBlocked(asked, there)
		}
		pause := e.blocked.pause
		e.blocked.pause = min(2*pause, checkEvery)
		e.blocked.watching = len(e.blocked.backends) > 0
		more := e.blocked.watching
		e.blocked.Unlock()
		if !more {
			return
		}
		kv.Pause(e.messages.ctx, pause)
	}
}

// noteBlocked notes which of those that were asked for are there, and when they began. The caller holds the lock.
func (e *Engine) noteBlocked(asked []int32, there map[int32]int64) {
	for _, n := range asked {
		pid := uint32(n)
		b, kept := e.blocked.backends[pid]
		if !kept {
			continue
		}
		began, is := there[n]
		if !is || b.began != 0 && b.began != began {
			e.letGo(pid, b)
			continue
		}
		b.began = began
		e.blocked.backends[pid] = b
	}
}

// queryBlocked returns which are there. It asks on a connection of its own.
func (e *Engine) queryBlocked(conn **pgx.Conn, pids []int32) (there map[int32]int64, err error) {
	ctx, cancel := context.WithTimeout(e.messages.ctx, probeFor)
	defer cancel()
	if *conn == nil || (*conn).IsClosed() {
		if *conn, err = e.extraConn(ctx); err != nil {
			return nil, err
		}
	}
	rows, err := (*conn).Query(ctx, stBlocked, pids)
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

func (e *Engine) sessionPids() (pids []int32) {
	e.blocked.Lock()
	defer e.blocked.Unlock()
	for pid := range e.blocked.backends {
		pids = append(pids, int32(pid))
	}
	return pids
}

// errBlocking is told those for whom there is no connection, because commits wait for the standby.
func errBlocking() error {
	return &dberr.Error{Kind: dberr.Unavailable, Reason: "The commits of the PostgreSQL server wait for its standby.", Cause: kv.ErrAway}
}
