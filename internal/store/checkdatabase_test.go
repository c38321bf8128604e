package store

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/document"
)

// TestCheckTells holds what is told of how far a check has come: of all documents,
// deleted ones among them.
func TestCheckTells(t *testing.T) {
	var seen []string
	w := newWorld(t, Options{Checking: func(database string, c Checked) {
		seen = append(seen, fmt.Sprintf("%s %d/%d %v", database, c.Documents, c.Of, c.Indexes))
	}})
	w.create("empty", false)
	d := w.create("full", false)
	var edits []document.Edit
	for i := range 2*checkedAtOnce + 1 {
		edits = append(edits, edit(t, fmt.Sprintf("d%05d", i), "", `{}`))
	}
	if _, err := d.Whole().Write(context.Background(), edits, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Check(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := []string{"full 0/2001 false", "full 1000/2001 false", "full 2000/2001 false"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}
