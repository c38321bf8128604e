package store

import (
	"context"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/kv"
)

// Lease is something that a server holds (Hold), or has left words about.
type Lease struct {
	Subject string
	Words   string
	Until   time.Time // how long it is held without a further sign of life
	Lives   bool      // it is held now
	Mine    bool      // by this server
}

// SingleServer reports whether the server has the store for itself.
func (s *Store) SingleServer() bool { return s.o.Lease == 0 }

// Lease returns what the servers of the store hold, or have left words about, of a kind, at a
// snapshot: all of it, or what has the subject unless that is "". There is nothing where the
// server has the store for itself.
func (s *Store) Leases(ctx context.Context, kind, subject string) (all []Lease, err error) {
	if s.SingleServer() {
		return nil, nil
	}
	take := func(j jobs.Job) error {
		holder, until := j.Holder()
		all = append(all, Lease{j.Subject, j.Checkpoint, until, until.After(s.o.Clock()), holder == s.o.Holder})
		return nil
	}
	err = s.engine.View(ctx, func(v kv.Snapshot) error {
		all = nil
		if subject == "" {
			return jobs.Each(v, kind, take)
		}
		j, err := jobs.Get(v, jobs.ID{Kind: kind, Subject: subject})
		if errors.Is(err, jobs.ErrGone) {
			return nil
		}
		if err == nil {
			err = take(j)
		}
		return err
	})
	return all, dberr.Wrap("store.Held", err)
}

// DropLease takes away the words about what nobody holds.
func (s *Store) DropLease(ctx context.Context, kind, subject string) error {
	return s.jobs.Delete(ctx, jobs.ID{Kind: kind, Subject: subject})
}
