package query

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

// scored is an access path of a kind that is none: documents by a score, the best
// first, for requests with a condition on the field topic.
type scored struct {
	named *index.Named
	best  []document.ID // of topic 1
}

func (p *scored) index() *index.Named { return p.named }

func (p *scored) reach(_ *Request, all []conjunct) (reach, reason, error) {
	t := reach{equal: 1, width: 1}
	for i := range all {
		x := all[i].demands("topic")
		if x == nil {
			return reach{}, fieldMismatch, nil
		}
		topic := x.whole[0].low.Value
		t.ranges = append(t.ranges, Range{field.Span{From: topic, To: topic}, []fmt.Stringer{&origin{values: [][]byte{topic}}}})
	}
	return t, "", nil
}

func (p *scored) order(sort []SortField, _ []conjunct) (reading, bool) {
	return reading{}, len(sort) == 0
}

func (p *scored) covers(*selector.Selector, []*selector.Path) *shape { return nil }

func (p *scored) estimate(context.Context, *store.Reader, []Range, int) (int, error) {
	return len(p.best), nil
}

// scan has positions of its own: the rank of a row.
func (p *scored) scan(_ context.Context, _ *store.Reader, span field.Span, after *field.RowKey, _ bool) iter.Seq2[hit, error] {
	return func(yield func(hit, error) bool) {
		for i, id := range p.best {
			rank := []byte{byte(i)}
			if string(span.From) != "1" || after != nil && bytes.Compare(rank, after.Tuple) <= 0 {
				continue
			}
			if !yield(hit{Entry: field.Entry{ID: id, Tuple: rank}}, nil) {
				return
			}
		}
	}
}

func (p *scored) holds(_ context.Context, _ *store.Reader, rev *store.Revision, _ []Range) (bool, error) {
	return slices.Contains(p.best, rev.ID), nil
}

// TestPathOfAnotherKind plans and runs over a path of a kind that the planner has never
// seen, beside those that there are.
func TestPathOfAnotherKind(t *testing.T) {
	w := newWorld(t, false)
	w.put(`{"_id":"a","topic":1,"n":1}`, `{"_id":"b","topic":1,"n":2}`, `{"_id":"c","topic":2,"n":3}`, `{"_id":"d","topic":1,"n":4}`)
	w.index("n", `{"fields":{"n":"asc"}}`, false)
	w.build()
	made := &scored{
		named: &index.Named{Design: "_design/words", Name: "words", Index: &index.Index{Number: 99, Signature: "words", State: index.Readable}},
		best:  []document.ID{"d", "c", "none", "a", "b"}, // c is of another topic, and one is gone
	}
	find := func(request string) (*Query, *collected) {
		t.Helper()
		req, err := Parse([]byte(request))
		must(t, err)
		q, c := New(req, w.db.Whole(), w.indexes), &collected{}
		q.paths = func(own, shared []index.Named, partition bool) []accessPath {
			return append([]accessPath{made}, pathsOf(own, shared, partition)...)
		}
		if err := q.Run(ctx, c); err != nil {
			c.docs = []string{err.Error()}
		}
		return q, c
	}
	for _, c := range []struct{ request, plan, ids string }{
		{`{"selector":{"topic":1}}`, "_design/words/words\n  1\n", "d a b"},
		{`{"selector":{"topic":1},"count":true}`, "_design/words/words\n  1\n", ""},
		{`{"selector":{"topic":1,"n":{"$lt":3}},"limit":1}`, "_design/words/words\n  1\n", "a"},
		{`{"selector":{"topic":1,"n":{"$gt":1}},"sort":["n"]}`, "_design/n/n\n  (1, )\n", "b d"}, // no order but that of scores
		{`{"selector":{"n":{"$gt":1}}}`, "_design/n/n\n  (1, )\n", "b c d"},
		{`{"selector":{"$or":[{"topic":1},{"n":{"$lt":4}}]}}`, "_design/words/words\n  1\n_design/n/n\n  (, 4)\n", "d c a b"}, // each once
	} {
		q, got := find(c.request)
		if ids := strings.Join(got.ids, " "); ids != c.ids || q.plan.String() != c.plan {
			t.Errorf("%s: %q by %s%v", c.request, ids, q.plan, got.docs)
		}
	}
	var ids []string
	for bookmark := ""; len(ids) < 9; {
		q, page := find(`{"selector":{"topic":1},"limit":1,"bookmark":"` + bookmark + `"}`)
		if len(page.ids) == 0 {
			break
		}
		ids, bookmark = append(ids, page.ids...), q.Bookmark()
	}
	if got := strings.Join(ids, " "); got != "d a b" {
		t.Errorf("page by page: %s", got)
	}
	if q, got := find(`{"selector":{"topic":1},"sort":["topic"]}`); !strings.Contains(got.docs[0], "No index exists for this sort") {
		t.Errorf("%v: %s", got.docs, q.plan)
	}
	made.named.Index.State = index.Failed
	if q, got := find(`{"selector":{"topic":1}}`); q.plan.Branches[0].Index() != nil || len(got.ids) != 3 {
		t.Errorf("a failed index: %s", q.plan)
	}
}
