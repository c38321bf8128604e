package schedule

import (
	"context"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/replicate/spec"
	"github.com/sectional/sectional/internal/store"
)

// docKey names a replication document. The zero key is none.
type docKey struct {
	database string
	id       document.ID
}

// entry is a replication document that asks for something, on its way to a job
// or with one.
type entry struct {
	db      *store.Database
	rev     document.Rev // that was read
	rep     *spec.Replication
	state   string // initializing, error, scheduled; completed or failed until the document says so itself
	job     string // id of its job, "" without one
	info    []byte // JSON: what is shown beside the state
	errors  int
	updated time.Time
	began   time.Time
	due     time.Time // when to prepare it again; zero: not
	asking  bool      // its filter is being fetched
}

// The states of a document that are no job's.
const (
	initializing = "initializing"
	failing      = "error"
	scheduled    = "scheduled"
	completed    = "completed"
	failed       = "failed"
)

// changed takes in a replication document as it is now; rev is nil when it is
// gone.
func (s *Scheduler) changed(db *store.Database, id document.ID, rev *store.Revision) {
	key, now := docKey{db.Name(), id}, s.o.Now()
	s.state.Lock()
	defer s.state.Unlock()
	if s.state.closed {
		return
	}
	if rev == nil || spec.Over(rev.Body) {
		s.forget(key)
		return
	}
	rep, err := spec.ParseDocument(rev.Body, s.settings.Value().each)
	old := s.state.documents[key]
	if err == nil && old != nil && old.rep.Equal(rep) && old.state != completed && old.state != failed {
		old.rev = rev.Rev
		return
	}
	s.forget(key)
	d := &entry{db: db, rev: rev.Rev, rep: rep, state: initializing, info: []byte("null"), updated: now, began: now}
	s.state.documents[key] = d
	if err != nil {
		d.rep = &spec.Replication{}
		s.settle(key, d, failedState(Reason(err)), now)
		return
	}
	s.prepare(key, d)
}

// forget lets a document and its job go. The lock is held.
func (s *Scheduler) forget(key docKey) {
	d := s.state.documents[key]
	if d == nil {
		return
	}
	delete(s.state.documents, key)
	if j := s.jobOf(key, d); j != nil {
		s.remove(j, ErrCancelled)
	}
	s.fill(s.o.Now())
}

// jobOf returns a document's job, nil if it has none. The lock is held.
func (s *Scheduler) jobOf(key docKey, d *entry) *job {
	if j := s.state.queue.jobs[d.job]; j != nil && j.key == key {
		return j
	}
	return nil
}

// prepare makes a job of a document, at once or when its filter function has been
// fetched. The lock is held.
func (s *Scheduler) prepare(key docKey, d *entry) {
	if !hasFunction(d.rep) {
		s.schedule(key, d, "")
		return
	}
	if d.asking {
		return
	}
	d.asking = true
	s.begin(func() {
		code, err := s.filterCode(s.ctx, d.rep, s.callerOf(d.rep))
		s.state.Lock()
		defer s.state.Unlock()
		d.asking = false
		if s.state.documents[key] != d || s.state.closed {
			return
		}
		if err != nil {
			s.hinder(d, Reason(err))
			s.wake()
			return
		}
		s.schedule(key, d, code)
		s.wake()
	})
}

// hinder notes why a document is no job yet, and when to try again: after about
// half a minute, and twice as long each time, for about a day at most. A job that
// runs already goes on. The lock is held.
func (s *Scheduler) hinder(d *entry, reason string) {
	now := s.o.Now()
	d.errors++
	d.due = now.Add(time.Second + time.Duration(s.o.Random()*float64(time.Minute<<min(d.errors-1, 11))))
	if d.state == scheduled {
		return
	}
	d.state, d.info, d.updated = failing, errorInfo(reason), now
}

// rescanEvery is after how long a filter function is looked at again: it may have
// changed, and then the replication begins anew.
const rescanEvery = time.Minute

// schedule gives a document its job. The lock is held.
func (s *Scheduler) schedule(key docKey, d *entry, code string) {
	now := s.o.Now()
	if hasFunction(d.rep) {
		d.due = now.Add(rescanEvery + time.Duration(s.o.Random()*float64(rescanEvery)))
	}
	base := d.rep.BaseID(spec.Subject{Server: s.o.Store.UUID(), Caller: nameOf(d.rep), Code: code})
	id := d.rep.FullID(base)
	if j := s.jobOf(key, d); j != nil {
		if j.id == id {
			d.errors = 0
			return
		}
		s.remove(j, ErrCancelled)
	}
	if other := s.state.queue.jobs[id]; other != nil {
		if other.transient() {
			s.hinder(d, "Replication `"+id+"` specified by document `"+string(key.id)+
				"` already running as a transient replication, started via `_replicate` API endpoint")
			return
		}
		s.settle(key, d, failedState("Replication `"+id+"` specified by document `"+string(key.id)+
			"` already started, triggered by document `"+string(other.key.id)+"` from db `"+other.key.database+"`"), now)
		return
	}
	d.state, d.job, d.info, d.errors, d.updated = scheduled, id, nil, 0, now
	s.add(&job{id: id, base: base, rep: d.rep, key: key, user: nameOf(d.rep), from: d.rep.OwnerFrom(), caller: s.callerOf(d.rep), began: d.began}, now)
}

// nameOf returns the name of the user whose rights a document's replication has.
func nameOf(r *spec.Replication) string {
	if r.UserContext != nil && r.UserContext.Name != "" {
		return r.UserContext.Name
	}
	return r.Owner
}

// settle ends what a document asked for: it says what became of it, here and in
// the document. The lock is held.
func (s *Scheduler) settle(key docKey, d *entry, f final, now time.Time) {
	d.state, d.info, d.job, d.due, d.updated = f.state, f.info, "", time.Time{}, now
	if f.state == failed {
		d.errors = 1
		s.o.Log.Error("replication document failed", "document", key.database+"/"+string(key.id), "reason", f.reason)
	}
	db, rev := d.db, d.rev
	s.begin(func() { s.writeState(db, key.id, rev, f, now) })
}

// findPurged lets the jobs of documents go that were purged: that leaves nothing
// in the feed.
func (s *Scheduler) findPurged() {
	for _, f := range s.following() {
		t, err := f.db.Whole().Totals(s.ctx)
		if err != nil || t.PurgeSeq == f.purges {
			continue
		}
		f.purges = t.PurgeSeq
		for _, key := range s.keysOf(f.db) {
			if gone(s.ctx, f.db, key.id) {
				s.changed(f.db, key.id, nil)
				s.state.Lock()
				f.note(key.id, nil)
				s.state.Unlock()
			}
		}
	}
}

func gone(ctx context.Context, db *store.Database, id document.ID) bool {
	err := db.Whole().View(ctx, func(r *store.Reader) error {
		_, err := r.Winner(id)
		return err
	})
	return dberr.Is(err, dberr.NotFound)
}

// keysOf lists the documents of a database that are known.
func (s *Scheduler) keysOf(db *store.Database) (keys []docKey) {
	s.state.Lock()
	defer s.state.Unlock()
	for key, d := range s.state.documents {
		if d.db == db {
			keys = append(keys, key)
		}
	}
	return keys
}
