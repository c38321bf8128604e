package find

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index/text/segment"
)

// Bounds of a request, beside those of the API.
const (
	maxLimit  = 10_000
	maxOrders = 64
	maxGroups = 1_000
	maxFields = 1_024 // each list of fields, and all ranges or values of such a list
	maxTag    = 1_024 // bytes around a word
)

// taker takes the document where a node is.
type taker interface{ take(n node) error }

// total counts documents.
type total uint64

func (t *total) take(node) error {
	*t++
	return nil
}

// Run answers a request. What is wrong with it is an error of dberr.Invalid with the
// words of CouchDB and Clouseau; others are the index's and the context's.
// Nothing of the result belongs to the index, which may be closed then.
func Run(ctx context.Context, index *segment.Reader, req *Request) (result *Result, err error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	docs, err := index.DocCount()
	if err != nil {
		return nil, err
	}
	index.While(ctx.Err)
	w := &work{ctx: ctx, index: index, analyzers: req.Analyzers, docs: docs, nouveau: req.Nouveau, locale: req.Locale}
	err = index.Do(func() (err error) {
		if req.Group != nil {
			result, err = w.runGroups(req)
		} else {
			result, err = w.run(req)
		}
		return err
	})
	if errors.Is(err, segment.ErrReleased) {
		err = dberr.New(dberr.Unavailable, "index_lost", "A file of the index changed while it was read: ask again.")
	}
	return result, err
}

func (q *Request) check() error {
	switch {
	case q.Limit < 0:
		return bad("limit must be greater than or equal to zero")
	case q.Limit > maxLimit:
		return bad("Value for limit is too large, must not exceed %d", maxLimit)
	case len(q.Sort) > maxOrders || q.Group != nil && len(q.Group.Sort) > maxOrders:
		return bad("A sort has at most %d elements.", maxOrders)
	case q.Group != nil && (q.Group.Limit < 0 || q.Group.Limit > maxGroups):
		return bad("Value for group_limit is too large, must not exceed %d", maxGroups)
	case q.Highlight != nil && max(len(q.Highlight.Pre), len(q.Highlight.Post)) > maxTag:
		return bad("Tags of highlights have at most %d bytes.", maxTag)
	}
	if q.Nearest != nil {
		if err := q.Nearest.check(q); err != nil {
			return err
		}
	}
	return q.checkFields()
}

// checkFields refuses lists that would cost much for each document.
func (q *Request) checkFields() error {
	buckets, values, highlights := 0, 0, 0
	for _, r := range q.Ranges {
		buckets += len(r.Buckets)
	}
	for _, d := range q.Drilldown {
		values += len(d.Values)
	}
	if q.Highlight != nil {
		highlights = len(q.Highlight.Fields)
	}
	for _, list := range []struct {
		of string
		n  int
	}{
		{"counts", len(q.Counts)}, {"ranges", max(len(q.Ranges), buckets)}, {"drilldown", max(len(q.Drilldown), values)},
		{"include_fields", len(q.Fields)}, {"highlight_fields", highlights},
	} {
		if list.n > maxFields {
			return bad("Value for %s is too large, must not exceed %d", list.of, maxFields)
		}
	}
	return nil
}

// each calls the takers for every document of the query.
func (w *work) each(req *Request, takers ...taker) error {
	n, err := w.matching(req)
	if err != nil {
		return err
	}
	return w.walk(w.narrow(n, req.Drilldown), takers...)
}

// walk calls the takers for every document of a node.
func (w *work) walk(n node, takers ...taker) error {
	if err := n.start(); err != nil {
		return err
	}
	if all, ok := n.(*set); ok && len(takers) == 1 {
		if b, ok := takers[0].(*best); ok && b.sorting.byID() {
			return b.takeAll(all)
		}
	}
	for n.doc() != none {
		for _, t := range takers {
			if err := t.take(n); err != nil {
				return err
			}
		}
		if err := n.next(); err != nil {
			return err
		}
	}
	return w.ctx.Err()
}

func (w *work) run(req *Request) (*Result, error) {
	orders, err := w.typed(req.Sort)
	if err == nil {
		err = w.countable(req)
	}
	if err != nil {
		return nil, err
	}
	s := w.sorting(orders)
	after, err := s.restore(req.Bookmark)
	if err != nil {
		return nil, err
	}
	w.scored = scored(orders)
	first := w.best(s, req.Limit, after)
	counts := w.counting(req.Counts)
	ranges, err := w.ranging(req.Ranges)
	if err != nil {
		return nil, err
	}
	takers := []taker{first}
	for _, c := range counts {
		takers = append(takers, c)
	}
	for _, r := range ranges {
		takers = append(takers, r)
	}
	if err := w.each(req, takers...); err != nil {
		return nil, err
	}
	result := &Result{Total: first.total, Bookmark: req.Bookmark}
	if result.Rows, err = w.rows(req, first); err != nil {
		return nil, err
	}
	if n := len(first.hits); n > 0 {
		result.Bookmark = s.bookmark(mark{first.hits[n-1].keys, first.hits[n-1].id})
	}
	for _, c := range counts {
		result.Counts = append(result.Counts, c.facet())
	}
	for _, r := range ranges {
		result.Ranges = append(result.Ranges, r.facet)
	}
	return result, nil
}

// runGroups finds which groups there are, and then their rows.
func (w *work) runGroups(req *Request) (*Result, error) {
	if req.Bookmark != "" {
		return nil, bad("`bookmark` and any of `group_field`, `group_sort`, `group_limit` or `group_by` are incompatible")
	}
	var all total
	leaders := w.leaders(req.Group)
	w.scored = scored(req.Group.Sort)
	if err := w.each(req, &all, leaders); err != nil {
		return nil, err
	}
	w.scored, w.clauses = scored(req.Sort), 0
	groups := w.grouped(leaders, w.sorting(req.Sort), req.Limit)
	if err := w.each(req, groups); err != nil {
		return nil, err
	}
	result := &Result{Total: uint64(all)}
	for _, of := range groups.order {
		g := of.group(groups.groups[of].total)
		var err error
		if g.Rows, err = w.rows(req, groups.groups[of]); err != nil {
			return nil, err
		}
		result.Groups = append(result.Groups, g)
	}
	return result, nil
}

// rows makes the rows of what was gathered.
func (w *work) rows(req *Request, b *best) ([]Row, error) {
	hits := b.sorted()
	marker, err := newMarker(req)
	if err != nil {
		return nil, err
	}
	rows := make([]Row, 0, len(hits))
	for _, h := range hits {
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		row := Row{ID: strings.Clone(h.id), Order: b.sorting.values(h.keys, h.id)}
		if req.Marks {
			row.Mark = b.sorting.bookmark(mark{h.keys, h.id})
		}
		if marker != nil || req.Fields == nil || len(req.Fields) > 0 {
			if err := w.fill(&row, req, h, marker); err != nil {
				return nil, err
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// fill puts what is stored of a document into its row.
func (w *work) fill(row *Row, req *Request, h *hit, marker *marker) error {
	texts := map[string][]string{}
	values, bytes := map[string]any{}, 0
	err := w.index.Stored(h.doc, func(field, text string, number *float64) {
		if marker != nil && number == nil && slices.Contains(req.Highlight.Fields, field) {
			texts[field] = append(texts[field], text)
		}
		if req.Fields == nil || slices.Contains(req.Fields, field) {
			values[field] = collectValue(values[field], text, number)
			bytes += valueBytes + len(field) + len(text)
		}
	})
	if err == nil {
		err = w.keep(bytes)
	}
	if err != nil {
		return err
	}
	for name, v := range values {
		row.Fields = append(row.Fields, Stored{name, v})
	}
	slices.SortFunc(row.Fields, func(a, b Stored) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	if marker == nil {
		return nil
	}
	for _, field := range req.Highlight.Fields {
		marked := Marked{Field: field, Fragments: []string{}}
		for _, text := range texts[field] {
			fragments, err := w.mark(marker, field, text)
			if err != nil {
				return err
			}
			marked.Fragments = append(marked.Fragments, fragments...)
		}
		if err := w.keep(valueBytes + len(field)); err != nil {
			return err
		}
		row.Highlights = append(row.Highlights, marked)
	}
	return nil
}

// collectValue adds a value to those that a field has already.
func collectValue(have any, text string, number *float64) any {
	var v any = text
	if number != nil {
		v = *number
	}
	switch have := have.(type) {
	case nil:
		return v
	case []any:
		return append(have, v)
	}
	return []any{have, v}
}
