package server

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/testkit/pgtest"
)

var postgres pgtest.Shared

// TestMain lets the test binary be a child that runs design functions.
func TestMain(m *testing.M) {
	script.ServeIfChild()
	os.Exit(postgres.Main(m))
}

func TestCheckEngine(t *testing.T) {
	for _, c := range []struct {
		o    EngineOptions
		fine bool
	}{
		{EngineOptions{}, true},
		{EngineOptions{Engine: "embedded"}, true},
		{EngineOptions{Engine: "postgres", Postgres: "postgres://x@y/z"}, true},
		{EngineOptions{Engine: "tikv"}, false},
		{EngineOptions{Postgres: "postgres://x@y/z"}, false},
	} {
		if err := CheckEngine(c.o); (err == nil) != c.fine {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

// ownDatabase is a database of the cluster that no other test uses.
func ownDatabase(t *testing.T) EngineOptions {
	t.Helper()
	t.Setenv(unsafeVariable, "1")
	url, err := postgres.Cluster(t).Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return EngineOptions{Engine: "postgres", Postgres: url}
}

// send makes a request as the administrator.
func (r *running) send(method, path, body string) (int, string) {
	r.t.Helper()
	status, answer, _ := r.ask(method, path, body, "adm", "pass", nil)
	return status, answer
}

// TestServersOverPostgres has two servers write the documents of one database, and a third
// that comes later read them, each with a data directory of its own.
func TestServersOverPostgres(t *testing.T) {
	o := ownDatabase(t)
	first := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass", Store: o})
	second := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass", Store: o})
	if status, body := first.send("PUT", "/shared", ""); status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	for i, r := range []*running{first, second, first, second} {
		if status, body := r.send("POST", "/shared", `{"n":1}`); status != 201 {
			t.Errorf("write %d: %d %s", i, status, body)
		}
	}
	for _, r := range []*running{first, second} {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	}
	config := configured(t, "[engine]\nname = postgres\nurl = "+o.Postgres+"\n")
	third := start(t, Options{Data: t.TempDir(), User: "adm", Password: "pass", Config: config})
	if status, body := third.send("GET", "/shared", ""); status != 200 || !strings.Contains(body, `"doc_count":4`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := third.send("GET", "/_node/_local/_config/engine/url", ""); status != 200 || strings.Contains(body, "postgres://") {
		t.Errorf("the URL is shown: %d %s", status, body)
	}
	if err := third.stop(); err != nil {
		t.Error(err)
	}
	var out bytes.Buffer
	if err := Check(context.Background(), "", o, &out, progress.New(io.Discard, time.Time{})); err != nil || !strings.Contains(out.String(), "sound") {
		t.Errorf("Check: %v %s", err, out.String())
	}
}

// TestPostgresRefusals: what can't be served is refused at the start, and said.
func TestPostgresRefusals(t *testing.T) {
	o := EngineOptions{Engine: "postgres", Postgres: postgres.Cluster(t).URL()}
	if err := refuses(t, Options{Data: t.TempDir(), Store: o}); !strings.Contains(err.Error(), "fsync") {
		t.Errorf("a server with fsync off: %v", err)
	}
	t.Setenv(unsafeVariable, "1")
	config := configured(t, "[engine]\npatience = 0.1\n")
	gone := EngineOptions{Engine: "postgres", Postgres: pgtest.URLAt(t.TempDir())}
	if err := refuses(t, Options{Data: t.TempDir(), Config: config, Store: gone}); !dberr.Is(err, dberr.Unavailable) {
		t.Errorf("no server: %v", err)
	}
	data := t.TempDir()
	start(t, Options{Data: data, User: "adm", Password: "pass", Store: o})
	if err := refuses(t, Options{Data: data, Store: o}); !dberr.Is(err, dberr.Unavailable) {
		t.Errorf("a directory in use: %v", err)
	}
}

// TestNoServerIsNamed: a PostgreSQL server that nobody has named is not looked for.
func TestNoServerIsNamed(t *testing.T) {
	t.Setenv("PGHOST", "")
	t.Setenv("PGSERVICE", "")
	o := Options{Data: t.TempDir(), Store: EngineOptions{Engine: enginePostgres}, Out: io.Discard, Log: io.Discard}
	if err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--postgres") {
		t.Errorf("%v", err)
	}
	if err := Check(t.Context(), "", o.Store, io.Discard, progress.New(io.Discard, time.Now())); err == nil || !strings.Contains(err.Error(), "--postgres") {
		t.Errorf("%v", err)
	}
}

// TestAddressInUse: who listens where another does is told what to do.
func TestAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := Options{Data: t.TempDir(), Listen: l.Addr().String(), User: "adm", Password: "pass", Out: io.Discard, Log: io.Discard}
	if err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "choose another address (--listen") {
		t.Errorf("%v", err)
	}
}
