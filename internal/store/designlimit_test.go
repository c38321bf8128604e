package store

import (
	"context"
	"testing"

	"github.com/sectional/sectional/internal/document"
)

// interrupting is an admission that lets something happen when it is first asked about a document.
type interrupting struct {
	id   document.ID
	then func()
}

func (a *interrupting) Admit(_ context.Context, _ *Database, e *document.Edit, _ func() (*Revision, error)) error {
	if e.ID == a.id && a.then != nil {
		then := a.then
		a.then = nil
		then()
	}
	return nil
}

// TestDesignTakesThePlaceOfAnother deletes a design document of a partition that has as many as it may, and writes
// another one in the same request. Definitions change after the first was admitted: it goes back to its writer, and the
// second must not be refused because the first is still there.
func TestDesignTakesThePlaceOfAnother(t *testing.T) {
	const validating = `{"validate_doc_update":"function(){}"}`
	a := &interrupting{id: "p:_design/a"}
	w := newWorld(t, Options{Admission: a, DesignLimits: func() DesignLimits { return DesignLimits{Documents: 2} }})
	d := w.create("db", true)
	first := w.write(d, edit(t, "p:_design/a", "", validating))
	second := w.write(d, edit(t, "p:_design/b", "", validating))
	if first.Err != nil || second.Err != nil {
		t.Fatal(first.Err, second.Err)
	}
	a.then = func() {
		if r := w.write(d, edit(t, "p:_design/b", second.Rev.String(), `{"validate_doc_update":"function(){ return }"}`)); r.Err != nil {
			t.Error(r.Err)
		}
		if _, err := d.definitionsOf(ctx, "p"); err != nil {
			t.Error(err)
		}
	}
	deletion := edit(t, "p:_design/a", first.Rev.String(), `{}`)
	deletion.Deleted = true
	rs, err := d.Whole().Write(ctx, []document.Edit{deletion, edit(t, "p:_design/c", "", validating)}, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		if r.Err != nil {
			t.Errorf("%s: %v", r.ID, r.Err)
		}
	}
}
