package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/server"
)

// stored says which engine keeps the data.
type stored struct {
	Engine   string `help:"Storage engine: embedded, in the data directory, or postgres (default: from the configuration)." placeholder:"NAME"`
	Postgres string `help:"The PostgreSQL server, as postgres://USER@HOST/DATABASE; the password may be in PGPASSWORD (default: SECTIONAL_POSTGRES)." placeholder:"URL"`
}

// options are as given; the variable of the environment names a server for those who want one,
// and is nothing to others.
func (s stored) options() server.EngineOptions {
	if s.Engine == "postgres" && s.Postgres == "" {
		s.Postgres = os.Getenv("SECTIONAL_POSTGRES")
	}
	return server.EngineOptions{Engine: s.Engine, Postgres: s.Postgres}
}

type serve struct {
	Listen   string `help:"Address to listen on (default: 127.0.0.1:5984, or from the configuration)." placeholder:"HOST:PORT"`
	Data     string `help:"Directory for all data." default:"./data" type:"path"`
	Config   string `help:"Configuration file in CouchDB's ini dialect." placeholder:"FILE" type:"path"`
	Demo     bool   `help:"Load sample databases."`
	DynamoDB string `help:"Address at which the DynamoDB API listens (default: none)." placeholder:"HOST:PORT" name:"dynamodb"`
	// An open server is for a developer's own machine, as DynamoDB Local is.
	DynamoDBOpen bool `help:"Treat every DynamoDB request as an administrator's; only on an address of this machine." name:"dynamodb-open"`
	stored
	DemoSize *int `help:"Number of orders in the demo; other data are in proportion." placeholder:"N"`
}

// Validate looks at what the values say.
func (s *serve) Validate() error {
	switch {
	case s.DemoSize != nil && !s.Demo:
		return errors.New("--demo-size is the size of what --demo loads, which is not there")
	case s.DemoSize != nil && *s.DemoSize < 1:
		return errors.New("--demo-size must be at least 1")
	}
	if err := server.CheckDynamoDB(s.DynamoDB, s.DynamoDBOpen); err != nil {
		return err
	}
	if err := server.CheckEngine(s.options()); err != nil {
		return err
	}
	return server.CheckListen(s.Listen)
}

// Run serves until the process is told to end.
func (s *serve) Run(c *console) error {
	ctx, stop := untilSignal()
	defer stop()
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)
	o := server.Options{
		Data: s.Data, Config: s.Config, Listen: s.Listen,
		User: os.Getenv("COUCHDB_USER"), Password: os.Getenv("COUCHDB_PASSWORD"),
		Demo: s.Demo, DynamoDB: s.DynamoDB, DynamoDBOpen: s.DynamoDBOpen,
		Store: s.options(), Version: built(), Out: c.out, Log: c.err, Progress: progress.On(c.err), Reload: reload,
	}
	if s.DemoSize != nil {
		o.DemoSize = *s.DemoSize
	}
	return server.Run(ctx, o)
}

// untilSignal returns the context of a command: it ends when the process is asked to.
func untilSignal() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
}

type check struct {
	Data string `help:"Directory of the data." default:"./data" type:"path"`
	stored
	machine
}

// checked is what a check comes to, for programs.
type checked struct {
	Sound bool   `json:"sound"`
	Error string `json:"error,omitempty"`
}

// Validate looks at what the values say.
func (k *check) Validate() error { return server.CheckEngine(k.options()) }

// Run checks a data directory on which no server runs.
func (k *check) Run(c *console) error {
	ctx, stop := untilSignal()
	defer stop()
	if !k.JSON {
		return server.Check(ctx, k.Data, k.options(), c.out, progress.On(c.err))
	}
	err := server.Check(ctx, k.Data, k.options(), io.Discard, progress.On(c.err))
	found := checked{Sound: err == nil}
	if err != nil {
		found.Error = explain(err)
	}
	return errors.Join(err, k.print(c, found, nil))
}

type child struct{}

// Run runs design functions until the server that started it is gone.
func (child) Run(c *console) error { return script.Child(c.in, c.out) }
