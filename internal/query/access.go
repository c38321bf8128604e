package query

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

// accessPath is a way to the documents of a database: an index of some kind, or the
// list of all documents. Planner and run know nothing else of it, so that another
// kind of index is another access path.
//
// What a path gives may be too much, never too little: each document is held
// against the selector again. Its rows lie in runs, which are read one after the
// other in an order that is the path's own: by values, by id, by score.
type accessPath interface {
	// index is what is read; nil for the list of all documents.
	index() *index.Named
	// reach says what has to be read so that no document is missed that one of the
	// conjuncts means, or the reason why documents may be missing.
	reach(req *Request, all []conjunct) (reach, reason, error)
	// order says how the runs are read for a sort; false if they are in another
	// order, as rows by score always are.
	order(sort []SortField, all []conjunct) (reading, bool)
	// covers returns how documents are made of the values of rows, if these hold
	// what the selector looks at and what is asked for; nil if they don't.
	covers(sel *selector.Selector, asked []*selector.Path) *shape
	// estimate counts the rows of runs up to a bound, in as many runs.
	estimate(ctx context.Context, r *store.Reader, ranges []Range, bound int) (int, error)
	// scan reads the rows of a range in its order or, descending, from its end: those
	// after a position if one is given. A position is the path's own; bookmarks hold it.
	scan(ctx context.Context, r *store.Reader, span field.Span, after *field.RowKey, descending bool) iter.Seq2[hit, error]
	// holds reports whether a scan of the runs comes by a document.
	holds(ctx context.Context, r *store.Reader, rev *store.Revision, ranges []Range) (bool, error)
}

// hit is a row that a scan comes by.
type hit struct {
	field.Entry
	// rev is the document, where the path reads it itself: borrowed until the next
	// step. nil: it is read by its id.
	rev *store.Revision
	// passed says that there is nothing here: the position moves on, that is all.
	passed bool
}

// Range is a range of rows of a path that a plan reads.
type Range struct {
	field.Span
	from []fmt.Stringer // what it was made of, for people; nil: ids
}

// String returns the range in values, such as "us" (3, 7].
func (r *Range) String() string {
	if r.from == nil {
		return idText(idsOf(r.Span))
	}
	parts := make([]string, len(r.from))
	for i, o := range r.from {
		parts[i] = o.String()
	}
	return strings.Join(parts, " | ")
}

// reach is what a selector makes of a path: which rows have to be read, and how well
// that narrows them.
type reach struct {
	ranges    []Range
	equal     int  // leading columns that have single values
	ranged    bool // the next column has bounds
	width     int  // columns of the path
	partial   bool // the path holds nothing but documents that are meant
	repeats   bool // a document may have several rows
	words     bool // the rows are those of a full-text query
	estimated bool // and their order is a guess at what was asked for
	// sets are those of the columns over all alternatives: _explain shows them
	// as CouchDB shows its range.
	sets []set
}

// empty reports whether the selector contradicts itself: nothing can match.
func (t *reach) empty() bool {
	return slices.ContainsFunc(t.sets, func(s set) bool { return len(s) == 0 })
}

// narrows reports whether conditions bound what is read.
func (t *reach) narrows() bool { return t.equal > 0 || t.ranged }

// reading is how runs are read for a sort.
type reading struct {
	descending bool // from the end
	// lacking are fields of the sort that documents may lack whose rows were cut: the
	// ranges leave out the others. Whatever path answers, such documents are not found.
	lacking []*selector.Path
}

// repeater is a path of which a document may have several rows.
type repeater interface {
	// first reports whether a row stands for its document: the first of the
	// document's rows in the order in which the runs are read.
	first(rev *store.Revision, tuple []byte, ranges []field.Span, descending bool) (bool, error)
}

// pathsFunc makes the access paths of a scope: pathsOf.
type pathsFunc func(own, shared []index.Named, partition bool) []accessPath

// pathsOf returns the ways to the documents of a scope: its own indexes and those
// of the database that a tenant can read, and last the list of all documents.
func pathsOf(own, shared []index.Named, partition bool) (paths []accessPath) {
	add := func(all []index.Named, reaches func(n *index.Named, d *field.Def) bool) {
		for i := range all {
			n := &all[i]
			if n.Kind == field.KindName {
				d := field.Of(n.Index)
				paths = append(paths, &fieldPath{n, d, reaches(n, d)})
			} else if p := textPathOf(n); p != nil {
				p.reaches = reaches(n, nil)
				paths = append(paths, p)
			} else if p := geoPathOf(n); p != nil {
				p.reaches = reaches(n, nil)
				paths = append(paths, p)
			}
		}
	}
	add(own, func(n *index.Named, _ *field.Def) bool { return n.Index.Partitioned == partition })
	before := len(paths)
	// A tenant has other ids than the database: what depends on them is of no use.
	add(shared, func(n *index.Named, d *field.Def) bool {
		switch x, geo := textPathOf(n), geoPathOf(n); {
		case x != nil:
			return x.def.Partial == nil || !x.def.Partial.Uses("_id")
		case geo != nil:
			return geo.def.Partial == nil || !geo.def.Partial.Uses("_id")
		}
		return d != nil && !d.Uses("_id")
	})
	for _, p := range paths[before:] {
		if p, is := p.(*textPath); is {
			p.def = p.def.WithoutIDs()
		}
	}
	return append(paths, listPath{})
}
