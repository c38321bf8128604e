package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/transfer"
)

// exitRefused is the exit code of a sync, a migration or an import that came to its end but for documents
// that the target did not take.
const exitRefused = 3

var errRefused = errors.New("some documents were not carried over; they are named")

type syncing struct {
	Source       string `arg:"" help:"URL of the database to read, or of a partition of one: http://[user:password@]host:5984/db[/_partition/p]."`
	Target       string `arg:"" help:"URL of the database or partition to write."`
	Continuous   bool   `help:"Run until interrupted."`
	CreateTarget bool   `help:"Create the target if it does not exist, partitioned if the source is."`
	SourceUser   string `help:"User of the source, if the URL has none. The password is taken from SECTIONAL_SOURCE_PASSWORD." env:"SECTIONAL_SOURCE_USER" placeholder:"NAME"`
	TargetUser   string `help:"User of the target, if the URL has none. The password is taken from SECTIONAL_TARGET_PASSWORD." env:"SECTIONAL_TARGET_USER" placeholder:"NAME"`
	JSON         bool   `name:"json" help:"Print the result as one line of JSON."`
}

// Validate looks at what the values say.
func (s *syncing) Validate() error {
	for _, side := range []struct{ name, url string }{{"SOURCE", s.Source}, {"TARGET", s.Target}} {
		if side.url == "" {
			return nil // which is told by others
		}
		if err := transfer.CheckURL(side.url); err != nil {
			return errors.New(side.name + ": " + explain(err))
		}
	}
	return nil
}

// Run carries the source over. It can be ended at any time: the next run goes on
// where this one came to.
func (s *syncing) Run(c *console) error {
	ctx, stop := untilSignal()
	defer stop()
	line := progress.On(c.err)
	task := transfer.Sync{
		Source:     transfer.Side{URL: s.Source, User: s.SourceUser, Password: os.Getenv("SECTIONAL_SOURCE_PASSWORD")},
		Target:     transfer.Side{URL: s.Target, User: s.TargetUser, Password: os.Getenv("SECTIONAL_TARGET_PASSWORD")},
		Continuous: s.Continuous, CreateTarget: s.CreateTarget, Out: line.Above(c.err), Line: line,
	}
	o, err := task.Run(ctx)
	line.Clear()
	switch {
	case err != nil && ctx.Err() != nil && s.Continuous:
		err = nil // it was told to end
	case err != nil && ctx.Err() != nil:
		return errors.New("ended before its time; the next run goes on from here")
	case err != nil:
		return err
	}
	progress.Fprintf(c.err, "done: %d documents by a snapshot, %d revisions by changes, %d refused\n", o.Documents, o.Written, o.Refused)
	if s.JSON {
		err = json.NewEncoder(c.out).Encode(o)
	}
	if o.Refused > 0 {
		return fmt.Errorf("%w above", errRefused)
	}
	return err
}
