package store

import (
	"errors"
	"iter"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
)

// Logged is an entry of the change log, as a scope shows it.
type Logged struct {
	At    LogPosition // where to go on after it
	Time  time.Time
	Cause Cause
	ID    document.ID  // "" for ByRemoval
	Rev   document.Rev // that was written; zero for ByPurge and ByRemoval
	// Old and New are the document's winner before the change and after it; nil
	// where there was none. They are equal where the change was made to a branch
	// that does not win. One that was purged since, or whose partition was dropped,
	// has no body.
	Old, New *Revision
	// Partition is the one of the document, or that was dropped.
	Partition document.Partition
}

// LogBounds are where the change log begins and ends: readers may begin after any
// position from the first to the last, and nothing is after the last. Numbers of others'
// changes can be learned from them; who shows them to a restricted reader makes them opaque.
//
// Errors of LogBounds and Log: NotFound no_change_log where there is none, for Log also
// NotFound trimmed if there may have been entries after the position that are not kept
// any more.
func (r *Reader) LogBounds() (first, last LogPosition, err error) {
	keep, err := r.db.logPeriod(r.v)
	if err == nil && keep.Text == "" {
		err = errNoLog
	}
	if err == nil {
		first, _, err = r.db.logFloor(r.v)
	}
	if err != nil {
		return first, last, dberr.Wrap("store.LogBounds", err)
	}
	l, err := r.lane()
	return first, LogPosition{l.seq, l.serial}, err
}

var (
	errNoLog   = dberr.New(dberr.NotFound, "no_change_log", "The database keeps no change log.")
	errTrimmed = dberr.New(dberr.NotFound, "trimmed", "The change log does not go back so far any more.")
)

// Log walks the entries of the change log after a position, oldest first: those of the
// scope's documents.
func (r *Reader) Log(after LogPosition) iter.Seq2[*Logged, error] {
	return func(yield func(*Logged, error) bool) {
		first, _, err := r.LogBounds()
		if err == nil && after.before(first) {
			err = errTrimmed
		}
		if err == nil {
			err = kv.Each(r.v, r.db.logAfter(after), func(key, value []byte) error {
				e, err := r.entryOfLog(key, value)
				if err == nil && e != nil && !yield(e, nil) {
					err = errEnough
				}
				return err
			})
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, dberr.Wrap("store.Log", err))
		}
	}
}

// entryOfLog reads an entry; nil for one that the scope does not show.
func (r *Reader) entryOfLog(key, value []byte) (*Logged, error) {
	e, err := decodeLogEntry(value)
	if err != nil {
		return nil, err
	}
	l := &Logged{Time: e.time, Cause: e.cause, Rev: e.rev, Partition: e.partition()}
	if l.At, err = logPosition(key); err != nil {
		return nil, err
	}
	if e.cause == ByRemoval {
		if r.partition != "" && r.partition != l.Partition {
			return nil, nil
		}
		return l, nil
	}
	if !r.contains(e.id) {
		return nil, nil
	}
	l.ID = r.shown(e.id)
	if l.Old, err = r.image(e.id, e.old); err == nil {
		l.New, err = r.image(e.id, e.now)
	}
	if isRedacted(err) {
		return nil, nil
	}
	return l, err
}

// image reads a revision that was a winner once, of a stored id; nil for none.
func (r *Reader) image(id document.ID, w winner) (*Revision, error) {
	if w.rev.IsZero() {
		return nil, nil
	}
	rev := &Revision{ID: r.shown(id), Rev: w.rev, Deleted: w.deleted}
	if r.state(id.Partition()) == partitionDropping {
		return rev, nil
	}
	b, err := r.db.readBody(r.v, id, w.rev)
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	if rev.Body, rev.Attachments = b.body, b.attachments; b.body == nil {
		return rev, nil
	}
	return r.redact(rev)
}
