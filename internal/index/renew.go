package index

import (
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// Renew is store.Indexer's: each following index of a namespace gets a new number and
// is built from nothing under it.
func (x *Indexes) Renew(tx kv.Txn, ns store.Scope, indexes store.IndexSet) error {
	set, _ := indexes.(*Set)
	return x.renewIndexes(tx, ns, set, func(_ uint64, rec *record) bool {
		_, follows := x.kind(rec.Kind).(Asynchronous)
		return follows
	})
}

// renewIn is renewIndexes in line with the writers of the database.
func (x *Indexes) renewIn(m store.LaneTxn, ns store.Scope, meant func(uint64, *record) bool) error {
	set, err := setOf(m, ns)
	if err != nil {
		return err
	}
	if err := m.Redefine(ns); err != nil {
		return err
	}
	return x.renewIndexes(m.Tx(), ns, set, meant)
}

// renewIndexes gives those indexes of a namespace that are meant a new number, under which each is
// built from nothing. set are those that it has: their rows are read by name, since
// others wait for the transaction.
func (x *Indexes) renewIndexes(tx kv.Txn, ns store.Scope, set *Set, meant func(uint64, *record) bool) error {
	if set == nil {
		return nil
	}
	c := change{x: x, tx: tx, ns: ns, records: map[uint64]*record{}}
	renewed := map[uint64]uint64{}
	for _, ix := range set.Indexes {
		rec, err := c.record(ix.Number)
		if err != nil {
			return err
		}
		if meant(ix.Number, rec) {
			renewed[ix.Number] = 0
		} else {
			delete(c.records, ix.Number) // it does not change
		}
	}
	designs := set.designs(func(n *Named) bool {
		_, index := renewed[n.Index.Number]
		if n.Previous != nil && !index {
			_, index = renewed[n.Previous.Number]
		}
		return index
	})
	for n := range renewed {
		to, err := c.renew(n)
		if err != nil {
			return err
		}
		renewed[n] = to
	}
	return c.rename(designs, renewed)
}

// rename has the names in design documents mean the indexes that came in the place of
// others.
func (c *change) rename(designs []document.ID, renewed map[uint64]uint64) error {
	for _, design := range designs {
		us, err := c.uses(design)
		if err != nil {
			return err
		}
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
