package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sectional/sectional/internal/couchapi/admin"
	"github.com/sectional/sectional/internal/web"
)

// A data directory belongs to the server that runs on it, so that one copies it itself: the
// command asks by the socket in the directory, and shows what the server tells. When the
// connection ends, so does the copy.

// copyAnswer is a line of what the server tells.
type copyAnswer struct {
	Step   *copyStep `json:"step,omitempty"`
	Copied *Copied   `json:"copied,omitempty"`
	Says   string    `json:"says,omitempty"`
	Error  string    `json:"error,omitempty"`
	Done   bool      `json:"done,omitempty"`
}

// askToCopy asks the server that runs on the source to copy; asked is false if none does.
func askToCopy(ctx context.Context, o CopyOptions, tell func(Copied) error, say func(string)) (asked bool, err error) {
	if inPostgres(o.From) {
		return false, nil
	}
	if err := wantDirectory(o.From); err != nil {
		return true, err
	}
	conn, err := net.Dial("unix", filepath.Join(o.From, controlSocket))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return false, nil
	}
	if err != nil {
		return true, fmt.Errorf("the server on %s can't be asked: %w", o.From, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if !inPostgres(o.To) {
		if o.To, err = filepath.Abs(o.To); err != nil {
			return true, err
		}
	}
	request, err := json.Marshal(o.CopyRequest)
	if err == nil {
		_, err = fmt.Fprintf(conn, "%s %s\n", commandCopy, request)
	}
	if err == nil {
		err = hearCopy(conn, o.show(), tell, say)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return true, err
}

// hearCopy reads what the server tells until the end.
func hearCopy(conn io.Reader, show func(copyStep), tell func(Copied) error, say func(string)) error {
	for lines := json.NewDecoder(conn); ; {
		var a copyAnswer
		if err := lines.Decode(&a); err != nil {
			return fmt.Errorf("the server has ended the copy; start it again: %w", err)
		}
		switch {
		case a.Step != nil:
			show(*a.Step)
		case a.Copied != nil:
			if err := tell(*a.Copied); err != nil {
				return err
			}
		case a.Says != "":
			say(a.Says)
		case a.Error != "":
			return errors.New(a.Error)
		case a.Done:
			return nil
		}
	}
}

const commandCopy = "copy"

// copy carries out a request of askToCopy, as a task that people can see.
func (c *control) copy(conn net.Conn, text string) {
	var request CopyRequest
	if err := json.Unmarshal([]byte(text), &request); err != nil {
		c.answer(conn, copyAnswer{Error: "the server does not understand the request: " + err.Error()})
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	c.work.Go(func() { // until the other side ends
		_, _ = io.Copy(io.Discard, conn)
		cancel()
	})
	k := copying{CopyRequest: request, from: c.engine, local: c.local, serves: c.store,
		show: seldom(func(s copyStep) { c.answer(conn, copyAnswer{Step: &s}) }),
		tell: func(d Copied) error { c.answer(conn, copyAnswer{Copied: &d}); return nil },
		say: func(text string) {
			c.log.Warn("a copy waits", "for", text)
			c.answer(conn, copyAnswer{Says: text})
		},
	}
	names, target := strings.Join(request.Databases, ","), shownPlace(request.To)
	command := "sectional copy"
	if request.DryRun {
		command += " --dry-run"
	}
	if !request.DryRun {
		k.deed, k.source = socketLine(conn, command, names, target), c.dir
	}
	c.tell(conn, command, names, target, http.StatusAccepted)
	err := c.tasks.Do(web.Job{Kind: admin.CopyTask, Database: names}, func() any { return k.progress() }, func(stopped context.Context) error {
		defer context.AfterFunc(stopped, cancel)()
		c.log.Info("a copy begins", "databases", request.Databases, "keep", request.Keep)
		err := k.run(ctx)
		c.log.Info("a copy has ended", "err", err)
		return err
	})
	if err != nil {
		c.tell(conn, command, names, target, http.StatusInternalServerError)
		c.answer(conn, copyAnswer{Error: err.Error()})
		return
	}
	if !request.DryRun {
		c.counts.copies.Add(1)
	}
	c.tell(conn, command, names, target, http.StatusOK)
	c.answer(conn, copyAnswer{Done: true})
}

// seldom leaves out what is shown too soon after what came before.
func seldom(show func(copyStep)) func(copyStep) {
	var last time.Time
	return func(s copyStep) {
		if now := time.Now(); now.Sub(last) >= progressEvery {
			last = now
			show(s)
		}
	}
}

const progressEvery = 100 * time.Millisecond
