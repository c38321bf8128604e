package replicate

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/tracing"
)

const (
	defaultBatch      = 500
	defaultWorkers    = 4
	defaultCheckpoint = 30 * time.Second
	// openPerWorker bounds how many batches may be under way or done after one
	// that is not.
	openPerWorker = 16
	// lastWords is how long a run that ends early tries to leave a checkpoint.
	lastWords = 2 * time.Second
)

// Run replicates until the target has what the source had (or until ctx ends,
// for a continuous task). A later run goes on where the checkpoints say.
//
// Errors: *dberr.Error: NotFound `db_not_found` ("could not open URL/", which
// _replicate answers with 500), Unauthorized `unauthorized` ("unauthorized to
// access or create database URL/"), Conflict `restarted` when a peer restarted
// or a database was made anew (Run again); *PeerError with what could not be had
// of a peer after all retries; the context's. What was written up to the last
// checkpoint stays.
func (t *Task) Run(ctx context.Context) (*Result, error) {
	r := t.newRun()
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	if err := r.readLogs(ctx); err != nil {
		return nil, err
	}
	err := r.first(ctx)
	if err == nil {
		err = r.work(ctx)
	}
	if err != nil && !dberr.Is(err, dberr.Conflict) {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		if e := r.checkpoint(last); e != nil {
			r.log.Debug("no last checkpoint", "task", t.ID, "cause", e)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := r.checkpoint(ctx); err != nil {
		return nil, err
	}
	return r.result(), nil
}

// run is one run of a task.
type run struct {
	task                     *Task
	source, target           *peer
	log                      *slog.Logger
	partitioned              bool  // the target is
	sourceCount, targetCount int64 // documents and tombstones, of the source and of the target at the beginning

	perDiff, perGet, perWrite *limit
	noBulkGet                 atomic.Bool
	pieces                    chan *piece // memory to use again

	session              Session // of this run: its id and its beginning
	earlier              []Session
	start                Seq
	sourceLog, targetLog *log
	sourceTime           json.RawMessage // instance_start_time at the beginning
	targetTime           json.RawMessage
	order                *order
	end                  Seq  // of the feed, where it named one; valid when whole
	whole                bool // all work is done
	saved                struct {
		sync.Mutex
		seq Seq         // of the last checkpoint
		doc *Checkpoint // nil: none was written by this run
	}
	stats struct {
		sync.Mutex
		Stats
	}
}

func (t *Task) newRun() *run {
	r := &run{task: t, source: newPeer(&t.Source), target: newPeer(&t.Target), log: t.Log,
		perDiff: newLimit(t.batch()), perGet: newLimit(t.batch()), perWrite: newLimit(pieceBytes), pieces: make(chan *piece, 8)}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.noBulkGet.Store(t.NoBulkGet)
	return r
}

func (t *Task) batch() int {
	if t.Batch > 0 {
		return t.Batch
	}
	return defaultBatch
}

func (t *Task) workers() int {
	if t.Workers > 0 {
		return t.Workers
	}
	return defaultWorkers
}

// count changes the figures and reports them.
func (r *run) count(change func(*Stats)) {
	r.stats.Lock()
	defer r.stats.Unlock()
	change(&r.stats.Stats)
	if r.task.Report != nil {
		r.task.Report(r.stats.Stats)
	}
}

// fail reports a revision that was not carried over. Those that the target
// refused count in the figures too.
func (r *run) fail(f Failure) {
	f.Time = time.Now()
	r.log.Debug("a revision was not carried over", "task", r.task.ID, "document", f.ID, "rev", f.Rev, "reading", f.Reading,
		"code", f.Code, "reason", f.Reason)
	r.count(func(s *Stats) {
		if !f.Reading {
			s.DocWriteFailures++
		}
		if r.task.Failed != nil {
			r.task.Failed(f)
		}
	})
}

// refuse reports revisions that the target can't have.
func (r *run) refuse(id string, revs []string, code, reason string) {
	for _, rev := range revs {
		r.fail(Failure{ID: id, Rev: rev, Status: http.StatusBadRequest, Code: code, Reason: reason})
	}
}

// info is what an endpoint says of itself.
type info struct {
	UpdateSeq Seq             `json:"update_seq"`
	Started   json.RawMessage `json:"instance_start_time"`
	Live      int64           `json:"doc_count"`
	Deleted   int64           `json:"doc_del_count"`
	Props     struct {
		Partitioned bool `json:"partitioned"`
	} `json:"props"`
}

// open finds out whether both endpoints are there, and makes the target if it
// is to be made.
func (r *run) open(ctx context.Context) error {
	source, err := r.info(ctx, r.source)
	if err != nil {
		return err
	}
	var refused error
	if r.task.CreateTarget {
		if refused, err = r.create(ctx, source.Props.Partitioned); err != nil {
			return err
		}
	}
	target, err := r.info(ctx, r.target)
	if refused != nil && dberr.Is(err, dberr.NotFound) {
		return notLetIn(r.target, refused)
	}
	if err != nil {
		return err
	}
	r.sourceTime, r.targetTime = source.Started, target.Started
	r.partitioned = target.Props.Partitioned
	r.sourceCount, r.targetCount = source.Live+source.Deleted, target.Live+target.Deleted
	r.count(func(s *Stats) { s.SourceSeq = source.UpdateSeq })
	return nil
}

// create makes the target, alike to a source that is partitioned or not if the
// task wants that. That it is there already is fine; refused says that
// the target does not let us make it: who may not, may still write to one that is
// there.
func (r *run) create(ctx context.Context, partitioned bool) (refused, err error) {
	params := r.task.CreateParams
	if r.task.CreateAlike {
		params = url.Values{}
		if partitioned {
			params.Set("partitioned", "true")
		}
	}
	err = r.target.ask(ctx, &call{method: http.MethodPut, path: query("", params)}, taken)
	var e *PeerError
	if !errors.As(err, &e) {
		return nil, err
	}
	switch e.Status {
	case http.StatusPreconditionFailed:
		return nil, nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return err, nil
	}
	return nil, err
}

// notLetIn is the error of a peer that answered 401 or 403.
func notLetIn(p *peer, cause error) error {
	return &dberr.Error{Kind: dberr.Unauthorized, Code: "unauthorized",
		Reason: "unauthorized to access or create database " + p.shown(), Cause: cause}
}

func (r *run) info(ctx context.Context, p *peer) (*info, error) {
	i := &info{}
	err := p.json(ctx, &call{method: http.MethodGet}, i)
	var e *PeerError
	if !errors.As(err, &e) {
		return i, err
	}
	switch e.Status {
	case http.StatusNotFound:
		return nil, &dberr.Error{Kind: dberr.NotFound, Code: "db_not_found", Reason: "could not open " + p.shown(), Cause: err}
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, notLetIn(p, err)
	}
	return nil, err
}

// readLogs finds the place to begin at.
func (r *run) readLogs(ctx context.Context) (err error) {
	if !r.task.NoCheckpoints {
		if r.sourceLog, err = r.task.readLog(ctx, r.source); err != nil {
			return err
		}
		if r.targetLog, err = r.task.readLog(ctx, r.target); err != nil {
			return err
		}
		r.start, r.earlier = common(r.sourceLog, r.targetLog)
	}
	if r.start == nil {
		r.start = seqOf(r.task.SinceSeq)
	}
	var id [16]byte
	rand.Read(id[:]) // never fails
	r.session = Session{SessionID: hex.EncodeToString(id[:]), StartTime: httpTime(), StartLastSeq: r.start}
	r.saved.seq = r.start
	r.order = newOrder(r.start, r.task.workers()*openPerWorker)
	r.count(func(s *Stats) { s.CheckpointedSource, s.ThroughSeq = r.start, r.start })
	return nil
}

// work reads the feed and carries its batches over, with a checkpoint now and
// then, until the feed has ended and everything is carried over.
func (r *run) work(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	pieces, batches, ended := make(chan []row), make(chan *batch), make(chan struct{})
	g.Go(func() error {
		defer close(pieces)
		f := &feed{task: r.task, peer: r.source, since: r.start, ended: r.feedEnded, give: func(rows []row) error {
			select {
			case pieces <- rows:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}}
		return r.guard("replicate.feed", func() error { return f.run(ctx) })
	})
	g.Go(func() error { return collectBatches(ctx, pieces, batches, r.task.batch(), r.order) })
	var working sync.WaitGroup
	for range r.task.workers() {
		working.Add(1)
		g.Go(func() error {
			defer working.Done()
			for b := range batches {
				if err := r.guard("replicate.carry", func() error { return r.traced(ctx, b) }); err != nil {
					return err
				}
				r.order.finish(b)
				r.count(func(s *Stats) { s.ThroughSeq = r.order.through() })
			}
			return nil
		})
	}
	g.Go(func() error {
		working.Wait()
		close(ended)
		return nil
	})
	g.Go(func() error { return r.checkpoints(ctx, ended) })
	err := g.Wait()
	r.whole = err == nil
	return err
}

// traced carries a batch over, as a trace of its own where the task is traced.
func (r *run) traced(ctx context.Context, b *batch) error {
	ctx, span := tracing.Work(ctx, "replication.batch")
	span.Number("sectional.changes", int64(len(b.rows)))
	err := r.carry(ctx, b)
	span.End(err)
	return err
}

// guard runs fn, which works with what a peer sent: a panic in it fails this
// replication alone.
func (r *run) guard(op string, fn func() error) error { return dberr.Guard(r.log, op, fn) }

// feedEnded notes the end of the feed.
func (r *run) feedEnded(at Seq) {
	r.end = at
	r.count(func(s *Stats) { s.SourceSeq = at })
}

// result is how a run that ended by itself ended.
func (r *run) result() *Result {
	r.saved.Lock()
	defer r.saved.Unlock()
	result := &Result{NoCheckpoints: r.task.NoCheckpoints, Checkpoint: r.saved.doc}
	r.stats.Lock()
	result.Stats = r.stats.Stats
	r.stats.Unlock()
	if r.saved.doc == nil && !r.task.NoCheckpoints {
		result.NoChanges = true
		if len(r.earlier) > 0 {
			result.Checkpoint = &r.targetLog.whole
		}
	}
	return result
}
