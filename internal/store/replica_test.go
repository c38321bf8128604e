package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/document"
)

// replicas lists what Replicas shows, a line each.
func (w *world) replicas(s Scope) (lines []string) {
	w.t.Helper()
	err := s.View(ctx, func(r *Reader) error {
		for d, err := range r.Replicas(Span{}) {
			if err != nil {
				return err
			}
			line := fmt.Sprintf("%s unloaded %d", d.ID, d.Tree.Unloaded())
			for i := range d.Leaves {
				l, err := d.Leaf(i)
				if err != nil {
					return err
				}
				line += fmt.Sprintf(" %d %v %s", l.Rev.Gen, l.Deleted, l.Body)
			}
			lines = append(lines, line)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return lines
}

// TestReplicas shows documents with long histories, conflicts, tombstones with
// bodies and superseded bodies beside them, and of partitions that are being dropped
// what their feeds show.
func TestReplicas(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	rev := ""
	for i := range 100 {
		rev = w.put(d, "p:long", rev, fmt.Sprintf(`{"n":%d}`, i))
	}
	w.mustWrite(d, replicated(t, "p:conflict", `{"a":1}`, "2-aa", "1-cc"))
	w.mustWrite(d, replicated(t, "p:conflict", `{"a":2}`, "2-bb", "1-cc"))
	for _, p := range []string{"p", "q", "r"} {
		w.put(d, p+":live", "", `{}`)
		e := edit(t, p+":dead", w.put(d, p+":dead", "", `{}`), `{"why":"no more"}`)
		e.Deleted = true
		w.mustWrite(d, e)
	}
	for p, tombstones := range map[document.Partition]bool{"q": true, "r": false} {
		if err := d.DropPartition(ctx, p, tombstones); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		`p:conflict unloaded 0 2 false {"a":2} 2 false {"a":1}`,
		`p:dead unloaded 0 2 true {"why":"no more"}`,
		`p:live unloaded 0 1 false {}`,
		`p:long unloaded 0 100 false {"n":99}`,
	}
	if diff := cmp.Diff(want, w.replicas(d.Within("p"))); diff != "" {
		t.Errorf("a partition (-want +got):\n%s", diff)
	}
	want = append(want, `q:dead unloaded 0 2 true {"why":"no more"}`)
	if diff := cmp.Diff(want, w.replicas(d.Whole())); diff != "" {
		t.Errorf("while q gets tombstones and r dropped (-want +got):\n%s", diff)
	}
	w.sweep()
	got := w.replicas(d.Whole())
	if diff := cmp.Diff(append(want, `q:live unloaded 0 2 true {}`), got); diff != "" {
		t.Errorf("after it (-want +got):\n%s", diff)
	}
}

// TestReplicatedTombstones tells a tree of ancestors that were tombstones, in
// chunks too, and nothing twice.
func TestReplicatedTombstones(t *testing.T) {
	w := newWorld(t, Options{})
	from, to := w.create("from", false), w.create("to", false)
	parent := document.Rev{}
	for i := range 90 {
		e := document.Edit{ID: "d", Parent: parent, Body: []byte(`{}`), Deleted: i%7 == 3}
		if i%7 == 4 {
			e.Parent = document.Rev{} // over a tombstone
		}
		r := w.write(from, e)
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		parent = r.Rev
	}
	var e document.Edit
	tree := func(d *Database) (text string) {
		if err := d.Whole().View(ctx, func(r *Reader) error {
			for d, err := range r.Replicas(Span{}) {
				if err != nil {
					return err
				}
				text = string(d.Tree.AppendBinary(nil))
				leaf, err := d.Leaf(0)
				if err != nil {
					return err
				}
				e.ID, e.Body = d.ID, leaf.Body
				e.Path, _ = d.Tree.Path(d.Leaves[0].Rev)
				e.Tombstones = d.Tree.InnerTombstones(e.Path)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return strings.Clone(text)
	}
	want := tree(from)
	if len(e.Tombstones) != 13 {
		t.Fatalf("%d tombstones", len(e.Tombstones))
	}
	edit := e
	plain := e
	plain.Tombstones = nil
	w.mustWrite(to, plain) // as other replicas tell it
	if tree(to) == want {
		t.Error("the tree is equal without the tombstones")
	}
	w.mustWrite(to, edit)
	if tree(to) != want {
		t.Error("the trees differ")
	}
	before := w.feed(to.Whole(), 0)
	w.mustWrite(to, edit)
	if diff := cmp.Diff(before, w.feed(to.Whole(), 0)); diff != "" {
		t.Errorf("told once more, the document moved:\n%s", diff)
	}
}
