package store

import (
	"context"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// Kinds of job: durable background work that some transaction asked for.
const (
	jobDatabase   = "database"  // remove the rows of a dropped database
	jobPartition  = "partition" // remove the rows of a dropped partition
	jobTombstones = "bury"      // write tombstones over a dropped partition; the word is in stored rows
	jobDiscard    = "discard"   // remove the rows below a key prefix, the subject
	jobExpiry     = "expiry"    // look at all documents of a database or partition, whose setting of expiry changed
)

// job is a job row.
type job struct {
	kind       string
	number     uint64 // of the database
	subject    string // the partition
	notBefore  time.Time
	checkpoint string // where to go on
}

func (j *job) key() []byte {
	return keyspace.Job.Key(0, keyspace.T(j.kind), keyspace.U(j.number), keyspace.T(j.subject))
}

func (s *Store) putJob(tx kv.Txn, kind string, number uint64, subject string, notBefore time.Time) error {
	return s.saveJob(tx, job{kind: kind, number: number, subject: subject, notBefore: notBefore})
}

func (s *Store) saveJob(tx kv.Txn, j job) error {
	p := packed.Writer{}
	p.Byte(rowVersion)
	p.Uint(uint64(j.notBefore.UnixMilli()))
	p.Text(j.checkpoint)
	return tx.Put(j.key(), p)
}

func decodeJob(key, value []byte) (j job, err error) {
	_, parts, err := keyspace.Job.Decode(key)
	if err != nil {
		return j, err
	}
	u := packed.ReadVersion(value, rowVersion)
	j.kind, j.number, j.subject = parts[0].String(), parts[1].Num(), parts[2].String()
	j.notBefore = time.UnixMilli(int64(u.Uint()))
	j.checkpoint = u.Text()
	return j, u.Done()
}

// lock reads a job's row for update: its checkpoint may have moved, and then j
// is old. NotFound when the job is done.
func (j *job) lock(tx kv.Txn) (job, error) {
	value, err := tx.GetForUpdate(j.key())
	if err != nil {
		return job{}, err
	}
	return decodeJob(j.key(), value)
}

// Intervals of background work.
const (
	tickEvery  = time.Second
	sweepEvery = 15 * time.Second
	tokenKeep  = time.Hour
)

// wake makes the background work look for jobs now.
func (s *Store) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// maintenance is what the background work remembers between its rounds.
type maintenance struct {
	swept    time.Time
	cleaning map[string]*cleaning
}

func newMaintenance() *maintenance {
	return &maintenance{cleaning: map[string]*cleaning{}}
}

// cleaning is a database in which a round left work behind: more than it may do
// at once.
type cleaning struct {
	due []byte // where in the queue of what expires to go on
}

// background does what no caller waits for, until the store is closed.
func (s *Store) background() {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	c := newMaintenance()
	for {
		var more bool
		err := s.guard("store.round", func() (err error) {
			more, err = s.round(s.ctx, c)
			return err
		})
		if err != nil && s.ctx.Err() == nil {
			s.o.Logger.Error("background work failed and will be tried again", "error", err)
		} else if more {
			s.wake()
		}
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		case <-s.woken:
		}
	}
}

// Sweep does all background work that is due now, for tests and for servers
// that run it themselves (Options.Idle).
func (s *Store) Sweep(ctx context.Context) error {
	c := newMaintenance()
	for {
		if more, err := s.round(ctx, c); !more || err != nil {
			return err
		}
	}
}

// round does what is due, up to an amount of each kind of work; it reports
// whether there is more.
func (s *Store) round(ctx context.Context, c *maintenance) (more bool, err error) {
	now := s.o.Clock()
	ctx = kv.Freeing(ctx)
	more, err = s.runJobs(ctx)
	err = errors.Join(s.noteChanges(ctx, s.updates.take()), err)
	sweep := now.Sub(c.swept) >= sweepEvery
	err = errors.Join(err, s.clean(ctx, c, sweep)) // first, for it finds out whether the clock is believed
	if sweep {
		err = errors.Join(err, s.sweepDatabases(ctx), s.sweepTokens(ctx))
		c.swept = now
	}
	return more || len(c.cleaning) > 0, err
}

// each runs background work on a database, which may be gone. What fails there,
// or panics, keeps nobody from the work on others.
func (s *Store) each(ctx context.Context, op, name string, work func(*Database) error) error {
	err := s.guard(op, func() error {
		d, err := s.Database(ctx, name)
		if err == nil {
			err = work(d)
		}
		return err
	})
	if dberr.Is(err, dberr.NotFound) {
		return nil
	}
	return err
}

// runJobs does the jobs that are due, a number of steps of each; it reports
// whether there is more.
func (s *Store) runJobs(ctx context.Context) (more bool, err error) {
	var due []job
	err = s.engine.View(ctx, func(v kv.Snapshot) error {
		due = due[:0]
		return kv.Each(v, kv.Prefix(keyspace.Job.Key(0)), func(key, value []byte) error {
			j, err := decodeJob(key, value)
			if err == nil && (!j.notBefore.After(s.o.Clock()) || j.kind == jobDatabase && s.room(false) != nil) {
				due = append(due, j)
			}
			return err
		})
	})
	if err != nil {
		return false, err
	}
	dbs, err := s.numbered(ctx, due)
	if err != nil {
		return false, err
	}
	for _, j := range due {
		err = errors.Join(err, s.guard("store.runJob", func() error {
			rest, err := s.runJob(ctx, j, dbs[j.number])
			more = more || rest
			return err
		}))
	}
	return more, err
}

// jobSteps is how many steps of a job one round does, so that the other work
// has its turn.
const jobSteps = 50

// runJob does a job, or some steps of it; d is its database, nil for one that went.
func (s *Store) runJob(ctx context.Context, j job, d *Database) (more bool, err error) {
	switch j.kind {
	case jobDatabase:
		return false, s.removeDatabase(ctx, j)
	case jobDiscard:
		if err := s.engine.Discard(ctx, kv.Prefix([]byte(j.subject))); err != nil {
			return false, err
		}
		return false, s.endJob(ctx, j)
	}
	if d == nil { // the database went too
		return false, s.endJob(ctx, j)
	}
	step := d.dropStep
	if j.kind == jobExpiry {
		step = d.walkStep
	}
	more = true
	for n := 0; more && err == nil && n < jobSteps; n++ {
		if more, err = step(ctx, j); err == nil {
			err = ctx.Err()
		}
		s.rest(ctx)
	}
	if dberr.Is(err, dberr.NotFound) {
		return false, nil
	}
	if !more && err == nil {
		s.progress.end(&j)
	}
	return more, err
}

// pause is how long background work rests between two steps.
const pause = 2 * time.Millisecond

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

func (s *Store) endJob(ctx context.Context, j job) error {
	return s.commit(ctx, func(tx kv.Txn) error { return tx.Delete(j.key()) })
}

// removeDatabase removes the rows of a dropped database, which no transaction
// and no snapshot can reach any more.
func (s *Store) removeDatabase(ctx context.Context, j job) error {
	if err := s.engine.Discard(ctx, kv.Prefix(keyspace.Database(j.number))); err != nil {
		return err
	}
	return s.endJob(ctx, j)
}

// numbered opens the databases with the numbers of jobs; those that went are left
// out. An open one is found at once. For the rest, which are there after a start,
// the catalogue is read once, and no other database is opened.
func (s *Store) numbered(ctx context.Context, jobs []job) (map[uint64]*Database, error) {
	found, missing := map[uint64]*Database{}, map[uint64]bool{}
	s.open.RLock()
	for _, j := range jobs {
		if d := s.open.numbers[j.number]; d != nil {
			found[j.number] = d
		} else if workKinds[j.kind] != "" {
			missing[j.number] = true
		}
	}
	s.open.RUnlock()
	if len(missing) == 0 {
		return found, nil
	}
	names, err := s.namesOf(ctx, missing)
	if err != nil {
		return nil, err
	}
	for number, name := range names {
		d, err := s.Database(ctx, name)
		if err != nil && !dberr.Is(err, dberr.NotFound) {
			return nil, err
		}
		if err == nil && d.number == number {
			found[number] = d
		}
	}
	return found, nil
}

// namesOf looks the databases of some numbers up in the catalogue.
func (s *Store) namesOf(ctx context.Context, numbers map[uint64]bool) (names map[uint64]string, err error) {
	err = s.engine.View(ctx, func(v kv.Snapshot) error {
		names = map[uint64]string{}
		return kv.Each(v, kv.Prefix(keyspace.Catalogue.Key(0)), func(key, value []byte) error {
			e, err := decodeEntry(value)
			if err != nil || !numbers[e.number] {
				return err
			}
			_, parts, err := keyspace.Catalogue.Decode(key)
			if err == nil {
				names[e.number] = parts[0].String()
			}
			return err
		})
	})
	return names, err
}

// sweepDatabases removes old superseded bodies and orphaned blobs everywhere.
func (s *Store) sweepDatabases(ctx context.Context) error {
	now, failed := s.believed(ctx)
	if failed != nil {
		return failed
	}
	for name, err := range s.Names(ctx, "", "", false) {
		if err != nil {
			return errors.Join(failed, err)
		}
		failed = errors.Join(failed, s.each(ctx, "store.sweep", name, func(d *Database) error { return d.sweep(ctx, now) }))
	}
	return failed
}

func (d *Database) sweep(ctx context.Context, now time.Time) error {
	for more := true; more; {
		trimmed, err := d.trimLog(ctx, now) // first, for entries keep superseded bodies
		if err != nil {
			return err
		}
		superseded, err := d.sweepSuperseded(ctx, now.Add(-d.store.o.KeepSuperseded))
		if err != nil {
			return err
		}
		blobs, err := d.sweepBlobs(ctx)
		if err != nil {
			return err
		}
		more = trimmed || superseded || blobs
	}
	return nil
}

// sweepTokens forgets commit tokens that nobody can ask for any more.
func (s *Store) sweepTokens(ctx context.Context) error {
	old := uint64(s.o.Clock().Add(-tokenKeep).Unix())
	r := kv.Prefix(keyspace.Token.Key(0))
	r.End = keyspace.Token.Key(0, keyspace.U(old))
	any := false
	err := s.engine.View(ctx, func(v kv.Snapshot) error {
		it, err := v.Iterate(r, kv.IterOptions{})
		if err != nil {
			return err
		}
		defer it.Close()
		any = it.Next()
		return it.Err()
	})
	if err != nil || !any {
		return err
	}
	return s.engine.Discard(ctx, r)
}
