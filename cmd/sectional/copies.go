package main

import (
	"errors"

	"github.com/sectional/sectional/internal/server"
)

type copies struct {
	Database []string `short:"d" placeholder:"NAME" help:"Of this database alone; may be given several times. Without it: of everything."`
	Abandon  bool     `help:"Remove the part that an interrupted copy has left here, as its target."`
	TakeBack bool     `name:"take-back" help:"Have here again what has moved away, as it was then, when the place where it went is lost for good. What was written there is not here."`
	Yes      bool     `help:"Do not ask whether to take it back."`

	Place string `arg:"" help:"A data directory on which no server runs, or a PostgreSQL server as postgres://USER@HOST/DATABASE."`
}

// Validate implements kong.Validatable.
func (k *copies) Validate() error {
	if k.Abandon && k.TakeBack {
		return errors.New("--abandon is for what was copied here, and --take-back for what has moved away: one of them")
	}
	return nil
}

// Run tells what copies have left, removes it, or takes back what has moved.
func (k *copies) Run(c *console) error {
	ctx, stop := untilSignal()
	defer stop()
	return server.ManageCopies(ctx, server.CopiesOptions{Place: k.Place, Databases: k.Database, Abandon: k.Abandon, TakeBack: k.TakeBack, Yes: k.Yes,
		In: c.in, Out: c.out, Err: c.err})
}
