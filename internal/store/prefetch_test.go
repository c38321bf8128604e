package store

import (
	"fmt"
	"testing"

	"github.com/sectional/sectional/internal/document"
)

// TestPanicInAWalk: where the caller of a long walk panics nobody reads ahead any more when that arrives at who began the
// View: the engine's snapshot has ended by then, and the memory is another's.
func TestPanicInAWalk(t *testing.T) {
	w, _ := newModelWorld(t, Options{})
	d := w.create("db", false)
	var edits []document.Edit
	for i := range prefetchAfter + 8*prefetchDocs {
		edits = append(edits, edit(t, fmt.Sprintf("%05d", i), "", "{}"))
	}
	w.mustWriteAll(d, edits)
	for range 10 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("it did not panic")
				}
			}()
			err := d.Whole().View(ctx, func(r *Reader) error {
				n := 0
				for range r.Winners(Span{}) {
					if n++; n > prefetchAfter+1 {
						panic("the caller's")
					}
				}
				return nil
			})
			t.Errorf("View: %v", err)
		}()
	}
}
