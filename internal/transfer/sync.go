package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/outgoing"
	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/replicate"
)

// Side is one of the two databases, partitions or tenants' endpoints.
type Side struct {
	URL            string // with user:password@ perhaps
	User, Password string // count where the URL has none
	// Transport carries the requests; nil: the network, through the proxy that
	// the environment names.
	Transport http.RoundTripper
}

// Sync is a task of bringing Source to Target. The zero values of the rest work.
type Sync struct {
	Source, Target Side
	Continuous     bool // go on until the context ends
	CreateTarget   bool // of the source's kind; that it is there already is fine
	// Out is told what happened, a line at a time; nil: nobody.
	Out io.Writer
	// Line shows how far it came.
	Line *progress.Line

	partBytes int64                                      // of the snapshot in one answer, before packing; 0: 32 MB
	wait      func(context.Context, time.Duration) error // nil: sleeps
	now       func() time.Time
}

// Outcome is what a sync did.
type Outcome struct {
	Documents int64 // by the snapshot; those sent again because a line was cut count again
	Written   int64 // revisions by the protocol
	Refused   int64 // revisions that the target did not take, or the source could not give
	Snapshot  bool  // a snapshot was taken, or its rest
}

// Run carries over what the target lacks. Errors: those of replicate.Task.Run;
// Invalid for URLs that are none. What was carried stays, and the next run goes
// on from there.
func (s *Sync) Run(ctx context.Context) (Outcome, error) {
	r, err := s.newRun()
	if err != nil {
		return Outcome{}, err
	}
	if err := r.first(ctx); err != nil {
		return r.Outcome, err
	}
	r.task.CreateTarget = false // it was made, if it was to be
	for {
		result, err := r.task.Run(ctx)
		if result != nil {
			r.Written += result.Stats.DocsWritten
		}
		if !dberr.Is(err, dberr.Conflict) || ctx.Err() != nil {
			return r.Outcome, err
		}
		r.say("a server began anew; going on")
	}
}

// run is one run of a sync.
type run struct {
	*Sync
	Outcome
	source, target *side
	task           *replicate.Task
}

func (s *Sync) newRun() (*run, error) {
	r := &run{Sync: s}
	if r.wait == nil {
		r.wait = sleep
	}
	var err error
	if r.source, err = newSide(s.Source); err != nil {
		return nil, err
	}
	if r.target, err = newSide(s.Target); err != nil {
		return nil, err
	}
	// The addresses name the task: the same two meet at the same checkpoint.
	name := sha256.Sum256([]byte("sectional sync\n" + r.source.URL + "\n" + r.target.URL))
	r.task = &replicate.Task{ID: hex.EncodeToString(name[:16]), Source: r.source.Address, Target: r.target.Address,
		Continuous: s.Continuous, Report: r.report, Failed: r.failed}
	r.source.wait, r.target.wait = r.wait, r.wait
	if r.now == nil {
		r.now = time.Now
	}
	if r.partBytes == 0 {
		r.partBytes = 32 << 20
	}
	return r, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// CheckURL refuses what is no URL of a database, with an error of kind Invalid.
func CheckURL(text string) error {
	_, err := parseURL(text)
	return err
}

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") == "" || u.RawQuery != "" {
		// The parser's error would show the password.
		return nil, dberr.New(dberr.Invalid, "bad_request", "A database is named by a URL such as http://localhost:5984/db or http://localhost:5984/db/_partition/p.")
	}
	return u, nil
}

// newSide takes the credentials out of a URL.
func newSide(s Side) (*side, error) {
	u, err := parseURL(s.URL)
	if err != nil {
		return nil, err
	}
	if u.User != nil {
		s.User = u.User.Username()
		s.Password, _ = u.User.Password()
	}
	u.User = nil
	if s.Transport == nil {
		t := replicate.NewTransport(replicate.TransportOptions{})
		t.Proxy = http.ProxyFromEnvironment
		s.Transport = t
	}
	root := *u
	root.Path, root.RawPath = "/", ""
	return &side{
		Address: replicate.Address{URL: strings.TrimRight(u.String(), "/"), User: s.User, Password: s.Password, Transport: s.Transport},
		root:    root.String(),
		client:  http.Client{Transport: s.Transport, CheckRedirect: outgoing.Redirected},
	}, nil
}

// say tells what happened.
func (r *run) say(format string, args ...any) {
	if r.Out != nil {
		_, _ = fmt.Fprintf(r.Out, format+"\n", args...) // nobody is left to tell
	}
}

// report shows the figures of the protocol.
func (r *run) report(s replicate.Stats) {
	if s.RevisionsChecked == 0 {
		return
	}
	pending := ""
	if s.ChangesPending != nil {
		pending = fmt.Sprintf(", %d pending", *s.ChangesPending)
	}
	r.Line.Show("changes: %d checked, %d written, %d refused%s", s.RevisionsChecked, s.DocsWritten, s.DocWriteFailures, pending)
}

func (r *run) failed(f replicate.Failure) {
	r.Refused++
	what := "refused"
	if f.Reading {
		what = "not readable"
	}
	r.say("%s: %s %s: %s: %s", what, f.ID, f.Rev, f.Code, f.Reason)
}

// errStandard says that a snapshot can't be had of these two.
var errStandard = errors.New("transfer: no snapshot between these two")
