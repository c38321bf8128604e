package migrate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sectional/sectional/internal/couchclient"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/progress"
	"github.com/sectional/sectional/internal/replicate"
)

// Migration is a task of bringing Source into the partitions of Target. The zero values of the rest work.
type Migration struct {
	Source, Target *couchclient.Client
	Mapping
	NoDesign bool // leave out design documents
	// CutOver ends the following of a source that is written to: what it has by then is brought over, and Run returns.
	// nil: Run returns when the target has what the source has.
	CutOver <-chan struct{}
	// Out is told what happens, a line at a time; nil: nobody.
	Out io.Writer
	// Line shows how far it came.
	Line *progress.Line
	// Rejected is told what could not be brought over; nil: nobody. Calls do not overlap.
	Rejected func(Rejection)
}

// Rejection is a document, or a revision of it, that could not be brought over.
type Rejection struct {
	ID     string `json:"id"` // in the source
	Rev    string `json:"rev,omitempty"`
	Code   string `json:"error"`
	Reason string `json:"reason"`
}

// Outcome is what a migration did.
type Outcome struct {
	Written    int64 `json:"written"`    // revisions
	Rejected   int64 `json:"rejected"`   // revisions that the target did not take or the source could not give, and documents without a partition
	Moved      int64 `json:"moved"`      // documents that had another partition before
	References int64 `json:"unresolved"` // references to documents that there are not, which were left as they were
}

// passes bounds how often a source is gone through that is written to all the time.
const passes = 5

// Run brings over what the target lacks. Errors: those of replicate.Task.Run and of the clients; Invalid for a target
// without partitions. What was brought over stays, and the next run goes on from there.
func (m *Migration) Run(ctx context.Context) (Outcome, error) {
	if err := m.check(); err != nil {
		return Outcome{}, err
	}
	r := &run{Migration: m, places: newPlaces()}
	err := r.all(ctx)
	return r.outcome(), err
}

// run is one run of a migration.
type run struct {
	*Migration
	places *places
	rows   atomic.Int64            // that the feed has given
	giveUp context.CancelCauseFunc // ends the pass with an error

	moves struct {
		sync.Mutex
		from map[string][]string // ids at the target, of documents that belong elsewhere, by their old ids
	}
	unresolved atomic.Int64 // references
	reported   struct {
		sync.Mutex
		Outcome
	}
}

func (r *run) all(ctx context.Context) error {
	if err := r.open(ctx); err != nil {
		return err
	}
	if err := r.load(ctx); err != nil {
		return err
	}
	if err := r.finish(ctx); err != nil { // what a run before has left
		return err
	}
	if r.CutOver != nil {
		if err := r.follow(ctx); err != nil {
			return err
		}
	}
	for n := 0; ; n++ {
		before := r.rows.Load()
		if err := r.pass(ctx, false); err != nil {
			return err
		}
		if r.rows.Load() == before || n >= passes {
			return r.finish(ctx)
		}
	}
}

// identity is what a database tells of itself: two that tell the same are one, by whatever address.
type identity struct {
	Name  string          `json:"db_name"`
	Made  json.RawMessage `json:"instance_start_time"`
	Seq   json.RawMessage `json:"update_seq"`
	Props struct {
		Partitioned bool `json:"partitioned"`
	} `json:"props"`
}

func (d *identity) same(as *identity) bool {
	return d.Name == as.Name && bytes.Equal(d.Made, as.Made) && bytes.Equal(d.Seq, as.Seq)
}

// open sees that the source is there, and that the target is another, is there too and has partitions.
func (r *run) open(ctx context.Context) error {
	var source, target identity
	if err := r.Source.JSON(ctx, http.MethodGet, "", nil, &source); err != nil {
		return fmt.Errorf("the source %s: %w", r.Source.URL(), err)
	}
	err := r.Target.JSON(ctx, http.MethodGet, "", nil, &target)
	if couchclient.StatusOf(err) == http.StatusNotFound {
		if err := r.Target.JSON(ctx, http.MethodPut, "?partitioned=true", nil, nil); err != nil && couchclient.StatusOf(err) != http.StatusPreconditionFailed {
			return fmt.Errorf("the target can't be made: %w", err)
		}
		r.say("made %s", r.Target.URL())
		return nil
	}
	if err != nil {
		return fmt.Errorf("the target: %w", err)
	}
	if !target.Props.Partitioned {
		return dberr.New(dberr.Invalid, "bad_request", "The target is a database without partitions.")
	}
	if r.Source.URL() == r.Target.URL() || source.same(&target) {
		return dberr.New(dberr.Invalid, "bad_request", "Source and target are the same database: name another target.")
	}
	return nil
}

// follow brings over what there is and what is written, until the cut-over.
func (r *run) follow(ctx context.Context) error {
	if err := r.pass(ctx, false); err != nil {
		return err
	}
	r.say("caught up; changes are followed. To cut over: end writing to the source, then press Ctrl-C once")
	following, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-r.CutOver:
			end()
		case <-following.Done():
		}
	}()
	err := r.pass(following, true)
	if ctx.Err() == nil && following.Err() != nil {
		r.say("cut-over: bringing over what is left")
		return nil
	}
	return err
}

// pass replicates once, or without end.
func (r *run) pass(ctx context.Context, continuous bool) error {
	for {
		var last replicate.Stats
		task := r.task(continuous)
		task.Report = func(s replicate.Stats) { last = s; r.report(s) }
		inner, giveUp := context.WithCancelCause(ctx)
		r.giveUp = giveUp
		_, err := task.Run(inner)
		if err != nil && inner.Err() != nil && ctx.Err() == nil {
			err = context.Cause(inner)
		}
		giveUp(nil)
		r.reported.Lock()
		r.reported.Written += last.DocsWritten
		r.reported.Unlock()
		if !dberr.Is(err, dberr.Conflict) || ctx.Err() != nil {
			return err
		}
		r.say("a server began anew; going on")
	}
}

func (r *run) task(continuous bool) *replicate.Task {
	from := address(r.Source)
	base := ""
	if u, err := url.Parse(from.URL); err == nil {
		base = u.EscapedPath()
	}
	from.Transport = &source{run: r, to: r.Source.Transport(), base: base}
	// What is asked for names the task, so that the same goes on from its checkpoint, and another template, which puts
	// documents elsewhere, begins anew.
	name := sha256.Sum256([]byte(strings.Join([]string{"sectional migrate", from.URL, r.Target.URL(), r.By.String(), string(r.Default), fmt.Sprint(r.KeepIDs, r.NoDesign, r.References)}, "\n")))
	return &replicate.Task{ID: hex.EncodeToString(name[:16]), Source: from, Target: address(r.Target), Continuous: continuous,
		SnapshotFrom: math.MaxInt64, Failed: r.failed}
}

func address(c *couchclient.Client) replicate.Address {
	who := c.Account()
	a := replicate.Address{URL: c.URL(), User: who.User, Password: who.Password, Transport: c.Transport()}
	if who.Token != "" {
		a.Header = http.Header{"Authorization": {"Bearer " + who.Token}}
	}
	return a
}

// outcome returns what was done so far.
func (r *run) outcome() Outcome {
	r.reported.Lock()
	defer r.reported.Unlock()
	o := r.reported.Outcome
	o.References = r.unresolved.Load()
	return o
}

func (r *run) say(format string, args ...any) {
	if r.Out != nil {
		_, _ = progress.Fprintf(r.Out, format+"\n", args...) // nobody is left to tell
	}
}

// report shows the figures.
func (r *run) report(s replicate.Stats) {
	pending := ""
	if s.ChangesPending != nil {
		pending = fmt.Sprintf(", %d changes pending", *s.ChangesPending)
	}
	r.Line.Show("%d looked at, %d written, %d refused%s", s.RevisionsChecked, s.DocsWritten, s.DocWriteFailures, pending)
}

// failed takes what the replication could not carry over.
func (r *run) failed(f replicate.Failure) {
	if f.Reading && r.belongsElsewhere(f.ID) {
		return // it is brought over from where it is now
	}
	r.reject(Rejection{ID: r.oldID(f.ID), Rev: f.Rev, Code: f.Code, Reason: f.Reason})
}

// unfit takes a document that has no partition.
func (r *run) unfit(id, why string, there bool, in document.Partition) {
	if there {
		why += "; an earlier revision is in " + string(in)
	}
	r.reject(Rejection{ID: id, Code: "no_partition", Reason: why})
}

func (r *run) reject(j Rejection) {
	r.reported.Lock()
	defer r.reported.Unlock()
	r.reported.Outcome.Rejected++
	if r.Rejected != nil {
		r.Rejected(j)
	}
}
