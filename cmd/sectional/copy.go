package main

import (
	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/server"
)

type copying struct {
	JSON bool `name:"json" help:"Print the result as one line of JSON."`

	Source string `arg:"" help:"A data directory, or a PostgreSQL server as postgres://USER@HOST/DATABASE. No server may run on it."`
	Target string `arg:"" help:"A data directory or a PostgreSQL server that is empty, or has the part that an interrupted copy of the same source has left."`
}

// Run copies the data of a stopped server from one engine to another.
func (k *copying) Run(c *console) error {
	ctx, stop := untilSignal()
	defer stop()
	return server.Copy(ctx, server.CopyOptions{From: k.Source, To: k.Target, JSON: k.JSON, Out: c.out, Err: c.err, Progress: progress.On(c.err)})
}
