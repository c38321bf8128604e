// Package operate owns what commands ask of a running server over HTTP, in the name of an
// administrator. It knows paths and forms of the API, and nothing of the server's insides.
// Begin reading at Server.
package operate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

// Server is a running server.
type Server struct {
	url            url.URL
	user, password string
}

// Errors of addresses and credentials.
var (
	errURL    = errors.New("a server is named by a URL, as http://127.0.0.1:5984")
	errAnswer = errors.New("what answers there is no Sectional server")
)

// within is how long a request may take.
const within = 30 * time.Second

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 16 << 20

// New returns the server at a URL. User and password are those in it, or else the ones
// given. Errors: for what is no URL of a server.
func New(address, user, password string) (*Server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errURL // the address may have a password in it: it is not shown
	}
	s := &Server{user: user, password: password}
	if u.User != nil {
		s.user = u.User.Username()
		s.password, _ = u.User.Password()
	}
	s.url = url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return s, nil
}

// ask sends a request, with a body as JSON if there is one, and reads the answer into
// into, if that is not nil. Errors: what the server says, or why it can't be asked.
func (s *Server) ask(ctx context.Context, method string, body, into any, path ...string) error {
	return s.askWith(ctx, method, nil, body, into, path...)
}

// get asks for something with the parameters of a query.
func (s *Server) get(ctx context.Context, query url.Values, into any, path ...string) error {
	return s.askWith(ctx, http.MethodGet, query, nil, into, path...)
}

// unreached is the error of a request that no server has answered. The URL in it may be long.
func (s *Server) unreached(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("no server listens at %s: start one there (sectional serve), or give the URL of the one that runs: %w", s.url.Host, errors.Unwrap(err))
	}
	return errors.Unwrap(err)
}

// askWith is ask with a query. Into a *[]byte the answer goes as it is.
func (s *Server) askWith(ctx context.Context, method string, query url.Values, body, into any, path ...string) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var from io.Reader = http.NoBody
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		from = bytes.NewReader(b)
	}
	to := s.url.JoinPath(escaped(path)...)
	to.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, method, to.String(), from)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if s.user != "" {
		r.SetBasicAuth(s.user, s.password)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return s.unreached(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, maxAnswer))
	if err != nil {
		return err
	}
	if a.StatusCode >= http.StatusBadRequest {
		return refusal(a.StatusCode, text)
	}
	if raw, ok := into.(*[]byte); ok {
		*raw = text
		return nil
	}
	if into != nil && json.Unmarshal(text, into) != nil {
		return errAnswer
	}
	return nil
}

// escaped returns segments of a path as they are written in one.
func escaped(path []string) []string {
	all := make([]string, len(path))
	for i, p := range path {
		all[i] = url.PathEscape(p)
	}
	return all
}

// refusal is what the server says in an error.
func refusal(status int, text []byte) error {
	var said struct{ Reason string }
	if json.Unmarshal(text, &said) != nil || said.Reason == "" {
		return fmt.Errorf("%w: it answers %d", errAnswer, status)
	}
	return &refused{status, said.Reason}
}

// refused is an error that a server tells.
type refused struct {
	status int
	reason string
}

// Error implements error.
func (r *refused) Error() string { return "the server refuses: " + r.reason }

// missing reports whether an error says that something is not there.
func missing(err error) bool {
	var r *refused
	return errors.As(err, &r) && r.status == http.StatusNotFound
}
