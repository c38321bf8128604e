package schedule

import (
	"context"
	"maps"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/replicate/spec"
	"github.com/sectional/sectional/internal/store"
)

// What a user has of replications is counted when one more is asked for. What this server remembers of documents is as old as
// its followers are, so the rest of each feed is read at a snapshot: another server may have written since.

// Usage returns what somebody has of replications that have not ended: those that documents ask for, with the documents of db,
// and those that requests asked for, at this server and the others. Errors: the store's.
func (s *Scheduler) Usage(ctx context.Context, db *store.Database, who spec.Charge) (spec.Usage, error) {
	h, err := s.documentUsage(ctx, db, who)
	if err != nil {
		return h, err
	}
	err = s.countOthers(ctx, &h, who)
	s.state.Lock()
	defer s.state.Unlock()
	s.countRequests(&h, who)
	return h, err
}

// documentUsage counts the replications that documents ask for.
func (s *Scheduler) documentUsage(ctx context.Context, db *store.Database, who spec.Charge) (h spec.Usage, err error) {
	if _, err := s.followNew(); err != nil { // a database may have been made a moment ago, at another server too
		return h, err
	}
	for _, f := range s.following() {
		docs, err := s.usageIn(ctx, f, who)
		if err != nil {
			return h, err
		}
		for _, size := range docs {
			h.Jobs++
			h.Bytes += size
		}
		if f.db == db {
			h.Docs = docs
		}
	}
	return h, nil
}

// usageIn returns the documents of a database that ask for somebody's replications, with their lengths.
func (s *Scheduler) usageIn(ctx context.Context, f *follower, who spec.Charge) (docs map[document.ID]int64, err error) {
	err = f.db.Whole().View(ctx, func(r *store.Reader) error {
		var since store.Seq
		if docs, since = s.usageAsRead(f, who); docs == nil {
			docs = map[document.ID]int64{}
		}
		for c, err := range r.Changes(since, false) {
			if err != nil {
				return err
			}
			delete(docs, c.ID)
			if c.Deleted || c.ID.IsDesign() {
				continue
			}
			rev, err := r.Changed(c.ID, c.Leaves[0], false)
			if err != nil {
				return err
			}
			if of, counts := spec.ChargeOfDocument(rev.Body); counts && of == who {
				docs[c.ID] = int64(len(rev.Body))
			}
		}
		return nil
	})
	if dberr.Is(err, dberr.NotFound) {
		return nil, nil // it was dropped
	}
	return docs, err
}

// usageAsRead is usageIn as the follower has read the database, up to since.
func (s *Scheduler) usageAsRead(f *follower, who spec.Charge) (docs map[document.ID]int64, since store.Seq) {
	s.state.Lock()
	defer s.state.Unlock()
	return maps.Clone(f.usage[who]), f.since
}

// countOthers counts what requests to other servers asked for.
func (s *Scheduler) countOthers(ctx context.Context, h *spec.Usage, who spec.Charge) error {
	others, err := s.statusesOf(ctx, "")
	for _, t := range others {
		if t.lives && t.Job.DocID == nil && t.Charge != nil && *t.Charge == who {
			h.Jobs++
			h.Bytes += t.Size
		}
	}
	return err
}

// countRequests counts what requests to this server asked for. The lock is held.
func (s *Scheduler) countRequests(h *spec.Usage, who spec.Charge) {
	for _, j := range s.state.queue.jobs {
		if j.transient() && j.charge != nil && *j.charge == who {
			h.Jobs++
			h.Bytes += j.size
		}
	}
}

// note remembers what a follower has read of a document; body is nil when it is gone. The lock is held.
func (f *follower) note(id document.ID, body []byte) {
	if who, known := f.charged[id]; known {
		if delete(f.usage[who], id); len(f.usage[who]) == 0 {
			delete(f.usage, who)
		}
		delete(f.charged, id)
	}
	who, counts := spec.ChargeOfDocument(body)
	if body == nil || !counts {
		return
	}
	if f.charged == nil {
		f.charged, f.usage = map[document.ID]spec.Charge{}, map[spec.Charge]map[document.ID]int64{}
	}
	if f.usage[who] == nil {
		f.usage[who] = map[document.ID]int64{}
	}
	f.charged[id], f.usage[who][id] = who, int64(len(body))
}
