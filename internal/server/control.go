package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/web"
)

// The commands of the same machine reach a running server by a socket in its data
// directory, which only its own user may open: whoever can read the data needs no
// password to copy it. A request is a line. To "checkpoint" the answer is a line of
// JSON, and the checkpoint stays until the connection ends, however it does.

// controlSocket is the socket's name.
const controlSocket = "control.sock"

// checkpointAnswer is the answer.
type checkpointAnswer struct {
	Dir     string `json:"dir,omitempty"`
	Version string `json:"version,omitempty"`
	Error   string `json:"error,omitempty"`
}

// putAway is how long a command waits for the one before it: whoever was answered may come
// again before what made the answer is put away.
const putAway = time.Second

// control answers commands.
type control struct {
	engine   embedded
	dir      string // the data directory
	version  string
	log      *slog.Logger
	listener net.Listener
	work     sync.WaitGroup
	ctx      context.Context //nolint:containedctx // ends at close
	stop     context.CancelFunc
	one      chan struct{} // holds an element while a checkpoint is made
	counts   controlCounts
	audit    func(web.AuditEntry)
}

// controlCounts are what the commands came to, since the start of the process.
type controlCounts struct {
	backups atomic.Uint64 // that came to their end
	backup  atomic.Int64  // when the last one did, in seconds since 1970; 0 for none
	pinned  atomic.Int64  // checkpoints that backups are made of at this moment
}

// gauges returns the figures of backups.
func (c *control) gauges() []web.Gauge {
	all := []web.Gauge{
		web.Level("backups_running", "Backups that are being made.", float64(c.counts.pinned.Load())),
		web.Count("backups_completed_total", "Backups that came to their end.", float64(c.counts.backups.Load())),
	}
	if at := c.counts.backup.Load(); at > 0 {
		all = append(all, web.Level("backups_last_success_seconds", "When the last backup came to its end.", float64(at)))
	}
	return all
}

// openControl listens. A server without the socket runs all the same.
func (a *instance) openControl() {
	path := filepath.Join(a.o.Data, controlSocket)
	e, ok := a.engine.(embedded)
	if !ok || a.o.Store.Memory {
		return // backups are PostgreSQL's own, and of memory there are none
	}
	c := &control{engine: e, dir: a.o.Data, version: a.o.Version, log: a.log, one: make(chan struct{}, 1), audit: a.audit.record}
	a.API.Metrics.Gauges(c.gauges)
	err := os.Remove(path) // of a server that was killed; this one holds the directory
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		c.listener, err = net.Listen("unix", path)
	}
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		a.log.Warn("there is no socket for commands: backups can't be made while the server runs", "err", err)
		return
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.work.Go(c.accept)
	a.control = c
}

func (c *control) accept() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return // closed
		}
		c.work.Go(func() { c.serve(conn) })
	}
}

// close ends the listener and what is under way.
func (c *control) close() error {
	err := c.listener.Close()
	c.stop()
	c.work.Wait()
	return err
}

// commandWithin is how long the line of a command may take to come.
const commandWithin = 10 * time.Second

// maxCommand is how long it may be.
const maxCommand = 64 << 10

// serve answers one connection.
func (c *control) serve(conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(c.ctx, func() { conn.Close() })()
	_ = conn.SetReadDeadline(time.Now().Add(commandWithin))
	line, err := bufio.NewReaderSize(io.LimitReader(conn, maxCommand), 1).ReadString('\n')
	if err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	if strings.TrimSpace(line) != "checkpoint" {
		c.answer(conn, checkpointAnswer{Error: "the server does not know this command"})
		return
	}
	select {
	case c.one <- struct{}{}:
		defer func() { <-c.one }()
	case <-time.After(putAway):
		c.answer(conn, checkpointAnswer{Error: "another backup is being made"})
		return
	}
	c.pin(conn)
}

// pin makes a checkpoint, and keeps it until the connection ends.
func (c *control) pin(conn net.Conn) {
	dir, err := c.engine.Checkpoint(c.ctx)
	if err != nil {
		c.writeEntry(conn, "sectional backup", "", "", http.StatusInternalServerError)
		c.answer(conn, checkpointAnswer{Error: err.Error()})
		return
	}
	c.log.Info("a backup begins")
	c.writeEntry(conn, "sectional backup", "", "", http.StatusAccepted)
	c.counts.pinned.Add(1)
	defer c.counts.pinned.Add(-1)
	made := c.answer(conn, checkpointAnswer{Dir: dir, Version: c.version}) && saysMade(conn)
	if made {
		c.counts.backup.Store(time.Now().Unix())
		c.counts.backups.Add(1)
		c.writeEntry(conn, "sectional backup", "", "", http.StatusOK)
	} else {
		c.writeEntry(conn, "sectional backup", "", "", http.StatusInternalServerError)
	}
	if err := c.engine.RemoveCheckpoint(dir); err != nil {
		c.log.Warn("what a backup was made of can't be removed", "err", err)
	}
	c.log.Info("a backup has ended")
}

// backupMade is what the command says before it ends, when the backup is whole.
const backupMade = "made\n"

// saysMade waits until the command ends, and reports whether it said that its backup is whole.
func saysMade(conn net.Conn) bool {
	text, _ := io.ReadAll(io.LimitReader(conn, int64(len(backupMade))))
	_, _ = io.Copy(io.Discard, conn) // nothing comes but the end
	return string(text) == backupMade
}

// writeEntry has the audit log know of a command. Who asks is whose process has the other end of the socket.
func (c *control) writeEntry(conn net.Conn, command, database, object string, status int) {
	c.audit(socketLine(conn, command, database, object).entry(status))
}

// answer reports whether the answer was sent.
func (c *control) answer(conn net.Conn, a any) bool {
	text, err := json.Marshal(a)
	if err == nil {
		_, err = conn.Write(append(text, '\n'))
	}
	return err == nil
}
