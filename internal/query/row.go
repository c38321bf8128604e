package query

import (
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

// Row is a document of an answer. It is valid until the next one.
type Row struct {
	Doc       selector.Doc    // as the selector sees it
	Rev       *store.Revision // nil when Doc was made of an index's row, and holds its fields alone
	Conflicts []document.Rev  // of a request that asks for them
	body      []byte          // of Doc, when it was made of an index's row
}

// cover makes the row of a row of an index.
func (r *Row) cover(e *field.Entry, s *shape) {
	r.body = s.append(r.body[:0], e.Values)
	r.Rev, r.Conflicts = nil, nil
	r.Doc = selector.Doc{ID: string(e.ID), Body: r.body}
}

// addConflicts adds the conflicts of a document.
func (r *Row) addConflicts(reader *store.Reader) error {
	d, err := reader.Doc(r.Rev.ID)
	if err != nil {
		return err
	}
	for _, n := range d.Tree.Leaves()[1:] {
		if !n.Deleted {
			r.Conflicts = append(r.Conflicts, n.Rev)
		}
	}
	return nil
}
