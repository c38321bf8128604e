package main

import (
	"github.com/sectional/sectional/internal/operate"
	"github.com/sectional/sectional/internal/progress"
)

// asking is the command that containers, which have no other program, ask by whether the
// server in them is well.
type asking struct {
	Server string `arg:"" optional:"" help:"URL of the server." default:"http://127.0.0.1:5984" placeholder:"URL"`
}

// Run prints what the server says of itself.
func (a *asking) Run(c *console) error {
	s, err := operate.New(a.Server, "", "")
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	status, err := s.Up(ctx)
	if err != nil {
		return err
	}
	_, err = progress.Fprintf(c.out, "%s\n", status)
	return err
}
