package store

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// marking is an Admission whose validators say what they require of a body: a
// word. It notes what it was asked.
type marking struct {
	sync.Mutex
	asked []string
	err   error
}

func (*marking) Admit(context.Context, *Database, *document.Edit, func() (*Revision, error)) error {
	return nil
}

func (m *marking) Validate(_ context.Context, _ *Database, by []*Revision, proposals []Proposal) ([]error, error) {
	m.Lock()
	defer m.Unlock()
	refusals := make([]error, len(proposals))
	for i, p := range proposals {
		old := "-"
		if p.Old != nil {
			old = fmt.Sprintf("%d:%s", len(p.OldPath), p.Old.Body)
		}
		m.asked = append(m.asked, fmt.Sprintf("%s %d:%s over %s", p.New.ID, len(p.NewPath), p.New.Body, old))
		for _, v := range by {
			word := strings.Trim(strings.TrimPrefix(string(v.Body), `{"validate_doc_update":`), `"}`)
			if !bytes.Contains(p.New.Body, []byte(word)) && refusals[i] == nil {
				refusals[i] = dberr.New(dberr.Forbidden, "forbidden", "%s wants %s", string(v.ID), word)
			}
		}
	}
	return refusals, m.err
}

func (m *marking) take() []string {
	m.Lock()
	defer m.Unlock()
	asked := m.asked
	m.asked = nil
	return asked
}

// requiring is a design document that validates.
func requiring(name, word string) document.Edit {
	return document.Edit{ID: document.ID("_design/" + name), Body: []byte(`{"validate_doc_update":"` + word + `"}`)}
}

func TestValidation(t *testing.T) {
	m := &marking{}
	w := newWorld(t, Options{Admission: m})
	d := w.create("db", false)
	free := w.write(d, document.Edit{ID: "a", Body: []byte(`{"free":1}`)}).Rev
	if asked := m.take(); asked != nil {
		t.Fatalf("asked without a validator: %q", asked)
	}
	v := w.write(d, requiring("v", "mark")).Rev
	for _, c := range []struct {
		edit  document.Edit
		err   string
		asked string
	}{
		{document.Edit{ID: "b", Body: []byte(`{"mark":1}`)}, "", `b 0:{"mark":1} over -`},
		{document.Edit{ID: "c", Body: []byte(`{}`)}, "_design/v wants mark", `c 0:{} over -`},
		{document.Edit{ID: "a", Parent: free, Body: []byte(`{"mark":2}`)}, "", `a 1:{"mark":2} over 1:{"free":1}`},
		{document.Edit{ID: "a", Parent: free, Body: []byte(`{}`)}, "Document update conflict.", ""},
		{document.Edit{ID: "r", Path: history("2-bb", "1-aa"), Body: []byte(`{"mark":0}`)}, "", `r 2:{"mark":0} over -`},
		{document.Edit{ID: "r", Path: history("2-bb", "1-aa"), Body: []byte(`{}`)}, "", ""}, // it is there already
		{document.Edit{ID: "r", Path: history("4-dd", "3-cc", "2-bb", "1-aa"), Body: []byte(`{"mark":4}`)}, "", `r 4:{"mark":4} over 2:{"mark":0}`},
		{document.Edit{ID: "_design/e", Body: []byte(`{}`)}, "", ""},
		{document.Edit{ID: "_design/v", Parent: v, Deleted: true, Body: []byte(`{}`)}, "", ""},
		{document.Edit{ID: "d", Body: []byte(`{}`)}, "", ""},
	} {
		results, err := d.Whole().Write(t.Context(), []document.Edit{c.edit}, WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		reason := ""
		if results[0].Err != nil {
			reason = results[0].Err.Error()
		}
		if !strings.HasSuffix(reason, c.err) || c.err == "" && reason != "" {
			t.Errorf("%s %s: %q, want %q", c.edit.ID, c.edit.Body, reason, c.err)
		}
		if diff := cmp.Diff(strings.Fields(c.asked), strings.Fields(strings.Join(m.take(), "; "))); diff != "" {
			t.Errorf("%s %s: asked (-want +got):\n%s", c.edit.ID, c.edit.Body, diff)
		}
	}
}

func history(revs ...string) (path []document.Rev) {
	for _, r := range revs {
		gen, hash, _ := strings.Cut(r, "-")
		rev, err := document.ParseRev(gen + "-" + strings.Repeat(hash, 16))
		if err != nil {
			panic(err)
		}
		path = append(path, rev)
	}
	return path
}

// TestValidationThatFails writes nothing when nobody can be asked.
func TestValidationThatFails(t *testing.T) {
	m := &marking{err: dberr.New(dberr.Unavailable, "", "no")}
	w := newWorld(t, Options{Admission: m})
	d := w.create("db", false)
	w.mustWrite(d, requiring("v", "mark"))
	_, err := d.Whole().Write(t.Context(), []document.Edit{{ID: "x", Body: []byte(`{"mark":1}`)}}, WriteOptions{})
	if !dberr.Is(err, dberr.Unavailable) {
		t.Errorf("the write ended with %v", err)
	}
}

// TestValidatorAppearsWhileWritersWrite lets writers write without end while a
// design document begins to require a word. No document without the word may
// have a sequence after the design document's.
func TestValidatorAppearsWhileWritersWrite(t *testing.T) {
	m := &marking{}
	w := newWorld(t, Options{Admission: m})
	d := w.create("db", false)
	for round := range 5 {
		stop := make(chan struct{})
		var writers sync.WaitGroup
		began := make(chan struct{}, 8)
		for n := range 8 {
			writers.Go(func() {
				for i := 0; ; i++ {
					edits := []document.Edit{
						{ID: document.ID(fmt.Sprintf("%d-%d-%d", round, n, i)), Body: []byte(`{}`)},
						{ID: document.ID(fmt.Sprintf("%d-%d-%d-marked", round, n, i)), Body: []byte(`{"mark":1}`)},
					}
					if _, err := d.Whole().Write(ctx, edits, WriteOptions{Atomic: n%2 == 0 && i%2 == 0}); err != nil {
						t.Error(err)
						return
					}
					if i == 5 {
						began <- struct{}{}
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		for range 8 {
			<-began
		}
		v := w.write(d, requiring("v", "mark")).Rev
		close(stop)
		writers.Wait()
		checkMarked(t, d)
		w.write(d, document.Edit{ID: "_design/v", Parent: v, Deleted: true, Body: []byte(`{}`)})
	}
}

// checkMarked looks for documents without the mark after _design/v.
func checkMarked(t *testing.T, d *Database) {
	t.Helper()
	err := d.Whole().View(t.Context(), func(r *Reader) error {
		v, err := r.Doc("_design/v")
		if err != nil {
			return err
		}
		for c, err := range r.Changes(v.Seq, false) {
			if err != nil {
				return err
			}
			rev, err := r.Winner(c.ID)
			if err != nil {
				return err
			}
			if !bytes.Contains(rev.Body, []byte("mark")) {
				t.Errorf("%s was written behind the validator", c.ID)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestValidatorIsCommittedBeforeAWrite holds the order of events still: a write
// is admitted, then the validator is committed, then the write is.
func TestValidatorIsCommittedBeforeAWrite(t *testing.T) {
	m := &marking{}
	w := newWorld(t, Options{Admission: m})
	d := w.create("db", false)
	late, lateFn := writing(t, d, document.Edit{ID: "x", Body: []byte(`{}`)})
	design, designFn := writing(t, d, requiring("v", "mark"), document.Edit{ID: "_design/w", Body: []byte(`{}`)})
	if errs := together(d, designFn, lateFn); errs[0] != nil || errs[1] != nil {
		t.Fatal(errs)
	}
	if design.moved() || !late.moved() {
		t.Error("the write is not admitted again, or that of the validator is")
	}
	again, againFn := writing(t, d, document.Edit{ID: "x", Body: []byte(`{"mark":1}`)})
	purge := func(g *group) error {
		_, err := g.purge(Purging{ID: "_design/v", Revs: []document.Rev{design.edits[0].rev}}, &removing{})
		return err
	}
	together(d, purge, againFn)
	if !again.moved() {
		t.Error("a write goes by the purge of a validator")
	}
	if _, err := d.Whole().Write(ctx, []document.Edit{{ID: "free", Body: []byte(`{}`)}}, WriteOptions{}); err != nil {
		t.Error(err)
	}
}
