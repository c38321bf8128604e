package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
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

	partBytes int64 // of the snapshot in one request; 0: what replicate has
}

// Outcome is what a sync did.
type Outcome struct {
	Documents int64 `json:"documents"` // by a snapshot that was taken, or its rest; those sent again because a line was cut count again
	Written   int64 `json:"written"`   // revisions by the protocol
	Refused   int64 `json:"refused"`   // revisions that the target did not take, or the source could not give
}

// Run carries over what the target lacks. Errors: those of replicate.Task.Run;
// Invalid for URLs that are none. What was carried stays, and the next run goes
// on from there.
func (s *Sync) Run(ctx context.Context) (Outcome, error) {
	r := &run{Sync: s}
	task, err := r.task()
	if err != nil {
		return Outcome{}, err
	}
	for {
		r.stats = replicate.Stats{}
		_, err := task.Run(ctx)
		r.Documents = max(r.Documents, r.stats.Snapshot.Documents)
		r.Written += r.stats.DocsWritten - r.stats.Snapshot.Written
		r.Refused += r.stats.DocWriteFailures
		if !dberr.Is(err, dberr.Conflict) || ctx.Err() != nil {
			return r.Outcome, err
		}
		task.CreateTarget = false // it was made, if it was to be
		r.say("a server began anew; going on")
	}
}

// run is one run of a sync.
type run struct {
	*Sync
	Outcome
	stats replicate.Stats // reported last
}

func (r *run) task() (*replicate.Task, error) {
	source, err := address(r.Source)
	if err != nil {
		return nil, err
	}
	target, err := address(r.Target)
	if err != nil {
		return nil, err
	}
	// The addresses name the task: the same two meet at the same checkpoint.
	name := sha256.Sum256([]byte("sectional sync\n" + source.URL + "\n" + target.URL))
	return &replicate.Task{ID: hex.EncodeToString(name[:16]), Source: source, Target: target, Continuous: r.Continuous,
		CreateTarget: r.CreateTarget, CreateAlike: true, SnapshotFrom: 1, SnapshotBytes: r.partBytes,
		Report: r.report, Failed: r.failed, Note: func(text string) { r.say("%s", text) }}, nil
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

// address takes the credentials out of a URL.
func address(s Side) (replicate.Address, error) {
	u, err := parseURL(s.URL)
	if err != nil {
		return replicate.Address{}, err
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
	return replicate.Address{URL: strings.TrimRight(u.String(), "/"), User: s.User, Password: s.Password, Transport: s.Transport}, nil
}

// say reports what happened.
func (r *run) say(format string, args ...any) {
	if r.Out != nil {
		_, _ = progress.Fprintf(r.Out, format+"\n", args...) // nobody is left to tell
	}
}

// report shows the figures.
func (r *run) report(s replicate.Stats) {
	r.stats = s
	if s.RevisionsChecked == 0 {
		return
	}
	if s.ThroughSeq == nil && s.Snapshot.Documents > 0 {
		r.Line.Show("snapshot: %d documents, %d refused", s.Snapshot.Documents, s.DocWriteFailures)
		return
	}
	pending := ""
	if s.ChangesPending != nil {
		pending = fmt.Sprintf(", %d pending", *s.ChangesPending)
	}
	r.Line.Show("changes: %d checked, %d written, %d refused%s", s.RevisionsChecked, s.DocsWritten, s.DocWriteFailures, pending)
}

func (r *run) failed(f replicate.Failure) {
	what := "refused"
	if f.Reading {
		what = "not readable"
		r.Refused++
	}
	r.say("%s: %s %s: %s: %s", what, f.ID, f.Rev, f.Code, f.Reason)
}
