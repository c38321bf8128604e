package pgtest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Required is the variable of the environment that makes tests fail, not pass over, where no
// PostgreSQL is installed.
const Required = "SECTIONAL_POSTGRES_REQUIRED"

// Shared is the cluster of a test binary, which the first test that asks for it starts. It is
// fast and not durable. The zero value is ready.
type Shared struct {
	mu      sync.Mutex
	cluster *Cluster
	err     error
}

// Main runs the tests and stops the cluster. A package of tests calls it from TestMain.
func (s *Shared) Main(m interface{ Run() int }) int {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.cluster == nil {
			return
		}
		if err := s.cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	return m.Run()
}

// Cluster returns the cluster. Where no PostgreSQL is installed the test is passed over.
func (s *Shared) Cluster(t testing.TB) *Cluster {
	t.Helper()
	Need(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil && s.err == nil {
		s.cluster, s.err = Start(Options{})
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.cluster
}

// Need passes the test over where no PostgreSQL is installed, or fails it if the environment says so.
func Need(t testing.TB) {
	t.Helper()
	if Installed() != "" {
		return
	}
	if os.Getenv(Required) != "" {
		t.Fatal("PostgreSQL is not installed")
	}
	t.Skip("NOT TESTED: PostgreSQL is not installed (apt-get install postgresql)")
}

// URLVariable is the variable of the environment that has tests of higher layers run over a PostgreSQL
// server.
const URLVariable = "SECTIONAL_TEST_POSTGRES"

// Database returns the URL of a database of its own for name, on the server at url, which has no database
// of that name at first.
func Database(ctx context.Context, url, name string) (string, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	database := fmt.Sprintf("t%x", sha256.Sum256([]byte(name)))[:20]
	_, err = conn.Exec(ctx, "CREATE DATABASE "+database)
	var there *pgconn.PgError
	if errors.As(err, &there) && there.Code == "42P04" {
		err = nil
	}
	return strings.Replace(url, "/sectional?", "/"+database+"?", 1), err
}
