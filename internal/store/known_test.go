package store

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// TestEditsThatChangeNothing: of a document with many leaves, edits that are known already or refused don't cost its size each.
func TestEditsThatChangeNothing(t *testing.T) {
	testrun.Sequential(t)
	const leaves = 2000
	w := newWorld(t, Options{})
	d := w.create("db", false)
	var known, refused []document.Edit
	for i := range leaves {
		rev, err := document.ParseRev(fmt.Sprintf("1-%032x", i))
		if err != nil {
			t.Fatal(err)
		}
		known = append(known, document.Edit{ID: "d", Body: []byte(`{}`), Path: []document.Rev{rev}})
		refused = append(refused, document.Edit{ID: "d", Body: []byte(`{}`)})
	}
	w.mustWriteAll(d, known)
	for name, edits := range map[string][]document.Edit{"known": known, "refused": refused} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := d.Whole().Write(t.Context(), edits, WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if got := int(after.TotalAlloc-before.TotalAlloc) / leaves; got > 20<<10 {
			t.Errorf("an edit that is %s allocates %d bytes", name, got)
		}
	}
}
