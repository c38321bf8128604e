package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/sectional/sectional/internal/dberr"
)

// clean removes what is too old from the databases: all of them, or those in
// which a round left work behind.
func (s *Store) clean(ctx context.Context, c *maintenance, all bool) error {
	now := s.o.Clock()
	trusts, err := s.trusts(ctx, now)
	if err != nil {
		return err
	}
	if !trusts {
		clear(c.cleaning)
		return nil
	}
	names := slices.Sorted(maps.Keys(c.cleaning))
	if all {
		names = names[:0]
		for name, err := range s.Names(ctx, "", "", false) {
			if err != nil {
				return err
			}
			names = append(names, name)
		}
	}
	any := false
	for _, name := range names {
		aging := true // unless it is told that nothing gets old there
		cleanErr := s.guard("store.clean", func() (err error) {
			aging, err = s.cleanDatabase(ctx, c, name, now)
			return err
		})
		if cleanErr != nil && !dberr.Is(cleanErr, dberr.NotFound) {
			err = errors.Join(err, cleanErr)
		}
		any = any || aging
	}
	return errors.Join(err, s.trusted(ctx, now, any))
}

// cleanDatabase does a round's worth in one database. It reports whether there is
// anything that gets old in it.
func (s *Store) cleanDatabase(ctx context.Context, c *maintenance, name string, now time.Time) (aging bool, err error) {
	last := c.cleaning[name]
	delete(c.cleaning, name)
	if last == nil {
		last = &cleaning{}
	}
	d, err := s.Database(ctx, name)
	if err != nil {
		return false, err
	}
	queued, err := d.queued(ctx)
	if err != nil {
		return false, err
	}
	age := d.tombstoneAge()
	if queued {
		next, n, err := d.expire(ctx, last.due)
		s.expiry.expired.Add(uint64(n))
		if n > 0 {
			s.o.Logger.Info("documents have expired", "database", name, "documents", n)
		}
		if err != nil {
			return true, err
		}
		if next != nil {
			c.cleaning[name] = &cleaning{due: next}
		}
	}
	if age > 0 {
		n, more, err := d.collectTombstones(ctx, age)
		if n > 0 {
			s.o.Logger.Info("old tombstones were dropped", "database", name, "documents", n)
		}
		if err != nil {
			return true, err
		}
		if more && c.cleaning[name] == nil {
			c.cleaning[name] = &cleaning{}
		}
	}
	return queued || age > 0, nil
}
