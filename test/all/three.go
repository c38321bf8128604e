package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sectional/sectional/internal/kv/pgkv/pgtest"
)

// overThree is a step of clients whose server is three, over a PostgreSQL server that it starts (test/servers/three).
func overThree(run func(ctx context.Context, dir string, t *tally) error) func(context.Context, *tally) error {
	return withServer(func(ctx context.Context, dir string, t *tally) (err error) {
		if pgtest.Installed() == "" {
			fmt.Fprintln(t.out, "NOT TESTED: PostgreSQL is not installed.")
			return nil
		}
		c, err := pgtest.Start(pgtest.Options{Settings: []string{"max_connections=1000"}})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Stop()) }()
		three := filepath.Join(dir, "three")
		if err := t.run(t.command(ctx, "go", "build", "-o", three, "./test/servers/three")); err != nil {
			return err
		}
		t.with("SECTIONAL_BINARY="+three, "THREE_BINARY="+filepath.Join(dir, "sectional"), "THREE_POSTGRES="+c.URL())
		return run(ctx, dir, t)
	})
}

// threeClients runs the clients of both APIs and the recorded scenarios. Those in Node are there after the step that runs
// them against one server.
func threeClients(ctx context.Context, dir string, t *tally) error {
	var parts []func(*tally) error
	for _, s := range []step{
		{"clients in Node", func(ctx context.Context, t *tally) error {
			if _, err := os.Stat(filepath.Join(nodeClients, "node_modules")); err != nil {
				if err := installNode(ctx, t); err != nil {
					return err
				}
			}
			return nodeTests(ctx, dir, t)
		}},
		{"recorded scenarios", goTests("-parallel=4", "./test/couch")},
		{"clients in Go", goTestsIn(filepath.Join("test", "aws"), "-parallel=1", "./...")},
		{"clients in Python", func(ctx context.Context, t *tally) error { return python(ctx, dir, t) }},
	} {
		parts = append(parts, func(own *tally) error {
			own.step(ctx, s)
			return nil
		})
	}
	return t.sideBySide(2, parts)
}
