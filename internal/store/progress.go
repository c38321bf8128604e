package store

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// progress counts how many documents the running jobs have handled in this
// process, by the keys of their rows.
type progress struct {
	sync.Mutex
	done map[string]uint64
}

func (p *progress) add(j *job, n uint64) {
	p.Lock()
	defer p.Unlock()
	if p.done == nil {
		p.done = map[string]uint64{}
	}
	p.done[string(j.key())] += n
}

func (p *progress) end(j *job) {
	p.Lock()
	defer p.Unlock()
	delete(p.done, string(j.key()))
}

func (p *progress) of(j *job) uint64 {
	p.Lock()
	defer p.Unlock()
	return p.done[string(j.key())]
}

// expiryCounts counts what has become of documents that say when they expire,
// since the server started.
type expiryCounts struct{ expired, unreadable atomic.Uint64 }

// ExpiryCounts tells how many documents have expired since the server started,
// and how often a document was written of which nobody can read when it does.
func (s *Store) ExpiryCounts() (expired, unreadable uint64) {
	return s.expiry.expired.Load(), s.expiry.unreadable.Load()
}

// Work is background work on documents that is under way.
type Work struct {
	Kind      WorkKind
	Database  string
	Partition document.Partition // "" for all of the database
	Began     time.Time
	Done      uint64 // documents handled since the server started
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
	var jobs []job
	err = s.engine.View(ctx, func(v kv.Snapshot) error {
		jobs = jobs[:0]
		return kv.Each(v, kv.Prefix(keyspace.Job.Key(0)), func(key, value []byte) error {
			j, err := decodeJob(key, value)
			if workKinds[j.kind] != "" {
				jobs = append(jobs, j)
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	dbs, err := s.numbered(ctx, jobs)
	for _, j := range jobs {
		d := dbs[j.number]
		if d == nil {
			continue
		}
		w := Work{Kind: workKinds[j.kind], Database: d.name, Partition: document.Partition(j.subject), Began: j.notBefore, Done: s.progress.of(&j)}
		if j.kind == jobExpiry {
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
