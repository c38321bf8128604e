package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/sectional/sectional/internal/server"
)

type backing struct {
	Data     string `help:"Directory of the data; a server may be running on it." default:"./data" type:"path"`
	NoVerify bool   `help:"Leave out the check of the backup, which reads all of it."`
	Backups  string `arg:"" help:"Directory of backups, in which a new one is made." type:"path"`
}

// Run makes a backup.
func (b *backing) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return server.Backup(ctx, options(b.Data, b.Backups, b.NoVerify))
}

type restoring struct {
	Backup   string `arg:"" help:"A backup, or a directory of them, of which the newest is taken." type:"existingdir"`
	Data     string `help:"Directory for the data: empty, or not there yet." default:"./data" type:"path"`
	NoVerify bool   `help:"Leave out the check of what was restored, which reads all of it."`
}

// Run restores a backup.
func (r *restoring) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return server.Restore(ctx, options(r.Data, r.Backup, r.NoVerify))
}

func options(data, backups string, noVerify bool) server.BackupOptions {
	return server.BackupOptions{Data: data, Backups: backups, NoVerify: noVerify, Version: built(), Out: os.Stdout, Progress: terminal(os.Stderr)}
}

// terminal gives the file if it is a terminal, and nil if it is a log.
func terminal(f *os.File) io.Writer {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return f
}
