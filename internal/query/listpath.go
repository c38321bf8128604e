package query

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

// listPath is the list of all documents as an access path: runs are ranges of ids.
type listPath struct{}

func (listPath) index() *index.Named { return nil }

// allPoints ranks a look-up of documents by id before every index.
const allPoints = 1000

// reach implements accessPath: the documents that the conjuncts ask for by id.
func (listPath) reach(req *Request, all []conjunct) (reach, reason, error) {
	if len(req.Sort) > 0 && req.Sort[0].Path.String() != "_id" {
		return reach{}, fieldMismatch, nil
	}
	var ids set
	o := orderOf("_id")
	for i := range all {
		x := all[i].demands("_id")
		if x == nil {
			ids = everything()
			break
		}
		ids = o.union(ids, x.whole)
	}
	t := reach{sets: []set{ids}}
	if _, ok := ids.points(o); ok {
		t.equal = allPoints
	}
	for i := range ids {
		t.ranges = append(t.ranges, idRanges(&ids[i])...)
	}
	t.ranged = !slices.ContainsFunc(ids, func(i interval) bool { return !isID(i.low.Value) && !isID(i.high.Value) })
	return t, "", nil
}

func isID(v []byte) bool { return jsonscan.KindOf(v) == jsonscan.String && len(v) > 2 }

// order implements accessPath.
func (listPath) order(sort []SortField, _ []conjunct) (reading, bool) {
	return reading{descending: len(sort) > 0 && sort[0].Desc}, true
}

// covers implements accessPath: it takes no more to read a document than to read its id.
func (listPath) covers(*selector.Selector, []*selector.Path) *shape { return nil }

// The ids of design documents, which a query never finds.
const (
	designsBegin = "_design/"
	designsEnd   = "_design0"
)

// idRanges returns the ranges of ids in an interval, without design documents. Ids
// are text, and all other values lie below.
func idRanges(i *interval) (out []Range) {
	var s field.Span
	if jsonscan.KindOf(i.low.Value) == jsonscan.String {
		s.From = []byte(string(jsonscan.Text(nil, i.low.Value)))
		if i.low.Exclusive {
			s.From = append(s.From, 0)
		}
	}
	switch kind := jsonscan.KindOf(i.high.Value); {
	case kind == jsonscan.String:
		if s.To = []byte(string(jsonscan.Text(nil, i.high.Value))); len(s.To) == 0 {
			return nil
		}
		if !i.high.Exclusive {
			s.To = append(s.To, 0)
		}
	case kind != jsonscan.Invalid:
		return nil
	}
	before, after := s, s
	if s.To == nil || string(s.To) > designsBegin {
		before.To = []byte(designsBegin)
	}
	if string(s.From) < designsEnd {
		after.From = []byte(designsEnd)
	}
	for _, x := range []field.Span{before, after} {
		if !x.Empty() && !slices.ContainsFunc(out, func(r Range) bool { return bytes.Equal(r.From, x.From) && bytes.Equal(r.To, x.To) }) {
			out = append(out, Range{Span: x})
		}
	}
	return out
}

// idsOf returns a range of ids as the store reads it.
func idsOf(s field.Span) store.Span {
	to, including := bytes.CutSuffix(s.To, []byte{0})
	return store.Span{From: string(s.From), To: string(to), Before: s.To != nil && !including}
}

// onlyID returns the id of a range that is a single one.
func onlyID(s store.Span) (document.ID, bool) {
	return document.ID(s.From), s.From != "" && s.From == s.To && !s.Before
}

func idText(s store.Span) string {
	if _, single := onlyID(s); single {
		return fmt.Sprintf("%q", s.From)
	}
	end := "]"
	if s.Before || s.To == "" {
		end = ")"
	}
	return fmt.Sprintf("[%q, %q%s", s.From, s.To, end)
}

// estimate implements accessPath.
func (listPath) estimate(_ context.Context, r *store.Reader, ranges []Range, bound int) (n int, err error) {
	for i := range ranges[:min(len(ranges), bound)] {
		for d, err := range r.Docs(idsOf(ranges[i].Span), false) {
			if err != nil {
				return n, err
			}
			if d.Doc.Tree.Winner().Deleted || r.Designs(d.Doc.ID) {
				continue
			}
			if n++; n >= bound {
				return n, nil
			}
		}
	}
	return n, nil
}

// scan implements accessPath. A tenant's design documents lie among the documents of
// the partition and are passed over: no index holds them either.
func (listPath) scan(_ context.Context, r *store.Reader, span field.Span, after *field.RowKey, descending bool) iter.Seq2[hit, error] {
	return func(yield func(hit, error) bool) {
		if after != nil && descending {
			span.To = []byte(after.ID)
		} else if after != nil {
			span.From = append([]byte(after.ID), 0)
		}
		if span.Empty() {
			return
		}
		sp := idsOf(span)
		sp.Descending = descending
		if id, single := onlyID(sp); single {
			h, err := look(r, id)
			yield(h, err)
			return
		}
		for rev, err := range r.Winners(sp) {
			if err != nil {
				yield(hit{}, err)
				return
			}
			if !yield(hit{Entry: field.Entry{ID: rev.ID}, rev: rev, passed: rev.Deleted || r.Designs(rev.ID)}, nil) {
				return
			}
		}
	}
}

// look reads one document by id.
func look(r *store.Reader, id document.ID) (h hit, err error) {
	h = hit{Entry: field.Entry{ID: id}, passed: true}
	if !r.Sees(id) || r.Designs(id) {
		return h, nil
	}
	if h.rev, err = r.Winner(id); dberr.Is(err, dberr.NotFound) {
		return h, nil
	}
	h.passed = false
	return h, err
}

// holds implements accessPath.
func (listPath) holds(_ context.Context, _ *store.Reader, rev *store.Revision, ranges []Range) (bool, error) {
	return slices.ContainsFunc(ranges, func(s Range) bool { return s.Contains([]byte(rev.ID)) }), nil
}
