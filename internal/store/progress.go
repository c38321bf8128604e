package store

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/kv"
)

// expiryCounts counts what has become of documents that say when they expire,
// since the server started.
type expiryCounts struct{ expired, unreadable atomic.Uint64 }

// ExpiryCounts reports how many documents have expired since the server started,
// and how often a document was written of which nobody can read when it does.
func (s *Store) ExpiryCounts() (expired, unreadable uint64) {
	return s.expiry.expired.Load(), s.expiry.unreadable.Load()
}

// Work is background work on documents that is under way.
type Work struct {
	Kind      WorkKind
	Server    string // who is at it, or was last; "" for the server that has the store for itself, or nobody yet
	Database  string
	Partition document.Partition // "" for all of the database
	Began     time.Time
	Done      uint64 // documents handled
	Total     uint64 // documents that there were when it was asked, 0 where nobody knows
}

// WorkKind says what is being done.
type WorkKind string

// The kinds of work.
const (
	WorkDrop       WorkKind = "partition_drop"      // a partition's documents are removed
	WorkTombstones WorkKind = "partition_tombstone" // tombstones are written over them
	WorkExpiry     WorkKind = "expiry_scan"         // documents are looked at, because a setting of expiry changed
)

var workKinds = map[string]WorkKind{jobPartition: WorkDrop, jobTombstones: WorkTombstones, jobExpiry: WorkExpiry}

// Working lists the background work on documents that is under way.
func (s *Store) Working(ctx context.Context) (list []Work, err error) {
	var all []jobs.Job
	names := map[uint64]string{}
	err = s.engine.View(ctx, func(v kv.Snapshot) (err error) {
		all = all[:0]
		if err := s.nameHolders(v, names); err != nil {
			return err
		}
		for kind := range workKinds {
			err = errors.Join(err, jobs.Each(v, kind, func(j jobs.Job) error { all = append(all, j); return nil }))
		}
		return err
	})
	for _, j := range all {
		holder, _ := j.Holder()
		w := Work{Kind: workKinds[j.Kind], Server: names[holder], Database: j.Database, Partition: document.Partition(j.Subject), Began: j.Began, Done: j.Done}
		d, err := s.Database(ctx, j.Database)
		if dberr.Is(err, dberr.NotFound) || err == nil && d.number != j.Number {
			continue
		}
		if err != nil {
			return nil, err
		}
		if j.Kind == jobExpiry {
			t, err := Scope{db: d, partition: w.Partition}.Totals(ctx)
			if err != nil && !dberr.Is(err, dberr.NotFound) {
				return nil, err
			}
			w.Total = max(t.Docs+t.Deleted, w.Done)
		}
		list = append(list, w)
	}
	return list, err
}

// nameHolders tells the names of the servers by what they hold jobs as.
func (s *Store) nameHolders(v kv.Snapshot, names map[uint64]string) error {
	if s.SingleServer() {
		return nil
	}
	servers, err := readServers(v)
	for _, o := range servers {
		names[o.Holder] = o.Name
	}
	return err
}
