package main

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/operate"
	"github.com/sectional/sectional/internal/progress"
)

// keys are the commands for access keys, with which clients of the DynamoDB API sign.
type keys struct {
	Create keyCreation `cmd:"" help:"Create an access key for a user, and print it as the variables that AWS's clients read."`
	List   keyList     `cmd:"" help:"List the access keys of a user."`
	Revoke keyEnd      `cmd:"" help:"Revoke an access key."`
}

// asked is the server that a command asks, and whose name it does so.
type asked struct {
	Server string `help:"URL of the server: http://[admin:password@]host:5984." default:"http://127.0.0.1:5984" env:"SECTIONAL_URL" placeholder:"URL"`
	As     string `help:"Administrator, if the URL has none. The password is taken from SECTIONAL_PASSWORD." env:"SECTIONAL_USER" placeholder:"NAME"`
}

// open returns the server.
func (a *asked) open() (*operate.Server, error) {
	return operate.New(a.Server, a.As, os.Getenv("SECTIONAL_PASSWORD"))
}

type keyCreation struct {
	User     string   `arg:"" help:"The user: one with a user document, or an administrator."`
	Table    []string `help:"A table that the key gives access to; may be repeated. Default: all tables that the user may access." placeholder:"NAME"`
	ReadOnly bool     `help:"The key can only read."`
	asked
	machine
}

// Run makes a key.
func (k *keyCreation) Run(c *console) error {
	return k.do(func(ctx context.Context, s *operate.Server) error {
		made, err := s.NewKey(ctx, k.User, k.Table, k.ReadOnly)
		if err != nil {
			return err
		}
		return k.print(c, made, func(w io.Writer) {
			progress.Fprintf(w, "AWS_ACCESS_KEY_ID=%s\nAWS_SECRET_ACCESS_KEY=%s\n", made.ID, made.Secret)
		})
	})
}

type keyList struct {
	User string `arg:"" help:"The user."`
	asked
	machine
}

// Run lists keys.
func (k *keyList) Run(c *console) error {
	return k.do(func(ctx context.Context, s *operate.Server) error {
		list, err := s.Keys(ctx, k.User)
		if err != nil {
			return err
		}
		return k.print(c, list, func(w io.Writer) {
			for _, key := range list {
				progress.Fprintf(w, "%s\t%s\t%s\n", key.ID, key.Created.Format(time.RFC3339), keyIsFor(key))
			}
		})
	})
}

// keyIsFor says what a key may be used for.
func keyIsFor(k operate.AccessKey) string {
	about := "all tables"
	if k.Tables != nil {
		about = strings.Join(k.Tables, ",")
	}
	if k.ReadOnly {
		about += ", read only"
	}
	return about
}

type keyEnd struct {
	User string `arg:"" help:"The user."`
	Key  string `arg:"" help:"The key's id."`
	asked
}

// Run ends a key.
func (k *keyEnd) Run(*console) error {
	return k.do(func(ctx context.Context, s *operate.Server) error { return s.RevokeKey(ctx, k.User, k.Key) })
}

// do runs work on the server, until the process is told to end.
func (a *asked) do(work func(context.Context, *operate.Server) error) error {
	s, err := a.open()
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	return work(ctx, s)
}
