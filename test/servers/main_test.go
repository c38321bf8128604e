package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/pgtest"
	"github.com/sectional/sectional/internal/testkit/process"
)

var postgres pgtest.Shared

func TestMain(m *testing.M) { os.Exit(process.Main(shared{m})) }

// shared runs the tests, and stops the cluster after them.
type shared struct{ m *testing.M }

// Run implements process.Main's runner.
func (s shared) Run() int { return postgres.Main(s.m) }

// start runs three servers over a database of their own for the length of a test, in the cluster that the tests share.
func start(t *testing.T, arguments ...string) *Servers {
	t.Helper()
	url, err := postgres.Cluster(t).Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return over(t, Options{Postgres: url, Args: arguments})
}

// over is start for a database that is there.
func over(t *testing.T, o Options) *Servers {
	t.Helper()
	o.Binary, o.Dir, o.Count = process.Binary(), t.TempDir(), 3
	s, err := Launch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(s.Outputs())
		}
	})
	return s
}

// client asks one server, or a balancer.
type client struct {
	base           string
	user, password string
	http           *http.Client
}

// ask makes a client with the administrator's rights.
func ask(base string) *client {
	return &client{base, process.User, process.Password, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}, Timeout: 2 * time.Minute}}
}

// as is the client of another user.
func (c *client) as(user, password string) *client {
	return &client{c.base, user, password, c.http}
}

// answer is what a client was told.
type answer struct {
	status int
	body   []byte
	header http.Header
}

// do sends a request and reads the whole answer. An error says that there was none.
func (c *client) do(method, path, body string) (a answer, err error) {
	return c.send(context.Background(), method, path, body, nil)
}

// send is do with headers beside the client's own.
func (c *client) send(ctx context.Context, method, path, body string, header http.Header) (a answer, err error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewBufferString(body))
	if err != nil {
		return a, err
	}
	r.Header.Set("Content-Type", "application/json")
	for name, values := range header {
		r.Header[name] = values
	}
	if c.user != "" {
		r.SetBasicAuth(c.user, c.password)
	}
	return c.carry(r)
}

// carry sends a request that is ready, and reads the whole answer.
func (c *client) carry(r *http.Request) (a answer, err error) {
	w, err := c.http.Do(r)
	if err != nil {
		return a, err
	}
	defer w.Body.Close()
	a.status, a.header = w.StatusCode, w.Header
	a.body, err = io.ReadAll(w.Body)
	return a, err
}

// must sends a request, fails the test unless the status is the wanted one, and decodes the answer where somebody wants
// it.
func (c *client) must(t testing.TB, want int, method, path, body string, into any) answer {
	t.Helper()
	a, err := c.do(method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	if a.status != want {
		t.Fatalf("%s %s answered %d, want %d: %.300s", method, path, a.status, want, a.body)
	}
	if into == nil {
		return a
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		t.Fatalf("%s %s: %v: %.300s", method, path, err, a.body)
	}
	return a
}
