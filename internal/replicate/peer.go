package replicate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/jsonstream"
	"github.com/sectional/sectional/internal/outgoing"
)

const (
	defaultConnections = 20
	defaultTimeout     = 30 * time.Second
	defaultRetries     = 5
)

// peer asks one endpoint. It sees to credentials, the number of requests at
// once, silence and repetitions; what an answer means is the caller's business.
type peer struct {
	base    string // the URL, without a slash at its end
	header  http.Header
	client  http.Client
	timeout time.Duration
	retries int
	slots   chan struct{}
	hold    struct { // a peer that asks not to be asked
		sync.Mutex
		until time.Time
	}
}

func newPeer(a *Address) *peer {
	p := &peer{base: strings.TrimRight(a.URL, "/"), header: a.Header.Clone(), timeout: a.Timeout, retries: a.Retries}
	if p.header == nil {
		p.header = http.Header{}
	}
	p.client.Transport, p.client.CheckRedirect = a.Transport, outgoing.Redirected
	if a.User != "" && p.header.Get("Authorization") == "" {
		r := http.Request{Header: p.header}
		r.SetBasicAuth(a.User, a.Password)
	}
	if p.timeout <= 0 {
		p.timeout = defaultTimeout
	}
	if p.retries == 0 {
		p.retries = defaultRetries
	}
	slots := a.Connections
	if slots <= 0 {
		slots = defaultConnections
	}
	p.slots = make(chan struct{}, slots)
	return p
}

// shown is the URL as errors tell it.
func (p *peer) shown() string { return p.base + "/" }

// call is a request below the endpoint.
type call struct {
	method string
	path   string // escaped, from its slash on; with the query
	accept string
	header []string // names and values in turn, besides those of every request

	// body makes the JSON that is sent, anew for each repetition; nil: nothing
	// is sent, or stream.
	body func() []byte
	// stream is sent as contentType; such a call can't be repeated. Its length
	// is -1 when it is not known. It is not read any more when the call is over.
	stream      io.Reader
	length      int64
	contentType string

	silence time.Duration // of the peer that is borne; 0: the peer's timeout
	endless bool          // the call is a feed: it is not counted among the requests at once
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   io.Reader
	// progress says that the answer was of use even if it breaks off now, so
	// that the peer gets all its repetitions again.
	progress bool
}

// PeerError is a request that a peer did not answer well, however often it was
// asked.
type PeerError struct {
	Method, URL string // URL without credentials and query
	Status      int    // 0: there was no answer
	Code        string // the peer's word; "" when it gave none
	Reason      string // its sentence, or ours
	Cause       error  // when there was no whole answer

	answer    []byte        // the whole answer, if it was JSON
	retryable bool          // asking once more may help
	wait      time.Duration // how long the peer asked to be left alone
}

// Error implements error.
func (e *PeerError) Error() string {
	s := e.Method + " " + e.URL + ": "
	if e.Status != 0 && e.Cause == nil {
		s += http.StatusText(e.Status) + ": "
	}
	if e.Code != "" {
		s += e.Code + ": "
	}
	return s + e.Reason
}

// Unwrap returns the cause.
func (e *PeerError) Unwrap() error { return e.Cause }

// statusOf returns the status of an answer that was none of success, 0 for other
// errors.
func statusOf(err error) int {
	var e *PeerError
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// stop is an error of whoever uses an answer: the peer is not asked again for
// it.
type stop struct{ error }

func (s stop) Unwrap() error { return s.error }

// ask makes a call until read has taken its whole answer. An error of read is
// taken for a broken answer, and the peer is asked again, unless it is a stop.
// Errors: *PeerError, what stop held, the context's.
func (p *peer) ask(ctx context.Context, c *call, read func(*answer) error) error {
	var n retries
	for {
		a := &answer{}
		err := p.once(ctx, c, a, read)
		if err == nil {
			return nil
		}
		var s stop
		if errors.As(err, &s) {
			return s.error
		}
		var broken *PeerError
		if ctx.Err() != nil || !errors.As(err, &broken) || !broken.retryable {
			return err
		}
		if a.progress {
			n = retries{}
		}
		if err := n.next(ctx, p, broken); err != nil {
			return err
		}
	}
}

// once makes a call once. Errors of use come as a stop.
func (p *peer) once(ctx context.Context, c *call, a *answer, read func(*answer) error) error {
	if !c.endless {
		select {
		case p.slots <- struct{}{}:
			defer func() { <-p.slots }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := p.waitRetryAfter(ctx); err != nil {
		return err
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newWatch(cmp.Or(c.silence, p.timeout), func() { cancel(errSilence) })
	defer w.rest()
	r, err := p.request(inner, c, w)
	if err != nil {
		return err
	}
	if body, ok := r.Body.(*sent); ok {
		// A transport may still read a body when it has given the answer. Who
		// made the stream goes on with what it was made of.
		defer func() {
			cancel(nil)
			<-body.done
		}()
	}
	response, err := p.client.Do(r)
	w.rest()
	if err != nil {
		return p.unanswered(ctx, inner, c, err)
	}
	defer func() { _ = response.Body.Close() }()
	a.status, a.header, a.body = response.StatusCode, response.Header, &watched{response.Body, w}
	if a.status < 200 || a.status > 299 {
		return p.refused(c, a)
	}
	if err := read(a); err != nil {
		var s stop
		if errors.As(err, &s) {
			return s
		}
		return p.unanswered(ctx, inner, c, err)
	}
	// What is left is an end of line at most; the connection can be used again
	// when it has been read.
	_, _ = io.CopyN(io.Discard, a.body, 64<<10)
	return nil
}

func (p *peer) request(ctx context.Context, c *call, w *watch) (*http.Request, error) {
	var body io.Reader
	length := int64(0)
	switch {
	case c.stream != nil:
		body, length = &sent{from: c.stream, w: w, done: make(chan struct{})}, c.length
	case c.body != nil:
		raw := c.body()
		body, length = bytes.NewReader(raw), int64(len(raw))
	case c.method == http.MethodPost || c.method == http.MethodPut:
		body = http.NoBody
	}
	r, err := http.NewRequestWithContext(ctx, c.method, p.base+c.path, body)
	if err != nil {
		return nil, stop{err}
	}
	r.ContentLength = length
	for name, values := range p.header {
		r.Header[name] = values
	}
	r.Header.Set("Accept", c.accept)
	if c.accept == "" {
		r.Header.Set("Accept", "application/json")
	}
	if c.contentType != "" {
		r.Header.Set("Content-Type", c.contentType)
	} else if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(c.header); i += 2 {
		r.Header.Set(c.header[i], c.header[i+1])
	}
	return r, nil
}

func (p *peer) failed(c *call, status int) *PeerError {
	path, _, _ := strings.Cut(c.path, "?")
	return &PeerError{Method: c.method, URL: p.base + path, Status: status}
}

// unanswered makes the error of a call that got no answer, or half of one.
func (p *peer) unanswered(outer, inner context.Context, c *call, err error) error {
	if outer.Err() != nil {
		return context.Cause(outer)
	}
	if inner.Err() != nil {
		err = context.Cause(inner)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // its text has the URL once more
	}
	e := p.failed(c, 0)
	e.Code, e.Reason, e.Cause, e.retryable = "no_answer", err.Error(), err, true
	return e
}

// largestRefusal is how much of an answer that is none of success is read.
const largestRefusal = 1 << 20

// refused makes the error of an answer that is none of success.
func (p *peer) refused(c *call, a *answer) error {
	e := p.failed(c, a.status)
	switch a.status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		e.retryable = true
	default:
		e.retryable = a.status >= 500 && a.status != http.StatusNotImplemented
	}
	if a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable {
		// Only a date depends on clocks, and only within the longest hold.
		e.wait, _ = outgoing.RetryAfter(a.header.Get("Retry-After"), time.Now(), longestHold)
	}
	var told struct {
		Error  string `json:"error"`
		Reason any    `json:"reason"`
	}
	raw, err := io.ReadAll(io.LimitReader(a.body, largestRefusal))
	if err == nil && json.Unmarshal(raw, &told) == nil {
		e.answer = raw
		e.Code = told.Error
		e.Reason = textOf(told.Reason)
	}
	if e.Reason == "" {
		e.Reason = http.StatusText(a.status)
	}
	return e
}

// textOf returns a reason as a sentence: a design function may have given any
// JSON.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// json makes a call and decodes the whole answer.
func (p *peer) json(ctx context.Context, c *call, to any) error {
	return p.ask(ctx, c, func(a *answer) error {
		raw, err := io.ReadAll(io.LimitReader(a.body, jsonstream.Longest))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, to); err != nil {
			return jsonstream.ErrForm
		}
		return nil
	})
}
