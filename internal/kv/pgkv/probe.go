package pgkv

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// silence is how long the machine of the server may leave unanswered what the network brings it.
	silence = 8 * time.Second
	// probeEvery is how often a server is asked at most whether it answers.
	probeEvery = time.Second
	// probeSlow is how long it may take to answer that until it is taken for away.
	probeSlow = 3 * time.Second
	// probeFor is how long somebody waits for the answer.
	probeFor = 10 * time.Second
)

// keepAlive finds connections on which nothing is sent, and whose other end is gone.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 4 * time.Second, Interval: time.Second, Count: 4}

// probe asks the server whether it answers, on a connection of its own: calls notice by themselves only after a while that
// they are cut off from it.
type probe struct {
	conn *pgx.Conn // of whoever asks; nil: there is none

	mu      sync.Mutex
	began   time.Time // of the last question
	running bool
}

// Away reports whether the server did not answer when it was asked last, or takes long to. It has it asked again, so that
// the answer changes without anybody's call.
func (e *Engine) Away() bool {
	p := &e.probe
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running && time.Since(p.began) > probeEvery || e.away.since.Load() != 0 && !p.running {
		p.running, p.began = e.messages.begin(e.ask), time.Now()
	}
	return e.away.since.Load() != 0 || p.running && time.Since(p.began) > probeSlow
}

// ask asks the server, and notes whether it answers.
func (e *Engine) ask() {
	ctx, cancel := context.WithTimeout(e.messages.ctx, probeFor)
	defer cancel()
	switch err := e.reach(ctx); {
	case err == nil:
		e.away.back()
	case e.messages.ctx.Err() == nil:
		e.away.mark()
	}
	e.probe.mu.Lock()
	defer e.probe.mu.Unlock()
	e.probe.running = false
}

// reach returns nil when the server has answered, on the connection that there is or on a new one.
func (e *Engine) reach(ctx context.Context) (err error) {
	if conn := e.probe.conn; conn != nil {
		if conn.Ping(ctx) == nil {
			return nil
		}
		end(conn)
	}
	e.probe.conn, err = e.extraConn(ctx)
	return err
}

// extraConn makes a connection that is not for the calls of others.
func (e *Engine) extraConn(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, e.config.Copy())
	if err != nil {
		return nil, err
	}
	if _, err := conn.PgConn().Exec(ctx, patient).ReadAll(); err != nil {
		end(conn)
		return nil, err
	}
	return conn, nil
}

// end ends a connection, about which nothing could be done if it failed.
func end(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}
