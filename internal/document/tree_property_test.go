package document

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type replicated struct {
	path []Rev
	n    Node
}

// TestMergeInAnyOrder merges the same paths in many orders, straight and
// through head and chunks, and wants equal trees and equal bytes.
func TestMergeInAnyOrder(t *testing.T) {
	for seed := range uint64(40) {
		h := newHistory(seed, 1+int(seed*7%250))
		var all []replicated
		want := model{}
		for range 1 + h.rng.IntN(40) {
			n := h.nodes[h.rng.IntN(len(h.nodes))]
			all = append(all, replicated{h.path(n), n.Node})
			want.merge(all[len(all)-1].path, n.Node)
		}
		var first string
		for range 4 {
			h.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			var tree Tree
			s := newShelf(t)
			for _, r := range all {
				if direct, shelved := tree.Merge(r.path, r.n), s.merge(r.path, r.n); direct != shelved {
					t.Fatalf("seed %d: outcome %d, through chunks %d", seed, direct, shelved)
				}
			}
			for _, r := range all {
				if o := tree.Merge(r.path, r.n); o != Known {
					t.Fatalf("seed %d: merging again has outcome %d", seed, o)
				}
			}
			if diff := cmp.Diff(want.String(), modelOf(&tree).String()); diff != "" {
				t.Fatalf("seed %d: %s", seed, diff)
			}
			if diff := cmp.Diff(want.String(), modelOf(s.whole()).String()); diff != "" {
				t.Fatalf("seed %d, through chunks: %s", seed, diff)
			}
			if got := s.canonical(); first == "" {
				first = got
			} else if got != first {
				t.Fatalf("seed %d: equal trees have different bytes", seed)
			}
		}
	}
}

// TestTreeAgainstModel runs random operations on a shelved tree and on a model,
// and compares them after each.
func TestTreeAgainstModel(t *testing.T) {
	for seed := range uint64(32) {
		r := modelRun{t: t, h: newHistory(seed, 1+int(seed)*4), s: newShelf(t), m: model{}}
		r.limit = []int{1, 2, 5, 20, 33, 50, 100, 1000}[r.h.rng.IntN(8)]
		for range 40 {
			r.step()
			r.check()
		}
	}
}

type modelRun struct {
	t     *testing.T
	h     *history
	s     *shelf
	m     model
	limit int
}

func (r *modelRun) step() {
	switch k := r.h.rng.IntN(20); {
	case k == 0:
		r.purge()
	case k < 4:
		n := r.h.nodes[r.h.rng.IntN(len(r.h.nodes))]
		path := r.h.path(n)
		r.s.merge(path, n.Node)
		r.m.merge(path, n.Node)
	default:
		for range 1 + r.h.rng.IntN(10) {
			r.edit()
		}
	}
	if r.h.rng.IntN(3) > 0 {
		r.stem()
	}
}

// edit writes over a leaf, or anew.
func (r *modelRun) edit() {
	want := Rev{}
	leaves := r.m.leaves()
	if len(leaves) > 0 && !r.m[leaves[0]].Deleted {
		want = leaves[r.h.rng.IntN(min(2, len(leaves)))]
	}
	tree := r.s.open()
	parent, err := tree.Parent(want, false)
	if err != nil {
		r.t.Fatal(err)
	}
	n := r.h.grow(parent)
	tree.Add(parent, n.Node)
	r.s.save(tree)
	path := []Rev{n.Rev}
	if !parent.IsZero() {
		path = append(path, parent)
	}
	r.m.merge(path, n.Node)
}

func (r *modelRun) stem() {
	tree := r.s.open()
	before := len(tree.nodes) + tree.Unloaded()
	unloaded := tree.Unloaded()
	gone := tree.Stem(r.limit)
	if left := before - len(tree.nodes) - tree.Unloaded(); left-len(gone) < 0 || left-len(gone) > unloaded {
		r.t.Fatalf("%d revisions left the tree, %d are named, %d were unloaded", left, len(gone), unloaded)
	}
	if !slices.IsSortedFunc(gone, Rev.Compare) {
		r.t.Fatal("stemmed revisions are not in order")
	}
	for _, g := range gone {
		if _, _, ok := tree.Node(g); ok {
			r.t.Fatalf("%v is gone and there", g)
		}
	}
	r.s.save(tree)
	r.m.stem(r.limit)
}

func (r *modelRun) purge() {
	leaves := r.m.leaves()
	if len(leaves) == 0 {
		return
	}
	victim := leaves[r.h.rng.IntN(len(leaves))]
	revs := append(r.m.path(victim), victim, Rev{Gen: 9, Hash: "unknown"})
	tree := r.s.open()
	if diff := cmp.Diff([]Rev{victim}, tree.Purge(revs)); diff != "" {
		r.t.Fatal(diff)
	}
	r.s.save(tree)
	r.m.purge(revs)
}

func (r *modelRun) check() {
	head := r.s.open()
	tree := r.s.whole()
	if diff := cmp.Diff(r.m.String(), modelOf(tree).String()); diff != "" {
		r.t.Fatal(diff)
	}
	var leaves []Rev
	for _, n := range head.Leaves() {
		leaves = append(leaves, n.Rev)
	}
	if diff := cmp.Diff(r.m.leaves(), leaves); diff != "" {
		r.t.Fatal(diff)
	}
	if len(leaves) > 0 && head.Winner() != head.Leaves()[0] {
		r.t.Fatal("the winner is not the first leaf")
	}
	for _, l := range leaves {
		whole, complete := tree.Path(l)
		if diff := cmp.Diff(r.m.path(l), whole); diff != "" || !complete {
			r.t.Fatal(complete, diff)
		}
		part, complete := head.Path(l)
		if len(part)+head.Unloaded() < len(whole) || complete != (len(part) == len(whole)) {
			r.t.Fatalf("%d of %d ancestors loaded, complete %v", len(part), len(whole), complete)
		}
	}
	if trunk := head.trunk(); len(leaves) == 1 && len(head.nodes) == trunk && trunk >= chunkMargin+chunkSize {
		r.t.Fatalf("%d revisions of a straight history stayed in the head", trunk)
	}
	if got := r.rebuilt(); got != r.s.canonical() {
		r.t.Fatal("a tree built at once has other bytes")
	}
	if tree.Spill(); !bytes.Equal(tree.AppendBinary(nil), r.s.head) {
		r.t.Fatal("the head changes by loading and spilling")
	}
}

// rebuilt returns the bytes of an equal tree that was merged from its leaves.
func (r *modelRun) rebuilt() string {
	s := newShelf(r.t)
	var tree Tree
	for _, n := range r.m {
		tree.Merge(r.m.path(n.Rev), n.Node)
	}
	s.save(&tree)
	return s.canonical()
}
