package replicate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/sectional/sectional/internal/dberr"
)

// httpTime returns the time as checkpoints tell it.
func httpTime() string { return time.Now().UTC().Format(http.TimeFormat) }

// checkpoints writes one now and then, until ended is closed.
func (r *run) checkpoints(ctx context.Context, ended <-chan struct{}) error {
	every := r.task.CheckpointEvery
	if every <= 0 {
		every = defaultCheckpoint
	}
	if r.task.Continuous {
		r.pending(ctx)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := r.checkpoint(ctx); err != nil {
				return err
			}
			r.pending(ctx)
		case <-ended:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// pending finds out what is left to do, for the figures only.
func (r *run) pending(ctx context.Context) {
	if r.task.Report == nil {
		return
	}
	n, err := r.task.pending(ctx, r.source, r.order.through())
	if err != nil {
		r.log.Debug("the source does not say what is pending", "task", r.task.ID, "cause", err)
		return
	}
	r.count(func(s *Stats) { s.ChangesPending = n })
}

// reached returns the sequence up to which the target is complete. When all work
// is done it is the feed's end, which may lie after its last row.
func (r *run) reached() Seq {
	if r.whole && r.end != nil {
		return r.end
	}
	return r.order.through()
}

// checkpoint writes how far the run is on both sides, if that is farther than
// the last one says. Before, both sides say that everything is on disk, and show
// by their time of start that they are the ones that everything was written to.
func (r *run) checkpoint(ctx context.Context) error {
	r.saved.Lock()
	defer r.saved.Unlock()
	seq := r.reached()
	if r.task.NoCheckpoints || !moved(r.saved.seq, seq) {
		return nil
	}
	if err := r.ensureCommit(ctx, r.target, r.targetTime); err != nil {
		return err
	}
	if err := r.ensureCommit(ctx, r.source, r.sourceTime); err != nil {
		return err
	}
	s := r.session
	r.stats.Lock()
	now := r.stats.Stats
	r.stats.Unlock()
	s.EndTime, s.EndLastSeq, s.RecordedSeq = httpTime(), seq, seq
	s.MissingChecked, s.MissingFound = now.RevisionsChecked, now.MissingFound
	s.DocsRead, s.DocsWritten, s.DocWriteFailures = now.DocsRead, now.DocsWritten, now.DocWriteFailures
	s.BulkGetDocs, s.BulkGetAttempts = now.BulkGetDocs, now.BulkGetAttempts
	c := r.task.checkpoint(s, r.earlier, seq)
	if err := r.save(ctx, c); err != nil {
		return err
	}
	r.saved.seq, r.saved.doc = seq, c
	r.count(func(s *Stats) { s.CheckpointedSource = seq })
	return nil
}

// save writes a checkpoint on both sides. A source that takes none is only
// read: the target's counts alone then, and says so.
func (r *run) save(ctx context.Context, c *Checkpoint) error {
	readOnly := *c
	readOnly.SourceReadOnly = true
	if r.targetLog.readOnly {
		return r.task.writeLog(ctx, r.target, r.targetLog, &readOnly)
	}
	if err := r.task.writeLog(ctx, r.target, r.targetLog, c); err != nil {
		return err
	}
	err := r.task.writeLog(ctx, r.source, r.sourceLog, c)
	var e *PeerError
	if !errors.As(err, &e) || e.Status != http.StatusUnauthorized && e.Status != http.StatusForbidden {
		return err
	}
	r.log.Info("the source takes no checkpoints", "task", r.task.ID, "answer", e)
	r.targetLog.readOnly = true
	return r.task.writeLog(ctx, r.target, r.targetLog, &readOnly)
}

// ensureCommit asks a peer to have everything on disk.
func (r *run) ensureCommit(ctx context.Context, p *peer, started json.RawMessage) error {
	var answer struct {
		Started json.RawMessage `json:"instance_start_time"`
	}
	err := p.json(ctx, &call{method: http.MethodPost, path: "/_ensure_full_commit", body: func() []byte { return []byte("{}") }}, &answer)
	var e *PeerError
	if errors.As(err, &e) && (unknownRequest(e) || e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden) {
		return nil // what it acknowledged has to do; if the database is gone, the checkpoint will tell
	}
	if err != nil {
		return err
	}
	if len(started) > 0 && len(answer.Started) > 0 && !bytes.Equal(started, answer.Started) {
		return dberr.New(dberr.Conflict, "restarted", "the database %s was restarted or made anew", p.shown())
	}
	return nil
}
