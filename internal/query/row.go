package query

import (
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

// Row is a document of an answer. It is valid until the next one.
type Row struct {
	doc       selector.Doc
	rev       *store.Revision // nil when doc was made of an index's row
	conflicts []document.Rev
	fields    selector.Fields
	body      []byte // behind doc, when it was made of an index's row
}

// AppendJSON appends the document, or those of its fields that were asked for.
func (r *Row) AppendJSON(dst []byte) []byte {
	if r.rev == nil || !r.fields.All() {
		return append(dst, r.fields.Project(&r.doc)...)
	}
	return couchwire.AppendDocument(dst, &couchwire.Revision{
		ID: r.rev.ID, Rev: r.rev.Rev, Body: r.rev.Body, Attachments: r.rev.Attachments, Conflicts: r.conflicts,
	}, couchwire.Form{})
}

// cover makes the row of a row of an index.
func (r *Row) cover(e *field.Entry, s *shape) {
	r.body = s.append(r.body[:0], e.Values)
	r.rev, r.conflicts = nil, nil
	r.doc = selector.Doc{ID: string(e.ID), Body: r.body}
}

// addConflicts tells the conflicts of a document.
func (r *Row) addConflicts(reader *store.Reader) error {
	d, err := reader.Doc(r.rev.ID)
	if err != nil {
		return err
	}
	for _, n := range d.Tree.Leaves()[1:] {
		if !n.Deleted {
			r.conflicts = append(r.conflicts, n.Rev)
		}
	}
	if len(r.conflicts) > 0 {
		r.doc.Meta = append(r.doc.Meta, selector.Member{Name: "_conflicts", Value: couchwire.AppendRevs(nil, r.conflicts)})
	}
	return nil
}
