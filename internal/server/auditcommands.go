package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/backup"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/web"
)

// A command that works on data without a server leaves its acts in the engine, since it does not know where the server's
// audit log is. The server that opens the engine next writes them into its log.

// leaveActWithin is how long a command that has come to its end tries to write its act.
const leaveActWithin = 10 * time.Second

// auditEntry is what a command does to an engine, for the audit log. The zero value is not logged.
type auditEntry struct {
	command          string
	database, object string
	user, peer       string
	problems         io.Writer // where it is said that an act could not be written; nil: nowhere
}

// commandLine is a deed of the user of this process.
func commandLine(command string, databases []string, object string, problems io.Writer) auditEntry {
	peer := "command line"
	if host, err := os.Hostname(); err == nil {
		peer += " on " + host
	}
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = cmp.Or(u.Username, u.Uid)
	} else if id := os.Getuid(); id >= 0 {
		name = strconv.Itoa(id)
	}
	return auditEntry{command: command, database: strings.Join(databases, ","), object: object, user: "system:" + name, peer: peer, problems: problems}
}

// socketLine is a deed of whose process has the other end of the control socket.
func socketLine(conn net.Conn, command, database, object string) auditEntry {
	return auditEntry{command: command, database: database, object: object, user: "system:" + cmp.Or(socketUser(conn), "unknown"), peer: controlSocket}
}

// entry returns the line of the audit log.
func (d auditEntry) entry(status int) web.AuditEntry {
	return web.AuditEntry{Time: time.Now(), User: d.user, Peer: d.peer, Method: "COMMAND", Route: d.command, Database: d.database, Object: d.object, Status: status}
}

// from is the deed as it is noted at the place to which data was brought from a source.
func (d auditEntry) from(source string) auditEntry {
	d.object = "from " + source
	return d
}

// begin notes in an engine that the command begins.
func (d auditEntry) begin(ctx context.Context, e kv.Engine) { d.leave(ctx, e, http.StatusAccepted) }

// end notes in an engine what came of the command, also when it was told to end.
func (d auditEntry) end(ctx context.Context, e kv.Engine, err error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), leaveActWithin)
	defer stop()
	d.leave(ctx, e, outcome(err))
}

// leave writes an act into an engine. That it can't be is no reason not to do what the command is for: it may be what
// mends the engine.
func (d auditEntry) leave(ctx context.Context, e kv.Engine, status int) {
	if d.command == "" {
		return
	}
	act := d.entry(status)
	text, err := json.Marshal(lineOf(act))
	if err == nil {
		err = store.LeaveAct(ctx, e, act.Time, text)
	}
	if err != nil {
		d.warn(err)
	}
}

// warn tells people that an act could not be written.
func (d auditEntry) warn(err error) {
	if d.problems != nil {
		fmt.Fprintf(d.problems, "WARNING: the audit log lacks this command: %v\n", err)
	}
}

// refusals are the statuses of what was refused; all else has failed.
var refusals = [...]struct {
	kind   dberr.Kind
	status int
}{
	{dberr.Invalid, http.StatusBadRequest}, {dberr.Forbidden, http.StatusForbidden}, {dberr.NotFound, http.StatusNotFound},
	{dberr.Conflict, http.StatusConflict}, {dberr.Exists, http.StatusPreconditionFailed},
}

// outcome is the status of a command: 200 for one that was done, 4xx for one that was refused, 500 for one that failed.
func outcome(err error) int {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, backup.ErrNotEmpty):
		return http.StatusPreconditionFailed
	}
	for _, one := range refusals {
		if dberr.Is(err, one.kind) {
			return one.status
		}
	}
	return http.StatusInternalServerError
}

// takeActs writes the acts that commands have left in the engine into the audit log.
func (a *instance) takeActs(ctx context.Context) error {
	return a.Store.TakeActs(ctx, func(text []byte) {
		act, ok := parseEntry(text)
		if !ok {
			a.log.Error("a row of the audit log is none of a command, and is left out")
			return
		}
		a.audit.write(act)
	})
}
