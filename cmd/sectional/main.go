// Command sectional is the server and its tools.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/server"
)

// version is that of the release; a build of the sources between releases adds
// the commit it was made of.
const version = "0.1.0"

type commands struct {
	Serve   serve     `cmd:"" help:"Run the server."`
	Check   check     `cmd:"" help:"Read all data and report what is wrong with it."`
	Backup  backing   `cmd:"" name:"backup" help:"Make a backup, while a server is running or not."`
	Restore restoring `cmd:"" name:"restore" help:"Put a backup into an empty data directory."`
	Sync    syncing   `cmd:"" name:"sync" help:"Bring one database to another, and keep it up to date."`
	Version printer   `cmd:"" help:"Print the version."`
	Child   child     `cmd:"" name:"script-child" hidden:"" help:"Run design functions for a server, which starts this itself."`
}

type serve struct {
	Listen   string `help:"Address to listen on (default: 127.0.0.1:5984, or what the configuration says)." placeholder:"HOST:PORT"`
	Data     string `help:"Directory for all data." default:"./data" type:"path"`
	Config   string `help:"Configuration file in CouchDB's ini dialect." placeholder:"FILE" type:"existingfile"`
	Demo     bool   `help:"Load databases to play with."`
	DemoSize int    `help:"How many orders the demo has; the rest goes with it." placeholder:"N"`
}

// Run serves until the process is told to end.
func (s *serve) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return server.Run(ctx, server.Options{
		Data: s.Data, Config: s.Config, Listen: s.Listen,
		User: os.Getenv("COUCHDB_USER"), Password: os.Getenv("COUCHDB_PASSWORD"),
		Demo: s.Demo, DemoSize: s.DemoSize,
		Version: built(), Out: os.Stdout, Log: os.Stderr,
	})
}

type check struct {
	Data string `help:"Directory of the data." default:"./data" type:"path"`
}

// Run checks a data directory on which no server runs.
func (c *check) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return server.Check(ctx, c.Data, os.Stdout)
}

type child struct{}

// Run runs design functions until the server that started it is gone.
func (child) Run() error { return script.Child(os.Stdin, os.Stdout) }

type printer struct{}

// Run prints the version.
func (printer) Run() error {
	fmt.Println(built())
	return nil
}

// built gives the version with the commit, where the build knows it.
func built() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return version + "+" + s.Value[:12]
		}
	}
	return version
}

func main() {
	var c commands
	k := kong.Parse(&c, kong.Name("sectional"), kong.Description("A partitioned JSON document database that speaks CouchDB's API."),
		kong.UsageOnError())
	if err := k.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "sectional:", explain(err))
		if errors.Is(err, errRefused) {
			os.Exit(exitRefused)
		}
		os.Exit(1)
	}
}

// explain gives what an operator needs to read: the sentence for the public,
// and the cause where there is one.
func explain(err error) string {
	var e *dberr.Error
	if !errors.As(err, &e) || e.Reason == "" {
		return err.Error()
	}
	if e.Cause != nil {
		return e.Reason + " (" + e.Cause.Error() + ")"
	}
	return e.Reason
}
