package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// The upkeep of a database is what no caller waits for: removing what dropped
// partitions, superseded revisions and lost blobs left, expiry, and collecting
// tombstones. A commit that makes something of it necessary puts a job into the queue
// (group.needs), so nothing looks for work, and a database in which nothing is due is
// not opened. A kind of upkeep is a page: it is read in a snapshot, and changed in one
// commit that moves the job from the state that was read to the next (Database.step).

// Kinds of job; the words are in stored rows.
const (
	jobDatabase   = "database"  // remove the rows of a dropped database
	jobDiscard    = "discard"   // remove the rows below a key prefix, the subject
	jobSurvey     = "survey"    // look in all databases which jobs they need
	jobPartition  = "partition" // remove the rows of a dropped partition
	jobTombstones = "bury"      // write tombstones over a dropped partition
	jobExpiry     = "expiry"    // look at all documents of a database or partition, whose setting of expiry changed
	jobDue        = "due"       // write tombstones over what has expired
	jobCollect    = "collect"   // collect old tombstones
	jobSweep      = "sweep"     // remove old superseded bodies, and blobs that no document names
	jobPieces     = "pieces"    // remove pieces of values that rows no longer have
)

// databaseJobs are the kinds that a database can have.
var databaseJobs = [...]string{jobDiscard, jobPartition, jobTombstones, jobExpiry, jobDue, jobCollect, jobSweep, jobPieces}

// page is a batch of a kind of upkeep.
type page interface {
	// read looks, in a snapshot, at what is to be done next of a job.
	read(r *Reader, j *jobs.Job) error
	// size is about how many bytes write will write.
	size() int
	// write does it in a commit, and notes in j, the job as it is there, how far it
	// has come and when it is due next; over says that it is done. errPage, before
	// anything is written, when what was read is out of date.
	write(g *group, j *jobs.Job) (over bool, err error)
}

// page makes the page for a kind of job.
func (d *Database) page(ctx context.Context, kind string) (page, error) {
	switch kind {
	case jobPartition, jobTombstones:
		return &dropping{d: d}, nil
	case jobExpiry:
		return &walker{d: d}, nil
	case jobSweep:
		now, err := d.store.believed(ctx)
		return &sweeping{d: d, now: now, before: now.Add(-d.store.o.KeepSuperseded)}, err
	}
	if trusted, err := d.store.trusts(ctx, d.store.o.Clock()); err != nil || !trusted {
		return nil, errors.Join(err, jobs.Later(time.Minute))
	}
	if kind == jobDue {
		return &duePage{d: d}, nil
	}
	return &tombstonePage{d: d}, nil
}

// job is a job of the database.
func (d *Database) job(kind, subject string, due time.Time) jobs.Job {
	return jobs.Job{ID: jobs.ID{Kind: kind, Number: d.number, Subject: subject}, Database: d.name, Due: due}
}

// Intervals of background work.
const (
	tickEvery  = time.Second
	sweepEvery = 15 * time.Second
	tokenKeep  = time.Hour
	// pause is how long background work rests between two steps of a job.
	pause = 2 * time.Millisecond
)

const (
	jobWorkers = 32 // jobs that are worked on side by side: their commits are shared
	jobSteps   = 50 // of a job, before others have their turn
)

func (s *Store) newQueue(pool string, workers func() int, do func(ctx context.Context, j jobs.Job) error) *jobs.Queue {
	return jobs.New(jobs.Options{Pool: pool, Engine: s.engine, Commit: s.commit, Clock: func() time.Time { return s.o.Clock() }, Logger: s.o.Logger, Workers: workers,
		Holder: s.o.Holder, Lease: s.o.Lease, Tracer: s.o.Tracer,
		Do: func(ctx context.Context, j jobs.Job) error {
			return s.guard("store.job", func() error { return do(ctx, j) })
		}})
}

// runJob works on a job for a while.
func (s *Store) runJob(ctx context.Context, j jobs.Job) error {
	switch j.Kind {
	case jobDatabase:
		return s.removeDatabase(ctx, j)
	case jobDiscard:
		if !strings.HasPrefix(j.Subject, string(keyspace.Database(j.Number))) {
			return s.EndJob(ctx, j) // an older build has carried it here with a copied database
		}
		return s.discard(ctx, j, []byte(j.Subject))
	case jobSurvey:
		return s.survey(ctx, j)
	case jobPieces:
		return s.sweepPieces(ctx, j)
	}
	d, err := s.Database(ctx, j.Database)
	if dberr.Is(err, dberr.NotFound) || err == nil && d.number != j.Number {
		return s.EndJob(ctx, j)
	}
	if err == nil {
		err = d.work(ctx, j.ID)
	}
	if dberr.Is(err, dberr.NotFound) { // it went meanwhile
		return nil
	}
	return err
}

// work does some steps of a job.
func (d *Database) work(ctx context.Context, id jobs.ID) error {
	done := uint64(0)
	for range jobSteps {
		p, err := d.page(ctx, id.Kind)
		if err != nil {
			return err
		}
		n, more, err := d.step(ctx, id, p)
		if err != nil {
			return err
		}
		if done += n; !more {
			break
		}
		d.store.rest(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if what := finished[id.Kind]; what != "" && done > 0 {
		d.store.o.Logger.Info(what, "database", d.name, "documents", done)
	}
	return nil
}

// finished are lines of the log.
var finished = map[string]string{jobDue: "documents have expired", jobCollect: "old tombstones were dropped"}

// step does the next page of a job, unless somebody else has gone on with it; it returns
// how many documents it has handled, and whether there is more to do now.
func (d *Database) step(ctx context.Context, id jobs.ID, p page) (n uint64, more bool, err error) {
	var seen jobs.Job
	err = d.Whole().View(ctx, func(r *Reader) (err error) {
		if seen, err = jobs.Get(r.v, id); err == nil {
			err = p.read(r, &seen)
		}
		return err
	})
	if errors.Is(err, jobs.ErrGone) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	err = d.submit(ctx, "store."+id.Kind, p.size(), func(g *group) error {
		j, err := d.store.jobs.Lock(g.tx, &seen)
		over, before := false, j.Done
		if err == nil {
			over, err = p.write(g, &j.Job)
		}
		if n, more = 0, true; errors.Is(err, jobs.ErrGone) || errors.Is(err, jobs.ErrMoved) || errors.Is(err, errPage) {
			return nil // look again
		}
		if err != nil {
			return err
		}
		if n = j.Done - before; over {
			more = false
			return jobs.End(g.tx, &j)
		}
		more = !j.Due.After(g.now)
		return d.store.jobs.Save(g.tx, &j)
	})
	if err == nil && id.Kind == jobDue {
		d.store.expiry.expired.Add(n)
	}
	return n, more, err
}

// errPage says that a page that was read in a snapshot is out of date.
var errPage = dberr.New(dberr.Conflict, "conflict", "The settings changed.")

// dated is a document as a page saw it in a snapshot, and what is to be done about it
// if it still is so in the commit.
type dated struct {
	id  document.ID
	seq Seq
	due uint64 // its row in the queue, as it should be
	// written is when it was last written, where that has to be known.
	written uint64
	old     []document.Rev // its leaves that have expired
}

// needs notes that a job of the database has something to do from a time on.
func (g *group) needs(kind string, from time.Time) {
	if g.work == nil {
		g.work = map[string]time.Time{}
	}
	if old, ok := g.work[kind]; !ok || from.Before(old) {
		g.work[kind] = from
	}
}

// earlier returns the earlier of two times, zero for neither: one, and when the group's own
// changes make a job of a kind due.
func (g *group) earlier(kind string, due time.Time) time.Time {
	if own, ok := g.work[kind]; ok && (due.IsZero() || own.Before(due)) {
		return own
	}
	return due
}

// putWork puts what the group's changes make necessary into the queue.
func (g *group) putWork() error {
	for kind, from := range g.work {
		if err := g.ensureJob(g.db.job(kind, "", from)); err != nil {
			return err
		}
	}
	return nil
}

// ensureJob puts a job into the queue, or makes it due earlier.
func (g *group) ensureJob(j jobs.Job) error {
	changed, err := g.db.store.jobs.Ensure(g.tx, j)
	if changed {
		g.wakes(j.ID)
	}
	return err
}

// wakes notes that the queue of a job is to be looked at.
func (g *group) wakes(id jobs.ID) {
	if g.woken == nil {
		g.woken = map[string]bool{}
	}
	g.woken[id.Pool()] = true
}

// putJob puts a job of the database into the queue.
func (g *group) putJob(kind, subject string) error {
	j := g.db.job(kind, subject, g.now)
	g.wakes(j.ID)
	return g.db.store.jobs.Put(g.tx, j)
}

// rest lets others have the disk between two steps of background work.
func (s *Store) rest(ctx context.Context) {
	if s.o.Idle {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

// commitsWithin is how long a transaction that ends at its greatest age may take to commit,
// where that is a matter of a network and of other machines.
const commitsWithin = time.Minute

// unreachable is when no transaction and no snapshot can be running any more that began before
// now.
func (s *Store) unreachable(now time.Time) time.Time {
	now = now.Add(s.limits.Age)
	if s.shared {
		now = now.Add(commitsWithin)
	}
	return now
}

// discard removes rows that no transaction and no snapshot can reach any more.
func (s *Store) discard(ctx context.Context, j jobs.Job, prefix []byte) error {
	if err := s.engine.Discard(ctx, kv.Prefix(prefix)); err != nil {
		return err
	}
	return s.EndJob(ctx, j)
}

// removeDatabase removes the rows of a dropped database, and its jobs.
func (s *Store) removeDatabase(ctx context.Context, j jobs.Job) error {
	kinds := databaseJobs[:]
	for _, f := range s.o.Followers {
		kinds = append(slices.Clip(kinds), f.Kinds()...)
	}
	err := s.commit(ctx, func(tx kv.Txn) (err error) {
		for _, kind := range kinds {
			err = errors.Join(err, jobs.EndAll(tx, kind, j.Number))
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.discard(ctx, j, keyspace.Database(j.Number))
}
