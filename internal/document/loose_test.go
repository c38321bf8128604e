package document

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLooseTree makes many changes to trees without ever writing them, and holds
// them against the model after each.
func TestLooseTree(t *testing.T) {
	loose := 0
	for seed := range uint64(8) {
		h := newHistory(seed, 300)
		tree, m := Tree{}, model{}
		limit := []int{1, 3, 20, 1000}[h.rng.IntN(4)]
		for range 150 {
			switch k := h.rng.IntN(10); {
			case k < 6:
				n := h.nodes[h.rng.IntN(len(h.nodes))]
				path := h.path(n) // of any length
				tree.Merge(path, n.Node)
				m.merge(path, n.Node)
			case k < 8 && len(m.leaves()) > 0:
				leaves := m.leaves()
				n := h.grow(leaves[h.rng.IntN(len(leaves))])
				tree.Add(n.parent, n.Node)
				m.merge([]Rev{n.Rev, n.parent}, n.Node)
			case k == 8 && len(m.leaves()) > 0:
				leaves := m.leaves()
				victim := []Rev{leaves[h.rng.IntN(len(leaves))]}
				tree.Purge(victim)
				m.purge(victim)
			}
			if h.rng.IntN(3) == 0 {
				tree.Stem(limit)
				m.stem(limit)
			}
			if !tree.ordered() {
				loose++
			}
			compareLoose(t, &tree, m)
		}
	}
	if loose < 100 {
		t.Errorf("only %d of the trees were out of order", loose)
	}
}

func compareLoose(t *testing.T, tree *Tree, m model) {
	t.Helper()
	if diff := cmp.Diff(m.String(), modelOf(tree).String()); diff != "" {
		t.Fatal(diff)
	}
	var want Sums
	for r, n := range m {
		if _, leaf, ok := tree.Node(r); !ok {
			t.Fatalf("%v is not found", r)
		} else if leaf {
			want.add(&node{deleted: n.Deleted, external: n.External, active: n.Active})
		}
	}
	if got := tree.Sums(); got != want {
		t.Fatalf("the leaves add up to %+v, not %+v", got, want)
	}
	if leaves := m.leaves(); len(leaves) > 0 && tree.Winner().Rev != leaves[0] {
		t.Fatalf("the winner is %v, not %v", tree.Winner().Rev, leaves[0])
	}
	c := tree.Clone()
	var again Tree
	for r, n := range m {
		if _, leaf, _ := tree.Node(r); leaf {
			again.Merge(m.path(r), n.Node)
		}
	}
	for r, n := range m { // inner tombstones
		if _, leaf, _ := tree.Node(r); !leaf && n.Deleted {
			again.NoteTombstones([]Rev{r})
		}
	}
	if string(c.AppendBinary(nil)) != string(again.AppendBinary(nil)) {
		t.Fatal("a loose tree has other bytes than one that was built at once")
	}
}
