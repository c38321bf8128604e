package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/sectional/sectional/internal/assembly"
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/backup"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/transfer"
)

// PartOptions say which part of a backup to bring where.
type PartOptions struct {
	BackupOptions
	Database  string
	Partition string        // "": the whole database
	To        transfer.Side // the database, or the partition of one, on a server
}

// RestorePart brings a database of a backup, or a partition of one, to a server that runs: its documents with their
// revisions, conflicts and attachments, local documents but for checkpoints, and with a database its `_security` where
// the target has none of its own. Nothing else of the backup comes to life: no replication, no subscription.
// The backup's data is put together in the directory for temporary files, and removed at the end.
func RestorePart(ctx context.Context, o PartOptions) (err error) {
	defer o.Progress.Clear()
	b, err := o.backup()
	if err != nil {
		return err
	}
	stage, err := os.MkdirTemp("", "sectional-restore")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stage)) }()
	data := filepath.Join(stage, "data")
	if err := backup.Restore(ctx, b, data, o.progress("restored"), o.verify(ctx)); err != nil {
		return err
	}
	e, err := pebblekv.Open(pebblekv.Options{Dir: data, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	r, password, err := openReader(ctx, e, filepath.Join(stage, localConfig))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if _, err := r.Store.Database(ctx, o.Database); dberr.Is(err, dberr.NotFound) {
		return fmt.Errorf("the backup %s has no database %s", b.Path, o.Database)
	} else if err != nil {
		return err
	}
	from := "http://backup/" + url.PathEscape(o.Database)
	if o.Partition != "" {
		from += "/_partition/" + url.PathEscape(o.Partition)
	}
	source := transfer.Side{URL: from, User: readerName, Password: password, Transport: &replicate.Local{Handler: r.API}}
	task := transfer.Sync{Source: source, Target: o.To, CreateTarget: o.Partition == "", Out: o.Progress.Above(o.Out), Line: o.Progress}
	done, err := task.Run(ctx)
	if err != nil {
		return err
	}
	aside := transfer.LocalsAndSecurity{Source: source, Target: o.To, Security: o.Partition == ""}
	carried, err := aside.Run(ctx)
	if err != nil {
		return fmt.Errorf("the documents are restored, but not all of its _security and local documents: %w", err)
	}
	return o.report(b, done, carried)
}

// report tells what came of it.
func (o *PartOptions) report(b *backup.Backup, done transfer.Outcome, carried transfer.Carried) error {
	o.Progress.Clear()
	if done.Refused > 0 {
		return fmt.Errorf("%d documents were refused; they are named above", done.Refused)
	}
	part := o.Database
	if o.Partition != "" {
		part += "/" + o.Partition
	}
	beside := ""
	if carried.Locals > 0 {
		beside = fmt.Sprintf(", %d local documents", carried.Locals)
	}
	if o.Partition == "" && !carried.Security {
		beside += "; _security stays as it was there"
	}
	return o.result(map[string]any{"backup": b.Path, "made": b.Made, "part": part, "documents": done.Documents + done.Written, "aside": carried},
		"%s is restored as of %s: %d documents%s.", part, b.Made.Format(time.RFC3339), done.Documents+done.Written, beside)
}

const readerName = "restore"

// openReader makes a server over an engine on which nothing else goes on, with the administrator readerName, and its
// configuration in a file of its own.
func openReader(ctx context.Context, e kv.Engine, file string) (r *assembly.Server, password string, err error) {
	c, err := config.Open(config.Options{Local: file})
	if err != nil {
		return nil, "", err
	}
	password = rand.Text()
	if _, err := auth.SetAdmin(c, readerName, password); err != nil {
		return nil, "", err
	}
	r, err = assembly.Open(ctx, e, assembly.Options{Config: c, Version: "restore", Idle: true})
	return r, password, err
}
