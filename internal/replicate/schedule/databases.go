package schedule

import (
	"math"
	"slices"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/replicate/spec"
	"github.com/sectional/sectional/internal/store"
)

// follower is the goroutine that reads a _replicator database.
type follower struct {
	db     *store.Database
	ended  chan struct{} // closed when it has ended
	purges uint64        // as findPurged last saw them; its goroutine's alone

	// Guarded by the scheduler's lock: what it has read, up to a sequence, and whose that is.
	since   store.Seq
	charged map[document.ID]spec.Charge
	usage   map[spec.Charge]map[document.ID]int64 // lengths of documents
}

// followDatabases begins to follow the _replicator databases that there are and
// those that will be.
func (s *Scheduler) followDatabases() error {
	// What happens from here on comes with the feed of databases.
	_, last, wait, err := s.o.Store.Updates(s.ctx, math.MaxUint64-1)
	if err != nil {
		return err
	}
	for name, err := range s.o.Store.Names(s.ctx, "", "", false) {
		if err == nil && spec.IsReplicator(name) {
			err = s.follow(name)
		}
		if err != nil {
			return err
		}
	}
	s.state.Lock()
	s.state.updates = last
	s.state.Unlock()
	s.work.Go(func() { s.watchDatabases(wait) })
	return nil
}

// watchDatabases follows databases that are made from now on.
func (s *Scheduler) watchDatabases(wait <-chan struct{}) {
	for {
		select {
		case <-wait:
		case <-s.ctx.Done():
			return
		}
		var err error
		if wait, err = s.followNew(); err != nil && s.ctx.Err() == nil {
			s.o.Log.Error("the list of replicator databases can't be read", "error", err)
		}
	}
}

// followNew follows the databases that were made since it was called last, and returns a channel that is closed when
// there are others.
func (s *Scheduler) followNew() (wait <-chan struct{}, err error) {
	s.state.Lock()
	since := s.state.updates
	s.state.Unlock()
	us, last, wait, err := s.o.Store.Updates(s.ctx, since)
	for _, u := range us {
		if err == nil && u.Type != "deleted" && spec.IsReplicator(u.Name) {
			err = s.follow(u.Name)
		}
	}
	if err == nil {
		s.state.Lock()
		s.state.updates = max(s.state.updates, last)
		s.state.Unlock()
	}
	return wait, err
}

// follow makes sure that a database is followed. One of the same name that was
// dropped is left first.
func (s *Scheduler) follow(name string) error {
	db, err := s.o.Store.Database(s.ctx, name)
	if dberr.Is(err, dberr.NotFound) {
		return nil // dropped meanwhile
	}
	if err != nil {
		return err
	}
	s.state.Lock()
	defer s.state.Unlock()
	before := s.state.followers[name]
	if before != nil && before.db == db {
		return nil
	}
	f := &follower{db: db, ended: make(chan struct{})}
	s.state.followers[name] = f
	s.begin(func() {
		defer close(f.ended)
		if before != nil {
			<-before.ended
		}
		s.read(f)
		s.leave(f)
	})
	return nil
}

// leave forgets a database that is gone, with its documents and their jobs.
func (s *Scheduler) leave(f *follower) {
	s.state.Lock()
	defer s.state.Unlock()
	if s.state.followers[f.db.Name()] == f {
		delete(s.state.followers, f.db.Name())
	}
	if s.state.closed {
		return
	}
	for key, d := range s.state.documents {
		if d.db == f.db {
			s.forget(key)
		}
	}
}

// following lists the followers.
func (s *Scheduler) following() (list []*follower) {
	s.state.Lock()
	defer s.state.Unlock()
	for _, f := range s.state.followers {
		list = append(list, f)
	}
	return list
}

// retryReading is how long to wait when the store can't be read.
const retryReading = time.Second

func (s *Scheduler) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	}
}

// documentsPage is how many documents are read in one snapshot.
const documentsPage = 100

// page is what has been read of a feed.
type page struct {
	ids  []document.ID
	seqs []store.Seq
	revs []*store.Revision // nil for what is deleted
	last store.Seq
}

// read follows a database's feed until it is dropped or the scheduler ends.
func (s *Scheduler) read(f *follower) {
	since := store.Seq(0)
	for s.ctx.Err() == nil && !f.db.Dropped() {
		p, err := s.readPage(f.db, since)
		if err != nil {
			if dberr.Is(err, dberr.NotFound) || s.ctx.Err() != nil {
				return
			}
			s.o.Log.Error("a replicator database can't be read", "database", f.db.Name(), "error", err)
			s.pause(retryReading)
		}
		for i, id := range p.ids {
			s.changed(f.db, id, p.revs[i])
		}
		since = max(since, p.last)
		s.readUpTo(f, &p)
		if err == nil && len(p.ids) == documentsPage {
			continue
		}
		change, leave := f.db.Whole().Watch(since)
		select {
		case <-change:
		case <-s.ctx.Done():
		}
		leave()
	}
}

// readUpTo notes what a page has of each user's documents.
func (s *Scheduler) readUpTo(f *follower, p *page) {
	s.state.Lock()
	defer s.state.Unlock()
	for i, id := range p.ids {
		if rev := p.revs[i]; rev != nil {
			f.note(id, rev.Body)
		} else {
			f.note(id, nil)
		}
	}
	f.since = max(f.since, p.last)
}

func (s *Scheduler) readPage(db *store.Database, since store.Seq) (p page, err error) {
	err = db.Whole().View(s.ctx, func(r *store.Reader) error {
		p = page{last: since}
		for c, err := range r.Changes(since, false) {
			if err != nil {
				return err
			}
			p.last = c.Seq
			if c.ID.IsDesign() {
				continue
			}
			var rev *store.Revision
			if !c.Deleted {
				if rev, err = r.Changed(c.ID, c.Leaves[0], false); err != nil {
					return err
				}
				rev = &store.Revision{ID: rev.ID, Rev: rev.Rev, Body: slices.Clone(rev.Body)}
			}
			p.ids, p.seqs, p.revs = append(p.ids, c.ID), append(p.seqs, c.Seq), append(p.revs, rev)
			if len(p.ids) == documentsPage {
				return nil
			}
		}
		return nil
	})
	return p, err
}
