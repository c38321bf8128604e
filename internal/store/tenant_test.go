package store

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/document"
)

// TestTenantsValidation has the validation functions of a tenant judge the
// documents of the partition alone, under the ids that the tenant sees.
func TestTenantsValidation(t *testing.T) {
	m := &marking{}
	w := newWorld(t, Options{Admission: m})
	d := w.create("db", true)
	write := func(id, body string) error {
		e := document.Edit{ID: document.ID(id), Body: []byte(body)}
		rs, err := d.Whole().Write(t.Context(), []document.Edit{e}, WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return rs[0].Err
	}
	expect := func(err error, refusal string, asked ...string) {
		t.Helper()
		if got := errorText(err); got != refusal {
			t.Errorf("the outcome is %q, not %q", got, refusal)
		}
		// The first write after a definition is asked about twice: it is admitted
		// again once the commit finds that there is one.
		if diff := cmp.Diff(asked, slices.Compact(m.take())); diff != "" {
			t.Error("asked:", diff)
		}
	}
	expect(write("alice:1", `{}`), "")
	expect(write("alice:_design/v", `{"validate_doc_update":"mark"}`), "")
	expect(write("alice:2", `{}`), "alice:_design/v wants mark", `2 0:{} over -`)
	expect(write("alice:2", `{"mark":1}`), "", `2 0:{"mark":1} over -`)
	expect(write("bob:2", `{}`), "")
	expect(write("bob:_design/v", `{"validate_doc_update":"word"}`), "")
	expect(write("alice:3", `{"word":1}`), "alice:_design/v wants mark", `3 0:{"word":1} over -`)
	expect(write("_design/all", `{"validate_doc_update":"every"}`), "")
	expect(write("bob:3", `{"word":1,"every":1}`), "", `bob:3 0:{"word":1,"every":1} over -`, `3 0:{"word":1,"every":1} over -`)
	expect(write("bob:4", `{"word":1}`), "_design/all wants every", `bob:4 0:{"word":1} over -`)

	// What a request itself defines judges the next request.
	edits := []document.Edit{
		{ID: "carol:1", Body: []byte(`{"every":1}`)},
		{ID: "carol:_design/v", Body: []byte(`{"validate_doc_update":"mark"}`)},
		{ID: "carol:a", Body: []byte(`{"every":1}`)},
	}
	rs, err := d.Whole().Write(t.Context(), edits, WriteOptions{})
	for _, r := range rs {
		if r.Err != nil || err != nil {
			t.Errorf("%s: %v, %v", r.ID, r.Err, err)
		}
	}
	m.take()
	expect(write("carol:b", `{"every":1}`), "carol:_design/v wants mark", `carol:b 0:{"every":1} over -`, `b 0:{"every":1} over -`)

	// A function that is gone refuses nothing, however long it was remembered.
	e := document.Edit{ID: "carol:_design/v", Parent: rs[1].Rev, Deleted: true}
	if rs, err = d.Whole().Write(t.Context(), []document.Edit{e}, WriteOptions{}); err != nil || rs[0].Err != nil {
		t.Fatal(rs, err)
	}
	expect(write("carol:c", `{"every":1}`), "", `carol:c 0:{"every":1} over -`, `c 0:{"every":1} over -`, `carol:c 0:{"every":1} over -`)
	w.check()
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(err.Error(), "forbidden: ")
}
