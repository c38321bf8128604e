package store

import (
	"context"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// background does what is the whole store's and no database's, until the store is
// closed. None of it reads anything of a database.
func (s *Store) background() {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for swept := (time.Time{}); ; {
		now := s.o.Clock()
		all := swept.IsZero() || now.Sub(swept) >= sweepEvery || now.Before(swept)
		if all {
			swept = now
		}
		if err := s.guard("store.tick", func() error { return s.tick(kv.Freeing(s.ctx), all) }); err != nil && s.ctx.Err() == nil {
			s.o.Logger.Error("background work failed and will be tried again", "error", err)
		}
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Sweep does all background work that is due now, for tests and for servers
// that run it themselves (Options.Idle).
func (s *Store) Sweep(ctx context.Context) error {
	ctx = kv.Freeing(ctx)
	return errors.Join(s.sign(ctx), s.guard("store.tick", func() error { return s.tick(ctx, true) }), s.jobs.Drain(ctx))
}

// tick notes which databases changed, and makes room where the disk is full; with all
// it also looks at what changes seldom: the clock, the age of tombstones, old tokens.
func (s *Store) tick(ctx context.Context, all bool) error {
	err := errors.Join(s.noteChanges(ctx, s.updates.take()), s.look(ctx))
	if !s.shared && s.room(false) != nil {
		err = errors.Join(err, s.makeDropsDue(ctx))
	}
	if all {
		err = errors.Join(err, s.watchClock(ctx), s.watchAge(ctx), s.sweepTokens(ctx), s.sweepOnce(ctx))
	}
	return err
}

// makeDropsDue makes the removal of dropped databases due at once, of an engine that is this
// process's own: whoever still reads one finds less of it. Transactions of other processes
// might write there yet.
func (s *Store) makeDropsDue(ctx context.Context) error {
	now, any := s.o.Clock(), false
	err := s.commit(ctx, func(tx kv.Txn) error {
		var all []jobs.Job
		err := jobs.Each(tx, jobDatabase, func(j jobs.Job) error { all = append(all, j); return nil })
		for _, j := range all {
			j.Due = now
			changed, ensureErr := s.jobs.Ensure(tx, j)
			any, err = any || changed, errors.Join(err, ensureErr)
		}
		return err
	})
	if any {
		s.jobs.Wake()
	}
	return err
}

// metaAge is the meta row with the age of tombstones for which all databases were
// looked at, in seconds, and one more.
const metaAge = "deleted-ttl"

// watchAge has all databases looked at when the age at which tombstones are dropped is
// another than it was: those that had no use for a job may have now.
func (s *Store) watchAge(ctx context.Context) error {
	age := max(0, int64(s.o.DeletedTTL()/time.Second)) + 1
	if s.age.Load() == age {
		return nil
	}
	known := int64(0)
	err := s.engine.View(ctx, func(v kv.Snapshot) error {
		n, err := counter(v.Get(metaKey(metaAge)))
		known = int64(n)
		return err
	})
	if err == nil && known != age {
		err = s.commit(ctx, func(tx kv.Txn) error {
			j := jobs.Job{ID: jobs.ID{Kind: jobSurvey}, Due: s.o.Clock()}
			return errors.Join(tx.Put(metaKey(metaAge), packed.Number(uint64(age))), s.jobs.Put(tx, j))
		})
		s.jobs.Wake()
	}
	if err == nil {
		s.age.Store(age)
	}
	return err
}

// surveyPage is how many databases one commit of a survey takes.
const surveyPage = 300

// survey gives each database the jobs that look for themselves what there is to do.
func (s *Store) survey(ctx context.Context, j jobs.Job) error {
	for over := false; !over; {
		seen := j
		err := s.commit(ctx, func(tx kv.Txn) error {
			locked, err := s.jobs.Lock(tx, &seen)
			if err != nil {
				return err
			}
			if over, err = s.surveyPage(tx, &locked.Job); err != nil {
				return err
			}
			if over {
				return jobs.End(tx, &locked)
			}
			err = s.jobs.Save(tx, &locked)
			j = locked.Job
			return err
		})
		if errors.Is(err, jobs.ErrGone) || errors.Is(err, jobs.ErrMoved) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) surveyPage(tx kv.Txn, j *jobs.Job) (over bool, err error) {
	rg := kv.Prefix(keyspace.Catalogue.Key(0))
	if j.Checkpoint != "" {
		rg.Start = append(catalogueKey(j.Checkpoint), 0)
	}
	found := map[string]uint64{}
	err = kv.Each(tx, rg, func(key, value []byte) error {
		if len(found) == surveyPage {
			return errEnough
		}
		e, err := decodeEntry(value)
		if err != nil {
			return err
		}
		_, parts, err := keyspace.Catalogue.Decode(key)
		if err == nil {
			j.Checkpoint = parts[0].String()
			found[j.Checkpoint] = e.number
		}
		return err
	})
	if err != nil && !errors.Is(err, errEnough) {
		return false, err
	}
	over = err == nil
	now := s.o.Clock()
	for name, number := range found {
		for _, kind := range [...]string{jobDue, jobCollect, jobSweep} {
			d := &Database{name: name, number: number}
			if _, err := s.jobs.Ensure(tx, d.job(kind, "", now)); err != nil {
				return false, err
			}
		}
	}
	return over, nil
}

// sweepTokens forgets commit tokens that nobody can ask for any more.
func (s *Store) sweepTokens(ctx context.Context) error {
	old := keyspace.U(uint64(s.o.Clock().Add(-tokenKeep).Unix()))
	var ranges []kv.Range
	for n := range uint64(tokenBuckets) {
		bucket := keyspace.U(n)
		ranges = append(ranges, kv.Range{Start: keyspace.CommitToken.Key(0, bucket), End: keyspace.CommitToken.Key(0, bucket, old)})
	}
	found, err := s.filled(ctx, ranges)
	for _, r := range found {
		if err == nil {
			err = s.engine.Discard(ctx, r)
		}
	}
	return err
}

// filled returns those of the ranges in which there is a row.
func (s *Store) filled(ctx context.Context, ranges []kv.Range) (filled []kv.Range, err error) {
	asked := kv.Reads{}
	for _, r := range ranges {
		asked.Walks = append(asked.Walks, kv.Walk{Range: r, IterOptions: kv.IterOptions{Want: 1}})
	}
	err = s.engine.View(ctx, func(v kv.Snapshot) error {
		f, err := v.Read(asked)
		for i, it := range f.Walks {
			if it.Next() {
				filled = append(filled, ranges[i])
			}
			err = errors.Join(err, it.Err(), it.Close())
		}
		return err
	})
	return filled, err
}

// any reports whether there is a row in one of the ranges.
func (s *Store) any(ctx context.Context, ranges ...kv.Range) (any bool, err error) {
	err = s.engine.View(ctx, func(v kv.Snapshot) error {
		for _, r := range ranges {
			it, err := v.Iterate(r, kv.IterOptions{})
			if err != nil {
				return err
			}
			any = it.Next()
			if err := errors.Join(it.Err(), it.Close()); err != nil || any {
				return err
			}
		}
		return nil
	})
	return any, err
}
