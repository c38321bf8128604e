package field

import (
	"bytes"
	"context"
	"slices"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

// Applier is index.Transactional's.
func (Kind) Applier(db uint64, indexes []*index.Index) index.Applier {
	k := &applier{db: db, wanted: newWanted()}
	for _, x := range indexes {
		k.indexes = append(k.indexes, newExtractor(x, k.wanted))
	}
	return k
}

// applier keeps all field indexes of a database: a document is read once for all
// of them.
type applier struct {
	db      uint64
	wanted  *wanted
	indexes []extractor
}

// manyConditions is beyond how many conditions a filter is slow.
const manyConditions = 20

// slow reports whether to hold a document against the filter may take long, so that
// no commit should have to wait for it. What looks at the revision's number can't
// be worked out before that is known.
func (e *extractor) slow() bool {
	if e.Partial == nil || e.Partial.Uses("_rev") {
		return false
	}
	for _, op := range []selector.Op{selector.Regex, selector.GeoWithin, selector.GeoIntersects} {
		if e.Partial.Has(op) {
			return true
		}
	}
	return e.Partial.Conditions() > manyConditions
}

// Slow is index.Applier's.
func (k *applier) Slow() bool {
	return slices.ContainsFunc(k.indexes, func(e extractor) bool { return e.slow() })
}

// Derive is index.Applier's: it reports for each index with a slow filter whether the
// document passes it.
func (k *applier) Derive(ctx context.Context, rev *store.Revision) (any, error) {
	vs, _ := k.wanted.take(nil, nil, rev)
	passed := make([]bool, len(k.indexes))
	for i := range k.indexes {
		e := &k.indexes[i]
		if !e.slow() {
			continue
		}
		var err error
		if passed[i], err = e.holds(ctx, rev, vs); err != nil {
			return nil, err
		}
	}
	return passed, nil
}

// Apply is index.Applier's. Rows that stay as they are are not written, but those
// of an index with a slow filter: whether the document passed it before would have
// to be worked out; and those of one that is being built: it leaves out what was
// written meanwhile.
func (k *applier) Apply(tx kv.Txn, before, after *store.Revision, derived any) error {
	var old, new, tops values
	if before != nil {
		old, tops = k.wanted.take(nil, tops, before)
	}
	if after != nil {
		new, _ = k.wanted.take(nil, tops, after)
	}
	passed, _ := derived.([]bool) // nil if nobody has found out
	for i := range k.indexes {
		e := &k.indexes[i]
		slow := e.slow()
		c := rowChange{was: before != nil && e.has(old), maybe: slow || e.building}
		var err error
		if c.was && !c.maybe {
			c.was, err = e.passes(context.Background(), before)
		}
		if passed != nil && slow {
			c.is = passed[i]
		} else if err == nil {
			c.is, err = e.holds(context.Background(), after, new)
		}
		if err != nil {
			return err
		}
		if c.was && c.is && !c.maybe && e.same(old, new) {
			continue
		}
		if err := k.change(tx, e, c, before, after, old, new); err != nil {
			return err
		}
	}
	return nil
}

// rowChange says what becomes of a document in an index.
type rowChange struct {
	was, is bool // in the index
	maybe   bool // it is not sure that its rows were there
}

// change replaces a document's rows in one index.
func (k *applier) change(tx kv.Txn, e *extractor, c rowChange, before, after *store.Revision, old, new values) (err error) {
	var gone, come []index.Row
	if c.was {
		if gone, err = e.rows(nil, k.db, before.ID, old); err != nil {
			return err
		}
	}
	if c.is {
		if come, err = e.rows(nil, k.db, after.ID, new); err != nil {
			return err
		}
	}
	for _, r := range gone {
		if !slices.ContainsFunc(come, func(x index.Row) bool { return bytes.Equal(x.Key, r.Key) }) {
			if err := tx.Delete(r.Key); err != nil {
				return err
			}
		}
	}
	for _, r := range come {
		i := slices.IndexFunc(gone, func(g index.Row) bool { return bytes.Equal(g.Key, r.Key) })
		if i >= 0 && !c.maybe && bytes.Equal(gone[i].Value, r.Value) {
			continue
		}
		if err := tx.Put(r.Key, r.Value); err != nil {
			return err
		}
	}
	return nil
}
