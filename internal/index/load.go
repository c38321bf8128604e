package index

import (
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// Load is store.Indexer's.
func (x *Indexes) Load(v kv.Snapshot, ns store.Scope) (store.IndexSet, error) {
	indexes, err := x.loadIndexes(v, ns)
	if err != nil || len(indexes) == 0 {
		return nil, err
	}
	s := &Set{byName: map[nameKey]*Named{}}
	for _, ix := range indexes {
		s.Indexes = append(s.Indexes, ix)
		s.following = s.following || ix.follows() && ns.Tenant() == ""
	}
	slices.SortFunc(s.Indexes, func(a, b *Index) int { return int(a.Number) - int(b.Number) })
	err = eachUse(v, ns, func(design document.ID, us []use) error {
		for _, u := range us {
			if ix := indexes[u.Index]; ix != nil {
				s.Named = append(s.Named, Named{design, u.Name, u.Kind, ix, indexes[u.Previous]})
			}
		}
		return nil
	})
	for i := range s.Named {
		n := &s.Named[i]
		s.byName[nameKey{n.Design, n.Kind, n.Name}] = n
	}
	x.addAppliers(s, ns.Database().Number())
	return s, err
}

func (x *Indexes) addAppliers(s *Set, db uint64) {
	for _, k := range x.kinds {
		kept, ok := k.(Transactional)
		if !ok {
			continue
		}
		var mine []*Index
		for _, ix := range s.Indexes {
			if ix.Kind == k && ix.State != Failed {
				mine = append(mine, ix)
			}
		}
		if len(mine) > 0 {
			s.appliers = append(s.appliers, kept.Applier(db, mine))
		}
	}
}

func (x *Indexes) loadIndexes(v kv.Snapshot, ns store.Scope) (map[uint64]*Index, error) {
	indexes := map[uint64]*Index{}
	err := eachIndex(v, ns, func(n uint64, rec *record) (err error) {
		k := x.kind(rec.Kind)
		if k == nil {
			return nil // of a newer version; its rows are left alone
		}
		ix := &Index{Number: n, Kind: k, Signature: rec.Signature, Partitioned: rec.Partitioned, Tenant: ns.Tenant(),
			State: rec.State, Reason: rec.Reason, Manual: rec.Manual, Source: rec.Source}
		if ix.Opened, err = x.open(k, rec); err != nil {
			ix.State, ix.Reason = Failed, err.Error()
		}
		indexes[ix.Number] = ix
		return nil
	})
	return indexes, err
}
