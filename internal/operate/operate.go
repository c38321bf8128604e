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
	r, err := http.NewRequestWithContext(ctx, method, s.url.JoinPath(escaped(path)...).String(), from)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if s.user != "" {
		r.SetBasicAuth(s.user, s.password)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return errors.Unwrap(err) // the URL around it is known, and may be long
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, maxAnswer))
	if err != nil {
		return err
	}
	if a.StatusCode >= http.StatusBadRequest {
		return refusal(a.StatusCode, text)
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
	return fmt.Errorf("the server refuses: %s", said.Reason)
}
