package system

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

// client asks one server with an administrator's rights.
type client struct {
	base           string
	user, password string
	http           *http.Client
}

// ask makes a client for a server.
func ask(s *process.Server) *client {
	return &client{s.Base, process.User, process.Password, &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
		Timeout:   2 * time.Minute,
	}}
}

// request builds a request with the client's credentials. A body is JSON unless the caller says otherwise afterwards.
func (c *client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json")
	if c.user != "" {
		r.SetBasicAuth(c.user, c.password)
	}
	return r, nil
}

// do sends a request and reads the whole answer. An error means that there was no complete answer, so that nobody
// knows whether the server did it.
func (c *client) do(method, path string, body []byte) (status int, answer []byte, err error) {
	var in io.Reader
	if body != nil {
		in = bytes.NewReader(body)
	}
	r, err := c.request(context.Background(), method, path, in)
	if err != nil {
		return 0, nil, err
	}
	return c.send(r)
}

func (c *client) send(r *http.Request) (status int, answer []byte, err error) {
	response, err := c.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// must sends a request, fails the test unless the status is the wanted one, and decodes the answer into the value
// where there is one.
func (c *client) must(t testing.TB, want int, method, path, body string, into any) {
	t.Helper()
	var in []byte
	if body != "" {
		in = []byte(body)
	}
	status, answer, err := c.do(method, path, in)
	if err != nil {
		t.Fatal(err)
	}
	if status != want {
		t.Fatalf("%s %s answered %d, want %d: %.300s", method, path, status, want, answer)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(answer, into); err != nil {
		t.Fatalf("%s %s: %v: %.300s", method, path, err, answer)
	}
}

// changesRow is a line of a feed.
type changesRow struct {
	Seq     string
	ID      string
	Deleted bool
	Changes []struct{ Rev string }
}

// number is the part of a sequence before the dash, which grows by one from change to change.
func (r changesRow) number() (n int64, err error) {
	_, err = fmt.Sscanf(r.Seq, "%d-", &n)
	return n, err
}
