package lists

import (
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/store"
)

// link returns the document of a row, or the one that the row's value names, and the
// revision, zero for the winner; false if there can't be one.
func (l *viewLister) link(row *view.Row) (id document.ID, rev document.Rev, ok bool) {
	id = row.ID
	if jsonscan.KindOf(row.Value) == jsonscan.Object {
		if other, ok := jsonscan.Member(row.Value, "_id"); ok {
			if jsonscan.KindOf(other) != jsonscan.String {
				return "", rev, false
			}
			if id, ok = l.named(document.ID(jsonscan.Text(nil, other))); !ok {
				return "", rev, false
			}
		}
		if wanted, ok := jsonscan.Member(row.Value, "_rev"); ok {
			var err error
			if rev, err = document.ParseRev(string(jsonscan.Text(nil, wanted))); err != nil {
				return "", rev, false // no document has such a revision
			}
		}
	}
	return id, rev, id != "" && !id.IsLocal() && l.R.Scope.CheckID(id) == nil
}

// linked reads what link names; nil if there is none.
func (l *viewLister) linked(rd *store.Reader, row *view.Row) (*store.Revision, *document.Tree, error) {
	id, rev, ok := l.link(row)
	if !ok {
		return nil, nil, nil
	}
	doc, err := rd.Doc(id)
	if err == nil && rev == (document.Rev{}) {
		if doc.Tree.Winner().Deleted {
			return nil, nil, nil
		}
		rev = doc.Tree.Winner().Rev
	}
	var found *store.Revision
	if err == nil {
		found, err = rd.Revision(doc, rev)
	}
	if dberr.Is(err, dberr.NotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return found, &doc.Tree, nil
}
