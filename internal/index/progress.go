package index

import (
	"errors"

	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// phase is what a task of an index is at.
type phase string

const (
	phaseDocuments phase = "documents" // documents from before the definition are being added, in order of id
	phaseFinish    phase = "finish"    // an asynchronous kind makes what it left for the end
	phasePublish   phase = "publish"   // it catches up for the first time
	phaseFeed      phase = "feed"      // all that is left is to follow the feed
)

// Progress is the value of an index's progress row: how far its task has come.
type Progress struct {
	Phase phase `json:"phase"`
	// After is the last document that was added, in the first phase.
	After string `json:"after,omitempty"`
	// Begun says that UpTo was taken: the feed is followed from there.
	Begun   bool            `json:"begun,omitempty"`
	UpTo    store.Sequences `json:"mark"`
	Done    uint64          `json:"done"`              // changes handled
	Total   uint64          `json:"total"`             // documents there were when the build began
	Skipped uint64          `json:"skipped"`           // documents that a function threw for, or that were over a limit
	Stopped uint64          `json:"stopped,omitempty"` // of these, those for which the function had to be stopped
	Started int64           `json:"started"`           // Unix seconds
	Updated int64           `json:"updated"`
}

func progressKey(db, n uint64) []byte { return keyspace.IndexProgress.Key(db, keyspace.U(n)) }

func putProgress(tx kv.Txn, db, n uint64, p *Progress) error {
	return tx.Put(progressKey(db, n), encode(p))
}

// errMoved says that another task moved the progress row, or that the index is
// gone: the task ends or looks again.
var errMoved = errors.New("index: the progress moved")

// move changes the progress row from what the task expects.
func move(tx kv.Txn, db, n uint64, from, to *Progress) error {
	value, err := tx.GetForUpdate(progressKey(db, n))
	if errors.Is(err, kv.ErrNotFound) {
		return errMoved
	}
	if err != nil {
		return err
	}
	var now Progress
	if err := decode(value, &now); err != nil {
		return err
	}
	if now != *from {
		return errMoved
	}
	return putProgress(tx, db, n, to)
}

// Progress is ReadProgress for this index, of database db.
func (x *Index) Progress(v kv.Snapshot, db uint64) (Progress, error) {
	return x.progress.Get(v, func() (Progress, error) { return ReadProgress(v, db, x.Number) })
}

// ReadProgress reads how far an index has come at a snapshot. NotFound when the
// index is gone.
func ReadProgress(v kv.Snapshot, db, n uint64) (p Progress, err error) {
	value, err := v.Get(progressKey(db, n))
	if err == nil {
		err = decode(value, &p)
	}
	return p, err
}
