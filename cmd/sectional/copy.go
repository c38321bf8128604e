package main

import (
	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/server"
)

type copying struct {
	Database []string `short:"d" placeholder:"NAME" help:"Copy this database alone, beside those that the target has; may be given several times."`
	Keep     bool     `help:"The source goes on, and the target is a copy that forks from it. Otherwise what was copied has moved: the source takes no more writes of it, and says where it is."`
	DryRun   bool     `name:"dry-run" help:"Only see how much it is, and whether the target takes it all."`
	JSON     bool     `name:"json" help:"Say what came of it as a line of JSON for each database."`

	Source string `arg:"" help:"A data directory, or a PostgreSQL server as postgres://USER@HOST/DATABASE."`
	Target string `arg:"" help:"Where to copy to: another of the two; to copy everything it is empty, or what a copy has left that was interrupted."`
}

// Run copies data from one engine to another.
func (k *copying) Run(c *console) error {
	ctx, stop := untilSignal()
	defer stop()
	return server.Copy(ctx, server.CopyOptions{
		CopyRequest: server.CopyRequest{To: k.Target, Databases: k.Database, Keep: k.Keep, DryRun: k.DryRun},
		From:        k.Source, JSON: k.JSON, Out: c.out, Err: c.err, Progress: progress.On(c.err),
	})
}
