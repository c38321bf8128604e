package index

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// What a tenant's indexes need besides: nothing follows them in the background,
// of which there may be thousands. They are built when they are defined, and
// brought up to date by the queries that read them.

// mostTenantBuilds is how many indexes of tenants are built by the background, or wait
// for it, at a time. Others are built by the first query that needs them.
const mostTenantBuilds = 64

// definedTenant begins the builds that the indexes of a tenant need. One that is
// interrupted goes on with the first query.
func (x *Indexes) definedTenant(d *store.Database, p document.Partition) {
	x.tasks.Lock()
	ready := x.tasks.started && !x.tasks.closed && !x.o.Idle && x.tasks.tenants < mostTenantBuilds
	x.tasks.Unlock()
	if !ready {
		return
	}
	x.work.Go(func() {
		s, err := x.setOf(x.ctx, d, p)
		if err != nil {
			return // the first query finds the same and can say so
		}
		x.tasks.Lock()
		defer x.tasks.Unlock()
		for _, ix := range s.Indexes {
			if ix.State == Building && !ix.Manual && !x.tasks.closed {
				x.begin(d, ix)
			}
		}
	})
}

// buildTenant builds an index of a tenant. What fails is left to the first query,
// which can say so.
func (x *Indexes) buildTenant(d *store.Database, ix *Index) {
	t := x.task(d, ix)
	defer x.release(t)
	if err := x.attempt(t, built); err != nil && !gone(err) && x.ctx.Err() == nil {
		t.fail(err)
	}
}

// setOf reads the indexes of a tenant.
func (x *Indexes) setOf(ctx context.Context, d *store.Database, p document.Partition) (s *Set, err error) {
	err = d.Whole().View(ctx, func(r *store.Reader) error {
		s, err = OfTenant(r, p)
		return err
	})
	return s, err
}

// withTenants returns the indexes of s and of all tenants.
func (x *Indexes) withTenants(ctx context.Context, d *store.Database, s *Set) ([]*Index, error) {
	all := s.Indexes
	err := d.Whole().View(ctx, func(r *store.Reader) error {
		all = slices.Clip(s.Indexes)
		ps, err := tenants(r.Snapshot(), d.Number())
		for _, p := range ps {
			o, err := OfTenant(r, p)
			if err != nil {
				return err
			}
			all = append(all, o.Indexes...)
		}
		return err
	})
	return all, err
}

// Tenants lists the tenants that have indexes, at a reader's snapshot.
func Tenants(r *store.Reader) ([]document.Partition, error) {
	return tenants(r.Snapshot(), r.Database().Number())
}

// forgetTenants is forgetTenant for all tenants.
func (x *Indexes) forgetTenants(ctx context.Context, d *store.Database) (err error) {
	var ps []document.Partition
	err = d.Whole().View(ctx, func(r *store.Reader) error {
		ps, err = Tenants(r)
		return err
	})
	for _, p := range ps {
		err = errors.Join(err, x.forgetTenant(ctx, d, p))
	}
	return err
}

// forgetTenant forgets the removals that all following indexes of a tenant have
// behind them, unless one is being built. An index that nobody asks for keeps
// what it has not seen; there is a bound to that.
func (x *Indexes) forgetTenant(ctx context.Context, d *store.Database, p document.Partition) error {
	upTo := uint64(0)
	err := d.Tenant(p).View(ctx, func(r *store.Reader) error {
		upTo = 0
		for _, err := range r.Removals(0) {
			if err != nil {
				return err
			}
			upTo = math.MaxUint64
			break
		}
		if upTo == 0 {
			return nil
		}
		s, err := OfTenant(r, p)
		if err != nil {
			return err
		}
		for _, ix := range s.Indexes {
			if ix.State == Building {
				upTo = 0
				return nil
			}
			if _, follows := ix.Kind.(Asynchronous); !follows || ix.State == Failed {
				continue
			}
			at, err := ix.Progress(r.Snapshot(), d.Number())
			if err != nil {
				return err
			}
			upTo = min(upTo, at.Mark.Removals)
		}
		return nil
	})
	if err != nil || upTo == 0 {
		return err
	}
	return d.Tenant(p).SweepRemovals(ctx, upTo)
}

// Renew is store.Indexer's: each following index of a tenant gets a new number and
// is built from nothing under it.
func (x *Indexes) Renew(tx kv.Txn, d *store.Database, p document.Partition) error {
	return x.renewIndexes(tx, d, namespace{d.Number(), p}, func(rec *record) bool {
		_, follows := x.kind(rec.Kind).(Asynchronous)
		return follows
	})
}

// renew moves the definition of index n to a new index, which it returns. All
// names that mean n must be changed.
func (c *change) renew(n uint64) (uint64, error) {
	old, err := c.record(n)
	if err != nil {
		return 0, err
	}
	to, err := c.nextNumber()
	if err != nil {
		return 0, err
	}
	fresh := *old
	fresh.State, fresh.Reason = Building, ""
	if err := c.drop(n, old); err != nil {
		return 0, err
	}
	delete(c.records, n)
	c.records[to] = &fresh
	return to, c.begin(to, fresh.Signature)
}

// tenants lists the tenants that have indexes.
func tenants(v kv.Snapshot, db uint64) (ps []document.Partition, err error) {
	r := kv.Prefix(keyspace.TenantIndex.Key(db))
	for bytes.Compare(r.Start, r.End) < 0 {
		it, err := v.Iterate(r, kv.IterOptions{})
		if err != nil {
			return nil, err
		}
		if !it.Next() {
			err := it.Err()
			it.Close()
			return ps, err
		}
		_, parts, err := keyspace.TenantIndex.Decode(it.Key())
		it.Close()
		if err != nil {
			return nil, err
		}
		ps = append(ps, document.Partition(parts[0].String()))
		r.Start = kv.PrefixEnd(keyspace.TenantIndex.Key(db, parts[0]))
	}
	return ps, nil
}
