package store

import (
	"testing"

	"github.com/sectional/sectional/internal/document"
)

// TestResultsTellTheSequence compares the sequences of results with the feed,
// also where documents are written twice in one commit.
func TestResultsTellTheSequence(t *testing.T) {
	w := newWorld(t, Options{})
	d := w.create("db", true)
	rs, err := d.Whole().Write(ctx, []document.Edit{edit(t, "p:b", "", `{}`), edit(t, "p:a", "", `{}`), edit(t, "p:a", "", `{}`)}, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if rs[0].Seq != 2 || rs[1].Seq != 1 || rs[2].Seq != 0 || rs[2].Err == nil {
		t.Errorf("%+v", rs)
	}
	known := w.write(d, replicated(t, "p:a", `{}`, rs[1].Rev.String()))
	if known.Err != nil || known.Seq != 1 {
		t.Errorf("a known revision: %+v", known)
	}
	two := []document.Edit{replicated(t, "p:c", `{}`, "1-aa"), replicated(t, "p:c", `{}`, "1-bb"), replicated(t, "p:c", `{}`, "1-aa")}
	if rs, err = d.Whole().Write(ctx, two, WriteOptions{}); err != nil || rs[0].Seq != 3 || rs[1].Seq != 4 || rs[2].Seq != 4 {
		t.Errorf("%+v, %v", rs, err)
	}
	rs, err = d.Whole().Write(ctx, []document.Edit{edit(t, "p:d", "", `{}`), edit(t, "p:a", "", `{}`)}, WriteOptions{Atomic: true})
	if err != nil || rs[0].Seq != 0 || rs[1].Seq != 0 {
		t.Errorf("a refused batch: %+v, %v", rs, err)
	}
}
