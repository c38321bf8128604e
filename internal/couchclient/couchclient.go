// Package couchclient owns how commands ask a database over HTTP, be it of this program, a CouchDB or Cloudant: who
// asks, what is asked again when the server is busy, away or slow, and what its refusals say.
//
// It promises that a password is in no error and is sent nowhere but to the server it was given for, and that an
// answer is read with bounds or handed out as a stream. It knows nothing of documents. Begin reading at Client.
package couchclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/outgoing"
)

// Account is who asks. What a URL says counts before it.
type Account struct {
	User, Password string
	Token          string // sent as a bearer token, in place of user and password
}

// Options are how a client asks. The zero value works.
type Options struct {
	Account
	Transport http.RoundTripper // nil: the network, through the proxy that the environment names
	Attempts  int               // of a request; 0: 8
	// Wait waits between attempts; nil: as long as it is told to.
	Wait func(context.Context, time.Duration) error
	// Note is told that a request is made again, and why; nil: nobody.
	Note func(text string)
}

// Client asks one database, partition or tenant's endpoint.
type Client struct {
	base string
	o    Options
	http http.Client
}

const (
	defaultAttempts = 8
	firstWait       = 500 * time.Millisecond
	longestWait     = 30 * time.Second
	// connections is how many a client keeps.
	connections = 16
	// silence is how long a server may take to begin its answer.
	silence = 10 * time.Minute
	// maxAnswer bounds an answer that is read whole, in bytes, maxRefusal one that is none of success.
	maxAnswer  = 256 << 20
	maxRefusal = 1 << 20
)

var errURL = dberr.New(dberr.Invalid, "bad_request", "A database is named by a URL such as http://localhost:5984/db or http://localhost:5984/db/_partition/p.")

// New returns the client for the database at a URL, with the credentials in it, or else those of the options. Errors:
// Invalid for what is no URL of a database.
func New(address string, o Options) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errURL // the parser's error would show the password
	}
	if u.User != nil {
		o.User, o.Token = u.User.Username(), ""
		o.Password, _ = u.User.Password()
	}
	u.User = nil
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost, t.ResponseHeaderTimeout = connections, silence
		o.Transport = t
	}
	if o.Attempts == 0 {
		o.Attempts = defaultAttempts
	}
	if o.Wait == nil {
		o.Wait = outgoing.Wait
	}
	return &Client{base: strings.TrimRight(u.String(), "/"), o: o, http: http.Client{Transport: o.Transport, CheckRedirect: outgoing.Redirected}}, nil
}

// URL returns the address, without credentials.
func (c *Client) URL() string { return c.base }

// Account returns who asks.
func (c *Client) Account() Account { return c.o.Account }

// Transport returns what carries the requests.
func (c *Client) Transport() http.RoundTripper { return c.o.Transport }

// Error is a request that was not answered well, however often it was made.
type Error struct {
	Status       int    // 0: there was no answer
	Code, Reason string // the server's
	Cause        error  // where there was no answer
	// Unsure says that an earlier attempt had no answer, and may have been carried out.
	Unsure bool
	wait   time.Duration // what the server asked for
}

// Error says what the server said.
func (e *Error) Error() string {
	switch {
	case e.Status == 0:
		return "the server does not answer: " + e.Reason
	case e.Code == "":
		return fmt.Sprintf("the server answers %d (%s)", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("the server refuses: %s: %s", e.Code, e.Reason)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// retryable reports whether asking once more may help.
func (e *Error) retryable() bool {
	switch e.Status {
	case 0, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return e.Status >= 500 && e.Status != http.StatusNotImplemented
}

// Missing reports whether err is a server's answer that what was asked for is not there.
func Missing(err error) bool { return StatusOf(err) == http.StatusNotFound }

// StatusOf returns the status of a refusal, 0 for other errors.
func StatusOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// Request is one request below the client's database.
type Request struct {
	Method string
	Path   string // escaped, from its slash on; with the query
	Body   []byte // JSON; nil: none
}

// Answer is what came of a request that succeeded. Its body is to be closed.
type Answer struct {
	Header http.Header
	Body   io.ReadCloser
	Unsure bool // an earlier attempt had no answer, and may have been carried out
}

// Ask makes a request until it is answered with success, and hands out the answer. Errors: *Error, the context's.
func (c *Client) Ask(ctx context.Context, r Request) (*Answer, error) {
	unsure := false
	for n := 1; ; n++ {
		a, err := c.once(ctx, r)
		if err == nil {
			a.Unsure = unsure
			return a, nil
		}
		var e *Error
		if !errors.As(err, &e) || ctx.Err() != nil {
			return nil, err
		}
		unsure = unsure || e.Status == 0 || e.Status >= 500
		e.Unsure = unsure
		if !e.retryable() || n >= c.o.Attempts {
			return nil, e
		}
		d := max(e.wait, outgoing.Backoff(n, firstWait, longestWait, rand.Float64()))
		if c.o.Note != nil {
			c.o.Note(fmt.Sprintf("%s; asking again in %s", e, d.Round(100*time.Millisecond)))
		}
		if err := c.o.Wait(ctx, d); err != nil {
			return nil, err
		}
	}
}

func (c *Client) once(ctx context.Context, r Request) (*Answer, error) {
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	q, err := http.NewRequestWithContext(ctx, r.Method, c.base+r.Path, body)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Accept", "application/json")
	if r.Body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	c.sign(q)
	a, err := c.http.Do(q)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // the URL around it is known
		}
		return nil, &Error{Reason: err.Error(), Cause: err}
	}
	if a.StatusCode < 200 || a.StatusCode > 299 {
		defer func() { _ = a.Body.Close() }()
		return nil, refusal(a)
	}
	return &Answer{Header: a.Header, Body: a.Body}, nil
}

func (c *Client) sign(q *http.Request) {
	switch {
	case c.o.Token != "":
		q.Header.Set("Authorization", "Bearer "+c.o.Token)
	case c.o.User != "":
		q.SetBasicAuth(c.o.User, c.o.Password)
	}
}

// refusal makes the error of an answer that is none of success.
func refusal(a *http.Response) *Error {
	e := &Error{Status: a.StatusCode, Reason: http.StatusText(a.StatusCode)}
	e.wait, _ = outgoing.RetryAfter(a.Header.Get("Retry-After"), time.Now(), longestWait)
	text, err := io.ReadAll(io.LimitReader(a.Body, maxRefusal))
	var told struct{ Error, Reason string }
	if err == nil && json.Unmarshal(text, &told) == nil && told.Error != "" {
		e.Code, e.Reason = told.Error, told.Reason
	}
	return e
}

// errAnswer refuses what is no answer of a database.
var errAnswer = errors.New("what answers there is no such database: it sends no JSON")

// JSON makes a request, with a body as JSON unless it is nil, and reads the answer into into unless that is nil. An
// answer that breaks off is asked for again. Errors: those of Ask.
func (c *Client) JSON(ctx context.Context, method, path string, body, into any) error {
	r := Request{Method: method, Path: path}
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		r.Body = raw
	}
	text, _, err := c.Whole(ctx, r)
	if err != nil || into == nil {
		return err
	}
	if json.Unmarshal(text, into) != nil {
		return errAnswer
	}
	return nil
}

// Whole makes a request and reads the whole answer. unsure says that an attempt before had no answer, and may have been
// carried out. Errors: those of Ask.
func (c *Client) Whole(ctx context.Context, r Request) (text []byte, unsure bool, err error) {
	for n := 1; ; n++ {
		a, err := c.Ask(ctx, r)
		if err != nil {
			return nil, unsure, err
		}
		unsure = unsure || a.Unsure
		text, err := io.ReadAll(io.LimitReader(a.Body, maxAnswer))
		_ = a.Body.Close()
		if err == nil {
			return text, unsure, nil
		}
		if ctx.Err() != nil {
			return nil, true, context.Cause(ctx)
		}
		unsure = true
		if n >= c.o.Attempts {
			return nil, unsure, &Error{Reason: err.Error(), Cause: err, Unsure: true}
		}
		if err := c.o.Wait(ctx, outgoing.Backoff(n, firstWait, longestWait, rand.Float64())); err != nil {
			return nil, unsure, err
		}
	}
}

// Escape escapes the id of a document as one segment of a path, but for the slash of a design document.
func Escape(id string) string {
	if name, ok := strings.CutPrefix(id, "_design/"); ok {
		return "_design/" + Escape(name)
	}
	if id == "." || id == ".." {
		return strings.ReplaceAll(id, ".", "%2E") // else a step in the path
	}
	return strings.ReplaceAll(url.PathEscape(id), "+", "%2B") // CouchDB takes a plus sign for a space
}
