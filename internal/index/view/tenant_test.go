package view

import (
	"fmt"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// tenants makes two tenants with a view each and some documents.
func tenants(t *testing.T, documents int) *world {
	w := newWorld(t, &Kind{functions: goFunctions{}}, true)
	for _, p := range []string{"alice", "bob"} {
		w.put(p+":_design/d", `{"views":{"v":{"map":"function(doc){ emit(doc.n); }"}}}`)
		for first := 0; first < documents; first += 500 {
			var pairs []string
			for n := first; n < min(first+500, documents); n++ {
				pairs = append(pairs, fmt.Sprintf("%s:%d", p, n), fmt.Sprintf(`{"n":%d}`, n))
			}
			w.put(pairs...)
		}
	}
	w.follow()
	return w
}

// purge purges a tenant's documents from first up to last.
func (w *world) purge(p document.Partition, first, last int) {
	w.Helper()
	var ps []store.Purging
	must(w, w.db.Tenant(p).View(ctx, func(r *store.Reader) error {
		for n := first; n < last; n++ {
			doc, err := r.Doc(document.ID(fmt.Sprint(n)))
			if err != nil {
				return err
			}
			ps = append(ps, store.Purging{ID: r.Stored(doc.ID), Revs: []document.Rev{doc.Tree.Winner().Rev}})
		}
		return nil
	}))
	_, err := w.db.Purge(ctx, ps)
	must(w, err)
}

// tenantsView returns a tenant's index, how many rows it has, and how many removals
// are noted for the tenant.
func (w *world) tenantsView(p document.Partition) (x *index.Index, rows, removals int) {
	w.Helper()
	must(w, w.db.Tenant(p).View(ctx, func(r *store.Reader) error {
		s, err := index.Of(r)
		if err != nil {
			return err
		}
		x = s.Lookup("_design/d", KindName, "v").Index
		for _, err := range r.Removals(0) {
			if err != nil {
				return err
			}
			removals++
		}
		return kv.Each(r.Snapshot(), kv.Prefix(x.Kind.Prefixes(w.db.Number(), x.Number)[0]), func(_, _ []byte) error {
			rows++
			return nil
		})
	}))
	return x, rows, removals
}

// TestTenantsViewsLearnOfRemovals purges documents of tenants: their views go on
// where they were, read what was removed of their own partition alone, and forget
// it.
func TestTenantsViewsLearnOfRemovals(t *testing.T) {
	w := tenants(t, 20)
	before, _, _ := w.tenantsView("alice")
	w.purge("alice", 3, 8)
	w.purge("bob", 0, 2)
	w.put("alice:3", `{"n":3}`) // one is back
	if _, _, n := w.tenantsView("alice"); n != 5 {
		t.Errorf("%d removals are noted for alice, want 5", n)
	}
	var upTo store.Sequences
	must(t, w.db.Tenant("alice").View(ctx, func(r *store.Reader) (err error) {
		upTo, err = r.Sequences()
		return err
	}))
	must(t, w.indexes.CatchUp(ctx, w.db, before, upTo))
	if x, rows, n := w.tenantsView("alice"); x.Number != before.Number || rows != 16 || n != 0 {
		t.Errorf("alice has index %d with %d rows, was %d, and %d removals", x.Number, rows, before.Number, n)
	}
	if _, rows, n := w.tenantsView("bob"); rows != 20 || n != 2 {
		t.Errorf("bob, who has not asked, has %d rows and %d removals", rows, n)
	}
	w.follow()
	if _, rows, n := w.tenantsView("bob"); rows != 18 || n != 0 {
		t.Errorf("bob has %d rows and %d removals", rows, n)
	}
	must(t, w.store.Check(ctx))
}

// TestManyRemovals purges more of a tenant's documents than are noted for a view
// that nobody asks: it begins anew.
func TestManyRemovals(t *testing.T) {
	w := tenants(t, 2500)
	before, _, _ := w.tenantsView("alice")
	for first := 0; first < 2400; first += 600 {
		w.purge("alice", first, first+600)
		if _, _, n := w.tenantsView("alice"); n > 1000 {
			t.Errorf("%d removals are noted", n)
		}
	}
	if x, _, _ := w.tenantsView("alice"); x.Number == before.Number {
		t.Error("alice's view does not begin anew")
	}
	if x, _, n := w.tenantsView("bob"); x.Number != before.Number+1 || n != 0 {
		t.Errorf("bob has index %d and %d removals", x.Number, n)
	}
	w.follow()
	if _, rows, n := w.tenantsView("alice"); rows != 100 || n != 0 {
		t.Errorf("alice has %d rows and %d removals", rows, n)
	}
	must(t, w.store.Check(ctx))
}
