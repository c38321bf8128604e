package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// TestTenantIsADatabase makes the same random edits in an ordinary database and in a
// partition as its tenant sees it, while others write beside it: every answer, every
// revision, every tree and every walk must be the same.
func TestTenantIsADatabase(t *testing.T) {
	testrun.Sequential(t)
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, Options{})
			random := rand.New(rand.NewPCG(seed, 1))
			shared := w.create("shared", true)
			twins := [2]Scope{w.create("plain", false).Whole(), shared.Tenant("p")}
			for range 150 {
				edits := randomEdits(random, twins[0])
				atomic := random.IntN(4) == 0 && !slices.ContainsFunc(edits, func(e document.Edit) bool { return e.Path != nil })
				var answers [2]string
				for i, s := range twins {
					rs, err := s.Write(ctx, edits, WriteOptions{Atomic: atomic})
					for n := range rs {
						rs[n].Seq = 0 // others write between those of the tenant
					}
					answers[i] = fmt.Sprint(rs, err)
				}
				if answers[0] != answers[1] {
					t.Fatalf("plain %s\n tenant %s", answers[0], answers[1])
				}
				w.mustWrite(shared, document.Edit{ID: document.ID(fmt.Sprintf("%s:%d", []string{"o", "p0", "pp", "q"}[random.IntN(4)], random.Int64()))})
				local := document.ID(fmt.Sprintf("_local/%d", random.IntN(5)))
				for _, s := range append(twins[:], shared.Within("p"))[:2+random.IntN(2)] {
					if _, err := s.PutLocal(ctx, local, 3, []byte(`{"door":"`+s.Partition()+`"}`)); err != nil {
						t.Fatal(err)
					}
				}
			}
			spans := []Span{{}, {Descending: true}}
			for range 20 {
				ids := []string{string(ownIDs[random.IntN(len(ownIDs))]), string(ownIDs[random.IntN(len(ownIDs))])}
				slices.Sort(ids)
				spans = append(spans, Span{From: ids[0], To: ids[1], Before: random.IntN(2) == 0, Descending: random.IntN(2) == 0})
			}
			if diff := cmp.Diff(describe(t, twins[0], spans), describe(t, twins[1], spans)); diff != "" {
				t.Error("plain and tenant:", diff)
			}
			w.check()
		})
	}
}

// ownIDs are ids in the two. Some look like those of partitions.
var ownIDs = []document.ID{"a", "b", "p", "p:", "p:a", "q:b", "workout:1", "_design/x", "p:_design/x", "_local/x", "~", "\u00e9"}

// randomEdits makes edits, many of them over leaves that are there.
func randomEdits(random *rand.Rand, s Scope) (edits []document.Edit) {
	for range 1 + random.IntN(3) {
		e := document.Edit{ID: ownIDs[random.IntN(len(ownIDs)-3)], Deleted: random.IntN(6) == 0, Body: fmt.Appendf(nil, `{"n":%d}`, random.IntN(4))}
		if random.IntN(20) == 0 {
			e.ID = ownIDs[random.IntN(len(ownIDs))]
		}
		var leaves []document.Rev
		_ = s.View(ctx, func(r *Reader) error {
			d, err := r.Doc(e.ID)
			if err == nil {
				leaves = leavesOf(d)
			}
			return err
		})
		if len(leaves) > 0 && random.IntN(8) > 0 {
			e.Parent = leaves[random.IntN(len(leaves))]
		}
		switch random.IntN(5) {
		case 0:
			e.Attachments = []document.Attachment{{Name: "f", ContentType: "text/plain", Data: []byte(strings.Repeat("x", random.IntN(3)*chunkSize))}}
		case 1:
			if !e.Parent.IsZero() {
				e.Attachments = []document.Attachment{{Name: "f", Stub: true}}
			}
		case 2:
			next := document.Rev{Gen: e.Parent.Gen + 1, Hash: fmt.Sprintf("%032x", random.IntN(1000))}
			e.Path = []document.Rev{next}
			if !e.Parent.IsZero() {
				e.Path = append(e.Path, e.Parent)
			}
			e.Parent = document.Rev{}
		}
		edits = append(edits, e)
	}
	return edits
}

func leavesOf(d *Doc) (revs []document.Rev) {
	for _, n := range d.Tree.Leaves() {
		revs = append(revs, n.Rev)
	}
	return revs
}

// describe returns everything that a scope shows, without sequences.
func describe(t *testing.T, s Scope, spans []Span) (lines []string) {
	t.Helper()
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	err := s.View(ctx, func(r *Reader) error {
		totals, err := r.Totals()
		say("%d %d %d %d", totals.Docs, totals.Deleted, totals.Active, totals.External)
		if err != nil {
			return err
		}
		for _, sp := range spans {
			say("%+v", sp)
			for e, err := range r.Docs(sp, true) {
				if err != nil {
					return err
				}
				if err := r.Load(e.Doc); err != nil {
					return err
				}
				say("%s", e.Doc.ID)
				for _, rev := range leavesOf(e.Doc) {
					path, _ := e.Doc.Tree.Path(rev)
					leaf, err := r.Revision(e.Doc, rev)
					if err != nil {
						return err
					}
					say("  %s %v %v %s %s %d", path, leaf.Deleted, r.Sees(leaf.ID), leaf.ID, leaf.Body, len(leaf.Attachments))
				}
			}
			for rev, err := range r.Winners(sp) {
				if err != nil {
					return err
				}
				again, err := r.Winner(rev.ID)
				say("%s %s %s %v %s", rev.ID, rev.Rev, rev.Body, err, again.ID)
			}
			for l, err := range r.Locals(sp) {
				if err != nil {
					return err
				}
				say("%s %s", l.ID, l.Body)
			}
		}
		ids := []document.ID{"workout:1", "p:a", "a", "none", "_design/x", "a"}
		several := NewBatchReader()
		defer several.Release()
		if err := several.Read(r, ids); err != nil {
			return err
		}
		for i := range ids {
			rev, err := several.Winner(i)
			say("%+v %v", rev, err)
		}
		for _, down := range []bool{false, true} {
			for c, err := range r.Changes(0, down) {
				if err != nil {
					return err
				}
				say("%s %v %s", c.ID, c.Deleted, c.Leaves)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}
