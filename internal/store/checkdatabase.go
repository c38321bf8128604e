package store

import (
	"context"

	"github.com/sectional/sectional/internal/kv"
)

// checkDatabase checks a database, and reports how far it came.
func (s *Store) checkDatabase(ctx context.Context, d *Database) (found []error, err error) {
	err = s.engine.View(ctx, func(v kv.Snapshot) error {
		c := newChecker(d, v)
		c.progress = s.o.Checking
		if err := c.run(); err != nil {
			return err
		}
		found = c.found
		return nil
	})
	for _, f := range s.o.Followers {
		if err != nil {
			break
		}
		err = d.Whole().View(ctx, func(r *Reader) error {
			bad, err := f.Check(r)
			found = append(found, bad...)
			return err
		})
	}
	if err != nil || s.o.Indexer == nil {
		return found, err
	}
	if s.o.Checking != nil {
		s.o.Checking(d.name, Checked{Indexes: true})
	}
	err = d.Whole().View(ctx, func(r *Reader) error {
		bad, err := s.o.Indexer.Check(r)
		found = append(found, bad...)
		return err
	})
	return found, err
}

// checkedAtOnce is after how many documents Options.Checking is told again.
const checkedAtOnce = 1000

// Checked is how far the check of a database has come.
type Checked struct {
	Documents, Of uint64 // read, and all
	Indexes       bool   // the documents are checked, and the indexes come
}

// tell counts a document, and now and then reports how many there were.
func (c *checker) tell() {
	if c.progress != nil && c.read%checkedAtOnce == 0 {
		c.progress(c.d.name, Checked{Documents: c.read, Of: c.lane.counts.docs + c.lane.counts.deleted})
	}
	c.read++
}
