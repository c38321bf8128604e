package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/operate"
	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/server"
	"github.com/sectional/sectional/internal/transfer"
)

type backing struct {
	Data      string `help:"Data directory; a server may be running on it." default:"./data" type:"path"`
	Increment bool   `help:"Back up only what the newest backup in the directory lacks. The increment depends on that backup and on those that it depends on, and has no links, so that it can be copied elsewhere."`
	NoVerify  bool   `help:"Skip the check of the backup, which reads all of it."`
	machine
	Backups string `arg:"" help:"Directory of backups, in which the new one is created." type:"path"`
}

// Run makes a backup.
func (b *backing) Run(c *console) error {
	ctx, stop := untilSignal()
	defer stop()
	o := c.backup(b.Data, b.Backups, b.NoVerify)
	o.Increment, o.JSON = b.Increment, b.JSON
	return server.Backup(ctx, o)
}

type restoring struct {
	Backup    string `arg:"" help:"A backup, or a directory of backups, of which the newest is used." type:"path"`
	Data      string `help:"Directory for the data; empty or not existing." default:"./data" type:"path"`
	At        string `help:"Use the newest backup that is not later than this time: 2026-11-22T08:00:00Z, or without Z in local time." placeholder:"TIME"`
	Database  string `help:"Restore only this database, into a running server." placeholder:"NAME"`
	Partition string `help:"Restore only this partition of the database." placeholder:"NAME"`
	To        string `help:"Target database or partition: http://[user:password@]host:5984/NAME. It is created if it does not exist, and must be empty otherwise." placeholder:"URL"`
	As        string `help:"User of the target server, if the URL has none. The password is taken from SECTIONAL_PASSWORD." env:"SECTIONAL_USER" placeholder:"NAME"`
	Merge     bool   `help:"Restore into a database that is not empty: documents that were changed or deleted after the backup stay as they are."`
	NoVerify  bool   `help:"Skip the check of the restored data, which reads all of it."`
	machine
}

// Validate looks at what the values say.
func (r *restoring) Validate() error {
	switch {
	case (r.Database == "") != (r.To == ""):
		return errors.New("--database NAME and --to URL go together")
	case r.Partition != "" && r.Database == "":
		return errors.New("--partition is one of --database")
	}
	if r.To != "" {
		if err := transfer.CheckURL(r.To); err != nil {
			return errors.New("--to: " + explain(err))
		}
	}
	_, err := parseTime(r.At)
	return err
}

// parseTime reads a time; the zero time is none.
func parseTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("--at: %q is not a time such as 2026-11-22T08:00:00Z", text)
}

// Run restores a backup.
func (r *restoring) Run(c *console) error {
	ctx, stop := untilSignal()
	defer stop()
	o := c.backup(r.Data, r.Backup, r.NoVerify)
	at, err := parseTime(r.At)
	if err != nil {
		return err
	}
	o.At, o.JSON = at, r.JSON
	if r.Database == "" {
		return server.Restore(ctx, o)
	}
	to, err := r.target(ctx)
	if err != nil {
		return err
	}
	return server.RestorePart(ctx, server.PartOptions{BackupOptions: o, Database: r.Database, Partition: r.Partition, To: to})
}

// target looks at where a part goes, and returns it.
func (r *restoring) target(ctx context.Context) (transfer.Side, error) {
	password := os.Getenv("SECTIONAL_PASSWORD")
	side := transfer.Side{URL: r.To, User: r.As, Password: password}
	u, err := url.Parse(r.To)
	if err != nil {
		return side, errors.New("--to is no URL") // which would show a password
	}
	above, last := path.Split(strings.TrimRight(u.EscapedPath(), "/")) // the name may have slashes, which are escaped
	name, err := url.PathUnescape(last)
	if err != nil {
		return side, errors.New("--to is no URL")
	}
	at := *u
	at.Path, at.RawPath = above, ""
	s, err := operate.New(at.String(), r.As, password)
	if err != nil {
		return side, err
	}
	if r.Partition != "" {
		u = u.JoinPath("_partition", url.PathEscape(r.Partition))
		side.URL = u.String()
	}
	there, documents, err := s.Holds(ctx, name, r.Partition)
	switch {
	case err != nil:
		return side, err
	case documents > 0 && !r.Merge:
		return side, fmt.Errorf("%s has documents already, and those that were changed or deleted after the backup would stay as they are: name another database, or add --merge", name)
	case !there && r.Partition != "":
		return side, s.CreateDatabase(ctx, name, true)
	}
	return side, nil
}

func (c *console) backup(data, backups string, noVerify bool) server.BackupOptions {
	return server.BackupOptions{Data: data, Backups: backups, NoVerify: noVerify, Version: built(), Out: c.out, Err: c.err, Progress: progress.On(c.err)}
}

type salvaging struct {
	machine
	From string `arg:"" help:"The damaged data directory, which stays as it is. No server may run on it." type:"path"`
	To   string `arg:"" help:"Directory for the data: empty, or not there yet." type:"path"`
}

// Run rebuilds the data of a damaged directory.
func (s *salvaging) Run(c *console) error {
	ctx, stop := untilSignal()
	defer stop()
	return server.Salvage(ctx, server.SalvageOptions{From: s.From, To: s.To, JSON: s.JSON, Out: c.out, Err: c.err, Progress: progress.On(c.err)})
}
