package query

import (
	"context"
	"iter"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/store"
)

// fieldPath is a field index as an access path: runs are ranges of its rows.
type fieldPath struct {
	named *index.Named
	def   *field.Def
	// reaches says that the index holds the documents that the query is about: those
	// of the database, of a partition, or of the partition that a tenant takes for a
	// database.
	reaches bool
}

func (p *fieldPath) index() *index.Named { return p.named }

// reach implements accessPath.
func (p *fieldPath) reach(req *Request, all []conjunct) (reach, reason, error) {
	switch {
	case p.def.Partial != nil && !req.chose(p.named) && !implied(all, p.def.Partial.Root()):
		return reach{}, isPartial, nil
	case !p.reaches:
		return reach{}, scopeMismatch, nil
	case len(all) == 0:
		return reach{}, fieldMismatch, nil
	}
	t, ok, err := reachOf(p.def, all, req.Sort)
	if err != nil || !ok {
		return reach{}, fieldMismatch, err
	}
	return t, "", nil
}

// order implements accessPath. Fields with one value only sort nothing. After its
// columns an index is in the order of ids.
func (p *fieldPath) order(sort []SortField, all []conjunct) (o reading, ok bool) {
	d := p.def
	column, fixed := 0, false
	for _, s := range sort {
		if constant(all, s.Path.String()) {
			continue
		}
		for column < len(d.Columns) && d.Columns[column].Path.String() != s.Path.String() && constant(all, d.Columns[column].Path.String()) {
			column++
		}
		inverted := false
		switch {
		case d.Elements() >= 0:
			return o, false
		case column < len(d.Columns) && d.Columns[column].Path.String() == s.Path.String():
			inverted = d.Columns[column].Desc != d.Columns[0].Desc
			column++
		case column < len(d.Columns) || s.Path.String() != "_id":
			return o, false
		}
		if fixed && o.descending != (s.Desc != inverted) {
			return o, false
		}
		o.descending, fixed = s.Desc != inverted, true
		if s.Path.String() == "_id" {
			break // nothing is left to sort
		}
	}
	for i := range d.Columns {
		if path := d.Columns[i].Path; d.Optional(i) && sorts(sort, path.String()) {
			o.lacking = append(o.lacking, path)
		}
	}
	return o, true
}

// estimate implements accessPath.
func (p *fieldPath) estimate(_ context.Context, r *store.Reader, ranges []Range, bound int) (n int, err error) {
	for i := range ranges[:min(len(ranges), bound)] {
		for _, err := range field.Walk(r, p.named.Index, ranges[i].Span, nil, false) {
			if err != nil {
				return n, err
			}
			if n++; n >= bound {
				return n, nil
			}
		}
	}
	return n, nil
}

// scan implements accessPath.
func (p *fieldPath) scan(_ context.Context, r *store.Reader, span field.Span, after *field.RowKey, descending bool) iter.Seq2[hit, error] {
	return func(yield func(hit, error) bool) {
		for e, err := range field.Walk(r, p.named.Index, span, after, descending) {
			if !yield(hit{Entry: e}, err) {
				return
			}
		}
	}
}

// holds implements accessPath.
func (p *fieldPath) holds(_ context.Context, _ *store.Reader, rev *store.Revision, ranges []Range) (bool, error) {
	return field.Holds(p.named.Index, rev, spansOf(ranges))
}

// first implements repeater.
func (p *fieldPath) first(rev *store.Revision, tuple []byte, ranges []field.Span, descending bool) (bool, error) {
	return field.First(p.named.Index, rev, tuple, ranges, descending)
}
