package view

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRunsAreTheirRows: groups that are put together from the runs of nodes are those that the rows make, with every
// reducer whose nodes keep runs, whatever pages they are read in, and as rows change.
func TestRunsAreTheirRows(t *testing.T) {
	w := newWorld(t, &Kind{functions: goFunctions{}, spread: 2}, false)
	reducers := []string{"_sum", "_count", "_stats", "_first", "_last", "_top_3"}
	for i, reducer := range reducers {
		w.define(fmt.Sprint("d", i), `function(doc){ emit(doc.k, doc.n); }`, reducer, "")
	}
	r := rand.New(rand.NewPCG(1, 80))
	taken := 0
	for round := range 4 {
		var pairs []string
		for _, n := range r.Perm(400)[:150] {
			pairs = append(pairs, fmt.Sprint("doc", n), fmt.Sprintf(`{"k":[%d,%d],"n":%d}`, r.IntN(3), r.IntN(5+20*(n%2)), r.IntN(100)))
		}
		w.put(pairs...)
		w.follow()
		for i := range reducers {
			for _, level := range []int{Exact, 1, 2} {
				taken += sameGroups(t, w, fmt.Sprint("d", i), level, 1+r.IntN(9), round)
			}
		}
	}
	if taken == 0 {
		t.Error("no group was made of runs")
	}
}

// sameGroups compares groups made of runs, in pages, with those of rows, and returns how many there were before the
// walk gave up.
func sameGroups(t *testing.T, w *world, design string, level, page, round int) (taken int) {
	t.Helper()
	w.read(design, "", func(v *Reader) error {
		var got, want strings.Builder
		for rest := v.Whole(); !rest.Empty(); {
			groups, next, err := v.runGroups(rest, level, page)
			if err == nil && len(groups) == 0 {
				groups, next, err = v.scanGroups(rest, level, page, math.MaxInt, math.MaxInt)
			} else {
				taken += len(groups)
			}
			if err != nil {
				return err
			}
			w.values(&got, design, groups)
			rest = next
		}
		for rest := v.Whole(); !rest.Empty(); {
			groups, next, err := v.scanGroups(rest, level, math.MaxInt, math.MaxInt, math.MaxInt)
			if err != nil {
				return err
			}
			w.values(&want, design, groups)
			rest = next
		}
		if got.String() != want.String() {
			t.Fatalf("round %d, %s, level %d, pages of %d\ngot\n%s\nwant\n%s", round, design, level, page, got.String(), want.String())
		}
		return nil
	})
	return taken
}

// values appends groups as text.
func (w *world) values(to *strings.Builder, design string, groups []Group) {
	w.Helper()
	must(w, w.kind.Values(ctx, w.db, w.index(design), groups))
	for _, g := range groups {
		fmt.Fprintf(to, "%s %s %v\n", g.Key, g.Value, g.Failed)
	}
}

// TestNodesBeforeRuns: nodes of a store whose servers are not all new have none, and answer all the same.
func TestNodesBeforeRuns(t *testing.T) {
	w := newWorld(t, &Kind{functions: goFunctions{}, spread: 2}, false)
	w.define("d", `function(doc){ emit(doc.k, doc.n); }`, "_sum", "")
	var pairs []string
	for n := range 300 {
		pairs = append(pairs, fmt.Sprint("doc", n), fmt.Sprintf(`{"k":[%d],"n":1}`, n/30))
	}
	w.put(pairs...)
	w.follow()
	x := w.index("d")
	old := w.kind.work(w.db, x)
	old.runs = false
	must(t, old.finish(ctx)) // as they were made then
	w.put("more", `{"k":[4],"n":1}`)
	w.follow() // some are made anew, over others that are not
	sameGroups(t, w, "d", Exact, 3, 0)
	if got := w.groups("d", "", Range{}, 1, 100); strings.Count(got, " 30\n") != 9 || !strings.Contains(got, "[4] 31\n") {
		t.Errorf("groups\n%s", got)
	}
	must(t, w.store.Check(ctx))
}
