package main

import (
	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/server"
)

type backing struct {
	Data     string `help:"Directory of the data; a server may be running on it." default:"./data" type:"path"`
	NoVerify bool   `help:"Leave out the check of the backup, which reads all of it."`
	Backups  string `arg:"" help:"Directory of backups, in which a new one is made." type:"path"`
}

// Run makes a backup.
func (b *backing) Run(c *console) error {
	ctx, stop := untilSignal()
	defer stop()
	return server.Backup(ctx, c.backup(b.Data, b.Backups, b.NoVerify))
}

type restoring struct {
	Backup   string `arg:"" help:"A backup, or a directory of them, of which the newest is taken." type:"path"`
	Data     string `help:"Directory for the data: empty, or not there yet." default:"./data" type:"path"`
	NoVerify bool   `help:"Leave out the check of what was restored, which reads all of it."`
}

// Run restores a backup.
func (r *restoring) Run(c *console) error {
	ctx, stop := untilSignal()
	defer stop()
	return server.Restore(ctx, c.backup(r.Data, r.Backup, r.NoVerify))
}

func (c *console) backup(data, backups string, noVerify bool) server.BackupOptions {
	return server.BackupOptions{Data: data, Backups: backups, NoVerify: noVerify, Version: built(), Out: c.out, Progress: progress.On(c.err)}
}
