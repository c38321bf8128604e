package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/server"
)

type serve struct {
	Listen   string `help:"Address to listen on (default: 127.0.0.1:5984, or what the configuration says)." placeholder:"HOST:PORT"`
	Data     string `help:"Directory for all data." default:"./data" type:"path"`
	Config   string `help:"Configuration file in CouchDB's ini dialect." placeholder:"FILE" type:"path"`
	Demo     bool   `help:"Load databases to play with."`
	DynamoDB string `help:"Address at which the DynamoDB API listens (default: it does not)." placeholder:"HOST:PORT" name:"dynamodb"`
	// An open server is for a developer's own machine, as DynamoDB Local is.
	DynamoDBOpen bool `help:"Take whoever asks the DynamoDB API for an administrator; for this machine only." name:"dynamodb-open"`
	DemoSize     *int `help:"How many orders the demo has; the rest goes with it." placeholder:"N"`
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
	return server.CheckListen(s.Listen)
}

// Run serves until the process is told to end.
func (s *serve) Run(c *console) error {
	ctx, stop := untilSignal()
	defer stop()
	o := server.Options{
		Data: s.Data, Config: s.Config, Listen: s.Listen,
		User: os.Getenv("COUCHDB_USER"), Password: os.Getenv("COUCHDB_PASSWORD"),
		Demo: s.Demo, DynamoDB: s.DynamoDB, DynamoDBOpen: s.DynamoDBOpen,
		Version: built(), Out: c.out, Log: c.err, Progress: progress.On(c.err),
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
}

// Run checks a data directory on which no server runs.
func (k *check) Run(c *console) error {
	ctx, stop := untilSignal()
	defer stop()
	return server.Check(ctx, k.Data, c.out, progress.On(c.err))
}

type child struct{}

// Run runs design functions until the server that started it is gone.
func (child) Run(c *console) error { return script.Child(c.in, c.out) }
