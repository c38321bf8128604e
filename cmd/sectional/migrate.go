package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/sectional/sectional/internal/couchclient"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/migrate"
	"github.com/sectional/sectional/internal/partitionkey"
	"github.com/sectional/sectional/internal/progress"
)

type migrating struct {
	Source string `arg:"" help:"URL of the database to read: http://[user:password@]host:5984/db. It may be on CouchDB, Cloudant or Sectional, and can stay in use."`
	Target string `arg:"" help:"URL of the partitioned database to write. It is created if it does not exist."`

	PartitionBy string   `name:"partition-by" required:"" placeholder:"FIELD|TEMPLATE" help:"The partition of a document: a member, such as country or address.country, or a template, such as {country}-{date|first 7}."`
	Default     string   `placeholder:"PARTITION" help:"Partition of documents for which the key yields none. Default: they are refused and listed."`
	KeepIDs     bool     `name:"keep-ids" help:"Ids already begin with their partition and a colon, and stay as they are. Default: both are put before every id."`
	Reference   []string `placeholder:"FIELD" help:"Member that holds the id of another document, or an array of ids, which are replaced by the new ids. May be repeated."`
	NoDesign    bool     `name:"no-design" help:"Leave out design documents."`
	Follow      bool     `help:"Keep copying what is written to the source until Ctrl-C, then copy the rest and exit."`
	DryRun      bool     `name:"dry-run" help:"Only read the source, and show which partitions there would be."`
	Rejected    string   `placeholder:"FILE" help:"Write documents that could not be copied to this file, as JSON lines. Default: standard error." type:"path"`
	JSON        bool     `name:"json" help:"Print the result as one line of JSON."`

	SourceUser         string `help:"User of the source, if the URL has none. The password is taken from SECTIONAL_SOURCE_PASSWORD, or a token from SECTIONAL_SOURCE_TOKEN." env:"SECTIONAL_SOURCE_USER" placeholder:"NAME"`
	SourcePasswordFile string `help:"File with the password of the source." placeholder:"FILE" type:"path"`
	TargetUser         string `help:"User of the target, if the URL has none. The password is taken from SECTIONAL_TARGET_PASSWORD." env:"SECTIONAL_TARGET_USER" placeholder:"NAME"`
	TargetPasswordFile string `help:"File with the password of the target." placeholder:"FILE" type:"path"`
}

// Validate looks at what the values say.
func (m *migrating) Validate() error {
	if m.Source == "" || m.Target == "" || m.PartitionBy == "" {
		return nil // which is told by others
	}
	for _, side := range []struct{ name, url string }{{"SOURCE", m.Source}, {"TARGET", m.Target}} {
		if _, err := couchclient.New(side.url, couchclient.Options{}); err != nil {
			return errors.New(side.name + ": " + explain(err))
		}
	}
	_, err := m.mapping()
	if err != nil {
		return errors.New(explain(err))
	}
	return nil
}

func (m *migrating) mapping() (migrate.Mapping, error) {
	by, err := partitionkey.Parse(m.PartitionBy)
	if err == nil && m.Default != "" {
		_, err = document.ParsePartition(m.Default)
	}
	return migrate.Mapping{By: by, Default: document.Partition(m.Default), KeepIDs: m.KeepIDs, References: m.Reference}, err
}

// Run brings the source over. It can be ended at any time: the next run goes on where this one came to.
func (m *migrating) Run(c *console) (err error) {
	line := progress.On(c.err)
	out := line.Above(c.err)
	mapping, err := m.mapping()
	if err != nil {
		return err
	}
	from, err := side(m.Source, m.SourceUser, m.SourcePasswordFile, "SECTIONAL_SOURCE_", out)
	if err != nil {
		return err
	}
	to, err := side(m.Target, m.TargetUser, m.TargetPasswordFile, "SECTIONAL_TARGET_", out)
	if err != nil {
		return err
	}
	if m.DryRun {
		return m.see(c, &mapping, from, line)
	}
	ctx, cut, stop := m.signals()
	defer stop()
	list, err := newRejects(m.Rejected, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	task := migrate.Migration{Source: from, Target: to, Mapping: mapping, NoDesign: m.NoDesign, CutOver: cut, Out: out, Line: line,
		Rejected: func(r migrate.Rejection) { list.add(r, strings.TrimSpace(r.ID+" "+r.Rev)+": "+r.Code+": "+r.Reason) }}
	o, err := task.Run(ctx)
	line.Clear()
	if ctx.Err() != nil {
		return errEnded
	}
	if err != nil {
		return err
	}
	return m.report(c, o, list)
}

var errEnded = errors.New("ended before its time; the next run goes on from here")

// report says what came of it.
func (m *migrating) report(c *console, o migrate.Outcome, list *rejects) error {
	if m.JSON {
		if err := json.NewEncoder(c.out).Encode(o); err != nil {
			return err
		}
	} else {
		progress.Fprintf(c.err, "done: %d revisions written, %d documents moved to another partition, %d rejected\n", o.Written, o.Moved, o.Rejected)
	}
	if o.References > 0 {
		progress.Fprintf(c.err, "%d references to missing documents stayed as they were\n", o.References)
	}
	if o.Rejected > 0 {
		return list.refused()
	}
	return nil
}

// see shows what would become of the source.
func (m *migrating) see(c *console, mapping *migrate.Mapping, from *couchclient.Client, line *progress.Line) error {
	ctx, stop := untilSignal()
	defer stop()
	v, err := mapping.See(ctx, from, line)
	line.Clear()
	if err != nil {
		return err
	}
	if m.JSON {
		return json.NewEncoder(c.out).Encode(v)
	}
	return v.Print(c.out, m.KeepIDs)
}

// signals returns the context of the command, and what tells of a cut-over: with --follow the first interrupt, and nil
// without.
func (m *migrating) signals() (ctx context.Context, cut chan struct{}, stop func()) {
	ctx, stop = untilSignal()
	if !m.Follow {
		return ctx, nil, stop
	}
	stop() // interrupts are ours
	ctx, cancel := context.WithCancel(context.Background())
	cut = make(chan struct{})
	told := make(chan os.Signal, 2)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	go func() {
		if s := <-told; s == os.Interrupt {
			close(cut)
			<-told
		}
		cancel()
	}()
	return ctx, cut, func() { signal.Stop(told); cancel() }
}

// side returns the client of a database, with the credentials of its URL, a user's name or the environment.
func side(address, user, passwordFile, env string, out io.Writer) (*couchclient.Client, error) {
	who := couchclient.Account{User: user, Password: os.Getenv(env + "PASSWORD"), Token: os.Getenv(env + "TOKEN")}
	if passwordFile != "" {
		text, err := os.ReadFile(passwordFile)
		if err != nil {
			return nil, err
		}
		who.Password = strings.TrimRight(string(text), "\r\n")
	}
	return couchclient.New(address, couchclient.Options{Account: who, Note: func(text string) { progress.Fprintf(out, "%s\n", text) }})
}
