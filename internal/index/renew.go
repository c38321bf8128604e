package index

import (
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// Renew is store.Indexer's: each following index of a namespace gets a new number and
// is built from nothing under it.
func (x *Indexes) Renew(tx kv.Txn, ns store.Scope) error {
	return x.renewIndexes(tx, ns, func(_ uint64, rec *record) bool {
		_, follows := x.kind(rec.Kind).(Asynchronous)
		return follows
	})
}

// renewIndexes returns the indexes of a namespace that are meant a new number, under which each is
// built from nothing.
func (x *Indexes) renewIndexes(tx kv.Txn, ns store.Scope, meant func(uint64, *record) bool) error {
	c := change{x: x, tx: tx, ns: ns, records: map[uint64]*record{}}
	renewed := map[uint64]uint64{}
	err := eachIndex(tx, ns, func(n uint64, rec *record) error {
		if meant(n, rec) {
			renewed[n] = 0
		}
		return nil
	})
	if err != nil {
		return err
	}
	names := map[document.ID][]use{}
	if err := eachUse(tx, ns, func(design document.ID, us []use) error { names[design] = us; return nil }); err != nil {
		return err
	}
	for n := range renewed {
		if renewed[n], err = c.renew(n); err != nil {
			return err
		}
	}
	for design, us := range names {
		for i := range us {
			for _, at := range []*uint64{&us[i].Index, &us[i].Previous} {
				if to, ok := renewed[*at]; ok {
					*at = to
				}
			}
		}
		if err := c.save(design, us); err != nil {
			return err
		}
	}
	return nil
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
	return to, c.begin(to, &fresh)
}
