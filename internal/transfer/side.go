package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sectional/sectional/internal/replicate"
)

// side is a database as the snapshot needs it.
type side struct {
	replicate.Address
	root   string // of the server
	client http.Client
	wait   func(context.Context, time.Duration) error
}

// silence is how long a server may say and take nothing.
const silence = 5 * time.Minute

// request makes a request to url.
func (s *side) request(ctx context.Context, method, url string, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, err
	}
	if s.User != "" {
		r.SetBasicAuth(s.User, s.Password)
	}
	r.Header.Set("Accept", "application/json")
	return r, nil
}

// refused is an answer that is none of success.
type refused struct {
	method, url string
	status      int
	code        string
	reason      string
}

// Error implements error.
func (e *refused) Error() string {
	return fmt.Sprintf("%s %s: %d %s: %s", e.method, e.url, e.status, e.code, e.reason)
}

// lasting reports whether asking again would change nothing.
func (e *refused) lasting() bool {
	return e.status >= 400 && e.status < 500 && e.status != http.StatusTooManyRequests && e.status != http.StatusRequestTimeout ||
		e.status == http.StatusNotImplemented
}

// statusOf returns the status of an answer that refused, 0 for other errors.
func statusOf(err error) int {
	var e *refused
	if errors.As(err, &e) {
		return e.status
	}
	return 0
}

// most is the longest JSON that an answer may have.
const most = 1 << 20

// refusal makes the error of an answer, whose body it reads.
func refusal(a *http.Response) *refused {
	e := &refused{method: a.Request.Method, url: a.Request.URL.String(), status: a.StatusCode}
	raw, err := io.ReadAll(io.LimitReader(a.Body, most))
	var told struct{ Error, Reason string }
	if err == nil && json.Unmarshal(raw, &told) == nil {
		e.code, e.reason = told.Error, told.Reason
	}
	return e
}

// attempts is how often in a row a server is asked in vain.
const attempts = 6

// pause is how long to wait after so many failures.
func pause(failures int) time.Duration { return time.Second << failures / 4 }

// ask sends JSON, or nothing if body is nil, and decodes the answer into to, if
// that is not nil. A server that does not answer is asked again.
func (s *side) ask(ctx context.Context, method, url string, body, to any) error {
	raw := []byte(nil)
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return err
		}
	}
	for failures := 1; ; failures++ {
		err := s.once(ctx, method, url, raw, to)
		if err == nil || ctx.Err() != nil || settled(err) || failures == attempts {
			return err
		}
		if err := s.wait(ctx, pause(failures)); err != nil {
			return err
		}
	}
}

// settled reports whether asking again would change nothing.
func settled(err error) bool {
	var e *refused
	var syntax *json.SyntaxError
	return errors.As(err, &e) && e.lasting() || errors.As(err, &syntax)
}

func (s *side) once(ctx context.Context, method, url string, raw []byte, to any) error {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	r, err := s.request(ctx, method, url, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	if raw != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	a, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode >= 300 {
		return refusal(a)
	}
	if to == nil {
		return nil
	}
	return json.NewDecoder(io.LimitReader(a.Body, most)).Decode(to)
}

// isSectional reports whether the server says that it is one, and serves snapshots
// at this endpoint. Errors: there was no answer.
func (s *side) isSectional(ctx context.Context) (bool, error) {
	var welcome struct{ Vendor struct{ Name string } }
	if err := s.ask(ctx, http.MethodGet, s.root, nil, &welcome); err != nil || welcome.Vendor.Name != "Sectional" {
		return false, unlessRefused(err)
	}
	err := s.ask(ctx, http.MethodHead, s.URL+"/_snapshot", nil, nil)
	return err == nil, unlessRefused(err)
}

// unlessRefused leaves out that a server said no: there is no snapshot then, and
// the protocol finds better words for what is wrong.
func unlessRefused(err error) error {
	if settled(err) {
		return nil
	}
	return err
}

// made tells since when there is what the side names; "" where it does not say.
func (s *side) made(ctx context.Context) (string, error) {
	var info struct {
		Made string `json:"instance_start_time"`
	}
	err := s.ask(ctx, http.MethodGet, s.URL, nil, &info)
	return info.Made, unlessRefused(err)
}

// local reads a local document into to; false if there is none.
func (s *side) local(ctx context.Context, id string, to any) (bool, error) {
	err := s.ask(ctx, http.MethodGet, s.URL+"/_local/"+id, nil, to)
	if statusOf(err) == http.StatusNotFound {
		return false, nil
	}
	return err == nil, err
}

// keep writes a local document over whatever is there.
func (s *side) keep(ctx context.Context, id string, doc map[string]any) error {
	var old struct {
		Rev string `json:"_rev"`
	}
	if _, err := s.local(ctx, id, &old); err != nil {
		return err
	}
	if old.Rev != "" {
		doc["_rev"] = old.Rev
	}
	return s.ask(ctx, http.MethodPut, s.URL+"/_local/"+id, doc, nil)
}

// forget removes a local document.
func (s *side) forget(ctx context.Context, id string) error {
	err := s.ask(ctx, http.MethodDelete, s.URL+"/_local/"+id, nil, nil)
	if statusOf(err) == http.StatusNotFound {
		return nil
	}
	return err
}
