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
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/kv/pebblekv"
)

// The commands of the same machine reach a running server by a socket in its data
// directory, which only its own user may open: whoever can read the data needs no
// password to copy it. There is one request, the line "checkpoint". The answer is
// a line of JSON, and the checkpoint stays until the connection ends, however it
// does.

// controlSocket is the socket's name.
const controlSocket = "control.sock"

// checkpointAnswer is the answer.
type checkpointAnswer struct {
	Dir     string `json:"dir,omitempty"`
	Version string `json:"version,omitempty"`
	Error   string `json:"error,omitempty"`
}

// control answers commands.
type control struct {
	engine   *pebblekv.Engine
	version  string
	log      *slog.Logger
	listener net.Listener
	work     sync.WaitGroup
	ctx      context.Context //nolint:containedctx // ends at close
	stop     context.CancelFunc
	one      sync.Mutex // one checkpoint at a time
}

// openControl listens. A server without the socket runs all the same.
func (a *assembly) openControl() {
	path := filepath.Join(a.o.Data, controlSocket)
	c := &control{engine: a.engine, version: a.o.Version, log: a.log}
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

// serve answers one connection.
func (c *control) serve(conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(c.ctx, func() { conn.Close() })()
	_ = conn.SetReadDeadline(time.Now().Add(commandWithin))
	line, err := bufio.NewReader(io.LimitReader(conn, 100)).ReadString('\n')
	if err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	if strings.TrimSpace(line) != "checkpoint" {
		c.answer(conn, checkpointAnswer{Error: "the server does not know this command"})
		return
	}
	if !c.one.TryLock() {
		c.answer(conn, checkpointAnswer{Error: "another backup is being made"})
		return
	}
	defer c.one.Unlock()
	c.pin(conn)
}

// pin makes a checkpoint, and keeps it until the connection ends.
func (c *control) pin(conn net.Conn) {
	dir, err := c.engine.Checkpoint(c.ctx)
	if err != nil {
		c.answer(conn, checkpointAnswer{Error: err.Error()})
		return
	}
	c.log.Info("a backup begins")
	if c.answer(conn, checkpointAnswer{Dir: dir, Version: c.version}) {
		_, _ = io.Copy(io.Discard, conn) // nothing comes but the end
	}
	if err := c.engine.RemoveCheckpoint(dir); err != nil {
		c.log.Warn("what a backup was made of can't be removed", "err", err)
	}
	c.log.Info("a backup has ended")
}

// answer reports whether the answer was sent.
func (c *control) answer(conn net.Conn, a checkpointAnswer) bool {
	text, err := json.Marshal(a)
	if err == nil {
		_, err = conn.Write(append(text, '\n'))
	}
	return err == nil
}
