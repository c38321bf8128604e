package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/sectional/sectional/internal/kv/pgkv/pgtest"
)

// postgres installs PostgreSQL where it is missing and this process may, with what its tests have between servers and it, so
// that the tests that start a server of their own find it. Where it may not, they are passed over, which is
// said here and with each of them.
func postgres(ctx context.Context, t *tally) error {
	complete := pgtest.Installed() != "" && hasProgram("pgbouncer") && hasProgram("ip")
	if !complete && os.Geteuid() == 0 && hasProgram("apt-get") {
		if err := aptInstall(ctx, t, "postgresql", "pgbouncer", "iproute2"); err != nil {
			fmt.Fprintln(t.out, err)
		}
	}
	if dir := pgtest.Installed(); dir != "" {
		fmt.Fprintln(t.out, "found in", dir)
		return os.Setenv(pgtest.Required, "1") // before anything runs that asks
	}
	fmt.Fprintln(t.out, "NOT TESTED: PostgreSQL is not installed and can't be installed here. The engine kv/pgkv, and all that runs on it, is not tested by this run.")
	return nil
}

// overPostgres is a step whose tests, of layers above the engine, run over a PostgreSQL server that it starts.
func overPostgres(run func(context.Context, *tally) error) func(context.Context, *tally) error {
	return func(ctx context.Context, t *tally) (err error) {
		if pgtest.Installed() == "" {
			fmt.Fprintln(t.out, "NOT TESTED: PostgreSQL is not installed.")
			return nil
		}
		c, err := pgtest.Start(pgtest.Options{Settings: []string{"max_connections=500"}})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Stop()) }()
		t.with(pgtest.URLVariable + "=" + c.URL())
		return run(ctx, t)
	}
}

func hasProgram(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}
