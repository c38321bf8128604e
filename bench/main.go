// Command bench measures how fast Sectional is against what the machine could do at best. It starts the server as a
// process, drives it over the loopback interface with prebuilt requests, and measures in the same run the ceilings
// beside it: a bare net/http handler that answers the same bytes, raw Pebble with the same rows, bleve's own index
// of the same documents (the module in ceiling), dynalite for the DynamoDB API, and pgbench for PostgreSQL. Ratios of one run mean the same on
// every machine; rates do not.
//
// It must not know how the server stores anything: it sees requests, answers, the process's figures and, for the
// ceiling, rows without meaning. Begin reading at run; the measurements are in workloads.go, loads.go,
// imports.go, resources.go, indexes.go, texts.go, searches.go, geo.go, replication.go, pouchdb.go, dynamodb.go, postgres.go and severalservers.go.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == bareRole {
		fmt.Fprintln(os.Stderr, serveBare(os.Args[2], os.Args[3]))
		os.Exit(1)
	}
	quick := flag.Bool("quick", false, "a run of seconds that shows whether everything works; its figures mean little")
	dir := flag.String("dir", os.TempDir(), "where data directories are made; should be the disk that counts")
	load := flag.Int("load", 0, "documents of the load that goes on, 0: 300,000; 3,000,000 take some ten minutes and 3 GB of disk")
	only := flag.String("only", "", "measure the parts whose name contains this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *dir, *only, *load, *quick); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// scale is how much is measured.
type scale struct {
	documents   int           // of 1 KB in the database that is read
	bulks       int           // requests of 500 documents in a bulk load
	repetitions int           // of each measurement; the median counts
	load, part  int           // documents of a load that goes on, and of one part of it
	duration    time.Duration // of one repetition
	few, many   int           // documents in other partitions
	feeds       int           // that wait for changes
	wakes       int           // of them that are told of one
	databases   int           // that nobody asks for
	drops       int           // of partitions at once
	texts       int           // documents that are searched
	textIndexes int           // that nobody asks
}

func scales(quick bool) scale {
	if quick {
		return scale{documents: 2000, bulks: 8, repetitions: 1, load: 8000, part: 4000, duration: 300 * time.Millisecond, few: 1000, many: 10_000, feeds: 500, wakes: 50, databases: 300, drops: 500, texts: 4000, textIndexes: 200}
	}
	return scale{documents: 50_000, bulks: 100, repetitions: 3, load: 300_000, part: 50_000, duration: 4 * time.Second, few: 10_000, many: 1_000_000, feeds: 10_000, wakes: 200, databases: 100_000, drops: 5000, texts: 200_000, textIndexes: 10_000}
}

// bench is one run.
type bench struct {
	scale
	dir    string
	report report
}

// run measures everything and prints the table.
func run(ctx context.Context, parent, only string, load int, quick bool) (err error) {
	dir, err := os.MkdirTemp(parent, "sectional-bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := process.Build(filepath.Join(dir, "sectional")); err != nil {
		return err
	}
	b := &bench{scale: scales(quick), dir: dir}
	b.load = cmp.Or(load, b.load)
	for _, part := range []struct {
		name    string
		measure func(context.Context) error
	}{
		{"memory of an idle server", b.idle},
		{"bulk loading", b.bulkLoad},
		{"import", b.imports},
		{"a load that goes on", b.growingLoad},
		{"a snapshot", b.snapshot},
		{"single documents", b.documentsAndFeed},
		{"patches of one document", b.patches},
		{"queries over indexes", b.indexes},
		{"writes beside indexes", b.indexedWrites},
		{"writes beside a text index", b.searchedWrites},
		{"searches", b.searches},
		{"idle text indexes", b.idleTexts},
		{"geo queries", b.geo},
		{"nearest vectors", b.vectors},
		{"idlefeeds", b.idleFeeds},
		{"idledatabases", b.idleDatabases},
		{"replication", b.replication},
		{"pouchdb", b.pouchdb},
		{"DynamoDB", b.dynamodb},
		{"PostgreSQL", b.postgres},
		{"notice", b.notice},
		{"a million documents", b.many},
	} {
		if !strings.Contains(part.name, only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring: %s\n", part.name)
		if err := part.measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return b.report.print(os.Stdout)
}

// start runs a server on a data directory of its own.
func (b *bench) start(ctx context.Context) (s *process.Server, data string, err error) {
	if data, err = os.MkdirTemp(b.dir, "data"); err != nil {
		return nil, "", err
	}
	s, err = process.Launch(ctx, process.Options{Binary: process.Binary(), Dir: data})
	return s, data, err
}

// scratch makes an empty directory for a ceiling.
func (b *bench) scratch() (string, error) { return os.MkdirTemp(b.dir, "raw") }
