package store

import (
	"crypto/md5"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// numbered returns the n-th of a row of revisions of a generation whose hashes are
// in no order.
func numbered(gen uint32, n int) document.Rev {
	h := md5.Sum(fmt.Appendf(nil, "%d-%d", gen, n))
	return document.Rev{Gen: gen, Hash: string(h[:])}
}

// conflictShapes are requests that give one document many leaves, or change many.
var conflictShapes = map[string]struct{ before, request func(i int) document.Edit }{
	"roots": {request: func(i int) document.Edit {
		return document.Edit{Path: []document.Rev{numbered(1, i)}}
	}},
	"children of one": {request: func(i int) document.Edit {
		return document.Edit{Path: []document.Rev{numbered(2, i), numbered(1, 0)}}
	}},
	"branches": {request: func(i int) document.Edit {
		return document.Edit{Path: []document.Rev{numbered(4, i), numbered(3, i), numbered(2, i%7), numbered(1, 0)}}
	}},
	"tombstones over the leaves": {
		before: func(i int) document.Edit { return document.Edit{Path: []document.Rev{numbered(1, i)}} },
		request: func(i int) document.Edit {
			return document.Edit{Path: []document.Rev{numbered(2, i), numbered(1, i)}, Deleted: true}
		},
	},
	"edits of the leaves": {
		before:  func(i int) document.Edit { return document.Edit{Path: []document.Rev{numbered(1, i)}} },
		request: func(i int) document.Edit { return document.Edit{Parent: numbered(1, i), Deleted: i%2 == 0} },
	},
	"branches longer than are kept": {request: func(i int) document.Edit {
		e := document.Edit{}
		for gen := uint32(60); gen > 0; gen-- {
			e.Path = append(e.Path, numbered(gen, i))
		}
		return e
	}},
	"of very different generations": {request: func(i int) document.Edit {
		return document.Edit{Path: []document.Rev{numbered(uint32(1+i*37%5000), i)}}
	}},
}

// TestConflictsCostTheSame writes many conflicts of one document in one request:
// four times as many must not cost much more than four times as much, for the
// other writers of the database wait meanwhile.
func TestConflictsCostTheSame(t *testing.T) {
	testrun.Sequential(t)
	for name, shape := range conflictShapes {
		t.Run(name, func(t *testing.T) {
			few, many := conflictBytes(t, shape.before, shape.request, 500), conflictBytes(t, shape.before, shape.request, 2000)
			t.Logf("500 allocate %d KB, 2000 %d KB: %.1f times as much", few>>10, many>>10, float64(many)/float64(few))
			if many > 6*few {
				t.Errorf("2000 conflicts allocate %.1f times as much as 500", float64(many)/float64(few))
			}
		})
	}
}

// conflictBytes reports how much memory is allocated for a request of n edits of one
// document.
func conflictBytes(t *testing.T, before, request func(i int) document.Edit, n int) uint64 {
	e := kvtest.NewModel(kvtest.ModelOptions{Limits: kv.Limits{Key: 8 << 10, Value: 4 << 20, Txn: 64 << 20, Age: 1 << 40}})
	w := openWorld(t, e, Options{})
	defer w.closeAll()
	d := w.create("db", true)
	edits := func(make func(i int) document.Edit) (edits []document.Edit) {
		for i := range n {
			e := make(i)
			e.ID, e.Body = "p:many", []byte(`{"a":1}`)
			edits = append(edits, e)
		}
		return edits
	}
	if before != nil {
		w.mustWriteAll(d, edits(before))
	}
	all := edits(request)
	var from, to runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&from)
	w.mustWriteAll(d, all)
	runtime.ReadMemStats(&to)
	w.check()
	return to.TotalAlloc - from.TotalAlloc
}

// mustWriteAll writes edits in one request.
func (w *world) mustWriteAll(d *Database, edits []document.Edit) []Result {
	w.t.Helper()
	rs, err := d.Whole().Write(ctx, edits, WriteOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range rs {
		if r.Err != nil {
			w.t.Fatalf("%s %s: %v", r.ID, r.Rev, r.Err)
		}
	}
	return rs
}

// TestMaxConflicts writes random revisions of a document that may have four
// leaves, those of histories of old and new, and wants more of them refused, and
// nothing that adds no leaf.
func TestMaxConflicts(t *testing.T) {
	const most = 3
	for seed := range uint64(20) {
		w, _ := newModelWorld(t, Options{MaxConflicts: func() int { return most }})
		d := w.create("db", true)
		r := rand.New(rand.NewPCG(seed, 1))
		var edits []document.Edit
		for range 60 {
			gen, branch := 1+r.IntN(40), r.IntN(12)
			e := document.Edit{ID: "p:d", Deleted: r.IntN(4) == 0, Body: []byte("{}")}
			for g := gen; g > 0 && len(e.Path) < 1+r.IntN(40); g-- {
				e.Path = append(e.Path, numbered(uint32(g), min(branch, g/3)))
			}
			edits = append(edits, e)
		}
		refusals := 0
		for n := 0; n < len(edits); {
			before := leafSet(t, d, "p:d")
			take := min(1+r.IntN(10), len(edits)-n)
			rs, err := d.Whole().Write(ctx, edits[n:n+take], WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for i, res := range rs {
				switch e := edits[n+i]; {
				case res.Err == nil:
				case !dberr.Is(res.Err, dberr.TooLarge):
					t.Fatal(res.Err)
				case before[e.Path[0]]:
					t.Fatalf("a leaf that is there is refused: %v", res.Err)
				default:
					refusals++
				}
			}
			if leaves := leafSet(t, d, "p:d"); len(leaves) > most+1 {
				t.Fatalf("%d leaves", len(leaves))
			}
			n += take
		}
		if refusals == 0 {
			t.Errorf("seed %d: nothing was refused", seed)
		}
	}
}

// leafSet returns a document's leaves, none if it is not there.
func leafSet(t *testing.T, d *Database, id document.ID) map[document.Rev]bool {
	t.Helper()
	leaves := map[document.Rev]bool{}
	err := d.Whole().View(ctx, func(r *Reader) error {
		doc, err := r.Doc(id)
		if err == nil {
			for _, l := range doc.Tree.Leaves() {
				leaves[l.Rev] = true
			}
		}
		return err
	})
	if err != nil && !dberr.Is(err, dberr.NotFound) {
		t.Fatal(err)
	}
	return leaves
}

// TestManyConflictsShortenBranches returns a document many long branches: together
// they stay within the bound, and each keeps what a replica needs.
func TestManyConflictsShortenBranches(t *testing.T) {
	testrun.Sequential(t)
	w := newWorld(t, Options{})
	d := w.create("db", true)
	for _, leaves := range []int{30, 60, 200} {
		var edits []document.Edit
		for i := range leaves {
			e := document.Edit{ID: "p:d", Body: []byte("{}")}
			for gen := uint32(990); gen > 0; gen-- {
				e.Path = append(e.Path, numbered(gen, i))
			}
			edits = append(edits, e)
		}
		w.mustWriteAll(d, edits)
		err := d.Whole().View(ctx, func(r *Reader) error {
			doc, err := r.Doc("p:d")
			if err != nil {
				return err
			}
			revisions := 0
			for _, l := range doc.Tree.Leaves() {
				path, _ := doc.Tree.Path(l.Rev)
				revisions += len(path)
				if len(path) < shortestBranch {
					t.Errorf("of %d branches one has %d revisions", leaves, len(path))
				}
			}
			if revisions > treeRevisions || leaves == 30 && revisions != 30*990 {
				t.Errorf("%d branches have %d revisions", leaves, revisions)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestHeadsStaySmall returns a document as many conflicts as it may have: its head
// and its entries in the feeds stay small, everything about it is read as before,
// and nothing is left when it goes.
func TestHeadsStaySmall(t *testing.T) {
	testrun.Sequential(t)
	w, _ := newModelWorld(t, Options{}) // values of 128 KB at most
	d := w.create("db", true)
	var edits []document.Edit
	for i := range defaultConflicts {
		edits = append(edits, document.Edit{ID: "p:d", Path: []document.Rev{numbered(2, i), numbered(1, 0)}, Body: []byte(`{}`)})
	}
	w.put(d, "p:c", "", `{}`)
	w.mustWriteAll(d, edits)
	w.put(d, "p:e", "", `{}`)
	check := func(leaves int) {
		t.Helper()
		w.check()
		seen := 0
		err := w.engine.View(ctx, func(v kv.Snapshot) error {
			return kv.Each(v, databaseRange(d), func(key, value []byte) error {
				if len(value) > 64<<10 {
					t.Errorf("the row %s has %d bytes", showKey(key, value), len(value))
				}
				return nil
			})
		})
		for _, sc := range []Scope{d.Whole(), d.Within("p")} {
			err = errors.Join(err, sc.View(ctx, func(r *Reader) error {
				for c, err := range r.Changes(0, false) {
					if err != nil {
						return err
					}
					if c.ID == "p:d" {
						seen++
						if len(c.Leaves) != leaves {
							t.Errorf("the feed shows %d leaves of %d", len(c.Leaves), leaves)
						}
					}
				}
				doc, err := r.Doc("p:d")
				if err == nil && len(doc.Tree.Leaves()) != leaves {
					t.Errorf("the document has %d leaves of %d", len(doc.Tree.Leaves()), leaves)
				}
				return err
			}))
		}
		if err != nil || seen != 2 {
			t.Fatal(seen, err)
		}
	}
	check(defaultConflicts)
	w.mustWriteAll(d, []document.Edit{{ID: "p:d", Path: []document.Rev{numbered(2, defaultConflicts), numbered(1, 0)}, Body: []byte(`{}`)}})
	check(defaultConflicts + 1)
	var purged []document.Rev
	for i := range defaultConflicts - 10 {
		purged = append(purged, numbered(2, i))
	}
	for some := range slices.Chunk(purged, 1000) {
		if _, err := d.Purge(ctx, []Purging{{ID: "p:d", Revs: some}}); err != nil {
			t.Fatal(err)
		}
	}
	check(11)
	if err := d.DropPartition(ctx, "p", false); err != nil {
		t.Fatal(err)
	}
	w.sweep()
	w.check()
}
