package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// What follows a database is a job of the package that owns it: when documents change,
// the commit sees to it that the job is in the queue, which costs it one row read, and
// one written for the first of many changes. So nobody waits in a goroutine, nothing has to be looked for
// after a start, and a database that nobody follows pays nothing.

// Following is how a database is followed.
type Following struct {
	Kind  string        // of the job that a change makes necessary; "" for none
	After time.Duration // how long changes may come together before it is due
}

// Follower is a package above the store that follows databases, with rows of its own in
// them. Its kinds of row are declared in keyspace, where it also says that those of a
// partition go when that is dropped.
type Follower interface {
	// Follows says at v how it follows a database. When that changes, LaneTxn.Redefine
	// tells.
	Follows(v kv.Snapshot, d *Database) (Following, error)
	// Check holds its rows in the reader's database against the documents and returns
	// what is wrong.
	Check(r *Reader) ([]error, error)
	// Kinds are the kinds of its jobs, which go with a database.
	Kinds() []string
}

// loadFollowing reads how the database is followed by others than indexes.
func (d *Database) loadFollowing(v kv.Snapshot, set *settings) error {
	for _, f := range d.store.o.Followers {
		how, err := f.Follows(v, d)
		if err != nil {
			return err
		}
		if how.Kind != "" {
			set.following = append(set.following, how)
		}
	}
	return nil
}

// needFollowers notes the jobs that changed documents make necessary.
func (g *group) needFollowers() {
	for _, f := range g.db.settings.Load().followings() {
		g.needs(f.Kind, g.now.Add(f.After))
	}
}

// followings are all who follow the database's changes, indexes too.
func (set *settings) followings() []Following {
	if set.indexes == nil {
		return set.following
	}
	if f := set.indexes.Following(); f.Kind != "" {
		return append(set.following[:len(set.following):len(set.following)], f)
	}
	return set.following
}

// Now is the time of the commit.
func (m LaneTxn) Now() time.Time { return m.g.now }

// Follows reports whether the writers of the database know that somebody follows it by jobs
// of a kind. It may report so in the commit in which that ends.
func (m LaneTxn) Follows(kind string) bool {
	return m.g.stale || len(m.g.redefined) > 0 || slices.ContainsFunc(m.g.db.settings.Load().followings(), func(f Following) bool { return f.Kind == kind })
}

// Ahead reads rows ahead, for update, that will be read one after the other.
func (m LaneTxn) Ahead(keys [][]byte) error {
	_, err := m.g.ahead.FetchForUpdate(keys)
	return err
}

// Moved reports whether documents of a scope changed after q. It may report so for one
// that changes in the commit itself and did not after all.
func (m LaneTxn) Moved(sc Scope, q Seq) (bool, error) {
	for _, s := range m.g.order {
		if sc.contains(s.id) {
			return true, nil
		}
	}
	p, err := m.g.partition(sc.partition)
	if p == nil || err != nil {
		return m.g.lane.seq > q, err
	}
	return p.seq > q, nil
}

// Drops reports whether the partition of a scope is being dropped.
func (m LaneTxn) Drops(sc Scope) (bool, error) {
	p, err := m.g.partition(sc.partition)
	return p != nil && p.state == partitionDropping, err
}

// UpdateLane is Database.UpdateLane for what belongs to a scope: Conflict if its partition
// is being dropped. fn may refuse before it has written anything; that is the caller's
// error then, and no fault.
func (s Scope) UpdateLane(ctx context.Context, size int, fn func(m LaneTxn) (refused, err error)) error {
	var refused error
	err := s.db.submit(ctx, "store.UpdateLane", size, func(g *group) error {
		p, err := g.partition(s.partition)
		if err != nil {
			return err
		}
		if p != nil && p.state == partitionDropping {
			refused = errDropping
			return nil
		}
		refused, err = fn(LaneTxn{g})
		return err
	})
	if err == nil {
		err = refused
	}
	return err
}

// Drops reports whether a partition is being dropped, with its rows of all kinds.
func (r *Reader) Drops(p document.Partition) bool {
	return p != "" && r.state(p) == partitionDropping
}

// Once runs fn unless it has been run for this version of what is named, from 1 up.
func (s *Store) Once(ctx context.Context, name string, version uint64, fn func() error) error {
	known, err := s.ranFor(ctx, name)
	if err == nil && known != version {
		if err = fn(); err == nil {
			err = s.commit(ctx, func(tx kv.Txn) error { return tx.Put(metaKey(name), packed.Number(version)) })
		}
	}
	return dberr.Wrap("store.Once", err)
}

// ranFor returns for which version of what is named something was run, 0 for none.
func (s *Store) ranFor(ctx context.Context, name string) (version uint64, err error) {
	err = s.engine.View(ctx, func(v kv.Snapshot) error {
		version, err = counter(v.Get(metaKey(name)))
		return err
	})
	return version, err
}

// HasJob reports whether there is a job of the database.
func (r *Reader) HasJob(kind, subject string) (bool, error) {
	return hasJob(r.v, r.db.job(kind, subject, time.Time{}).ID)
}

func hasJob(v kv.Snapshot, id jobs.ID) (bool, error) {
	_, err := jobs.Get(v, id)
	if errors.Is(err, jobs.ErrGone) {
		return false, nil
	}
	return err == nil, err
}
