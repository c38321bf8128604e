package changes

import (
	"cmp"
	"iter"
	"slices"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// found is a document that was looked up.
type found struct {
	seq     store.Seq
	id      document.ID
	deleted bool
	leaves  []document.Rev
}

// lookups returns the changes of the pass by looking at documents instead of the
// feed.
func (u *stream) lookups(r Reader) iter.Seq2[*store.Change, error] {
	return func(yield func(*store.Change, error) bool) {
		list, err := u.find(r)
		if err != nil {
			yield(nil, err)
			return
		}
		slices.SortStableFunc(list, func(a, b found) int {
			if u.descending {
				a, b = b, a
			}
			return cmp.Compare(a.seq, b.seq)
		})
		for _, d := range list {
			u.change = store.Change{Seq: d.seq, ID: d.id, Deleted: d.deleted, Leaves: d.leaves}
			if !yield(&u.change, nil) {
				return
			}
		}
	}
}

func (u *stream) find(r Reader) (list []found, err error) {
	add := func(d *store.Doc) {
		if d.Seq > u.at && d.Seq < u.upper {
			list = append(list, found{d.Seq, d.ID, d.Tree.Winner().Deleted, leavesOf(d)})
		}
	}
	if u.Design {
		for e, err := range r.Docs(store.Span{From: "_design/", To: "_design0", Before: true}, false) {
			if err != nil {
				return nil, err
			}
			add(e.Doc)
		}
		return list, nil
	}
	asks := make([]store.Ask, len(u.IDs))
	for i, id := range u.IDs {
		asks[i] = store.Ask{ID: id, Head: true}
	}
	if err := r.Fetch(asks); err != nil {
		return nil, err
	}
	for _, id := range u.IDs {
		d, err := r.Doc(id)
		if err != nil && !dberr.Is(err, dberr.NotFound) {
			return nil, err
		}
		if err == nil {
			add(d)
		}
	}
	return list, nil
}

func leavesOf(d *store.Doc) []document.Rev {
	nodes := d.Tree.Leaves()
	revs := make([]document.Rev, len(nodes))
	for i := range nodes {
		revs[i] = nodes[i].Rev
	}
	return revs
}
