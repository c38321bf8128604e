package server

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/web"
)

// audit writes acts of administrators: a JSON object a line into the file of [audit] file, or, without one, into
// the log. The file is opened for each act, of which there are few, so that whoever rotates it only renames it.
type audit struct {
	file   func() string
	log    *slog.Logger
	mu     sync.Mutex // lines come one after the other
	recent recentEntries
}

// line is an act in the file.
type line struct {
	Time     string `json:"time"`
	User     string `json:"user"`
	Peer     string `json:"peer"`
	Method   string `json:"method"`
	Route    string `json:"route"`
	Database string `json:"database,omitempty"`
	Object   string `json:"object,omitempty"`
	Status   int    `json:"status"`
	Request  string `json:"request,omitempty"`
}

func lineOf(act web.AuditEntry) line {
	return line{act.Time.UTC().Format(time.RFC3339Nano), act.User, act.Peer, act.Method, act.Route, act.Database, act.Object, act.Status, act.Request}
}

func newAudit(c *config.Config, log *slog.Logger) *audit {
	file := config.Derive(c, func(s *config.Snapshot) string { return s.String("audit", "file", "") })
	return &audit{file: file.Value, log: log}
}

// record writes an act of the server.
func (a *audit) record(act web.AuditEntry) { a.write(lineOf(act)) }

// write writes an act. What can't be written to the file is in the log, with the reason: it has happened.
func (a *audit) write(act line) {
	a.recent.add(act)
	name := a.file()
	err := error(nil)
	if name != "" {
		if err = a.append(name, act); err == nil {
			return
		}
	}
	attrs := []any{"user", act.User, "peer", act.Peer, "method", act.Method, "route", act.Route, "database", act.Database, "object", act.Object,
		"status", act.Status, "request", act.Request}
	if err != nil {
		a.log.Error("an act of an administrator could not be written to [audit] file", append(attrs, "err", err)...)
		return
	}
	a.log.Info("act", attrs...)
}

// append adds a line to the file, and returns when it is on disk.
func (a *audit) append(name string, act line) error {
	text, err := json.Marshal(act)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	return errors.Join(err, file.Sync(), file.Close())
}
