package find

import (
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/index/text/segment"
)

// by is a value to group by.
type by struct {
	text string
	null bool
}

func byOf(column *segment.Column, doc uint64) by {
	text, ok := column.Text(doc)
	return by{text, !ok}
}

// leaders are the first groups: those whose first documents are. No more are kept than
// are asked for; one that was dropped comes back when a better document of it is met.
type leaders struct {
	column *segment.Column
	best   *best // to compare
	limit  int
	first  map[by]*hit
	order  []by // by their first, worst last
}

func (w *work) leaders(g *Grouping) *leaders {
	return &leaders{column: w.index.Column(g.Field), best: w.best(w.sorting(g.Sort), 0, nil), limit: g.Limit, first: map[by]*hit{}}
}

func (l *leaders) take(n node) error {
	if l.limit == 0 {
		return nil
	}
	h := &hit{doc: n.doc(), keys: l.best.sorting.keys(n, nil)}
	of := byOf(l.column, h.doc)
	known, ok := l.first[of]
	switch {
	case ok && !l.best.less(h, known):
		return nil
	case ok:
		l.order = slices.DeleteFunc(l.order, func(o by) bool { return o == of })
	case len(l.order) == l.limit:
		last := l.order[l.limit-1]
		if !l.best.less(h, l.first[last]) {
			return nil
		}
		delete(l.first, last)
		l.order = l.order[:l.limit-1]
	}
	l.first[of] = h
	at, _ := slices.BinarySearchFunc(l.order, h, func(o by, h *hit) int {
		if l.best.less(h, l.first[o]) {
			return 1
		}
		return -1
	})
	l.order = slices.Insert(l.order, at, of)
	return nil
}

// grouped gathers the documents of the leading groups.
type grouped struct {
	column *segment.Column
	order  []by
	groups map[by]*best
}

func (w *work) grouped(l *leaders, s *sorting, limit int) *grouped {
	g := &grouped{column: l.column, order: l.order, groups: map[by]*best{}}
	for _, of := range l.order {
		g.groups[of] = w.best(s, limit, nil)
	}
	return g
}

func (g *grouped) take(n node) error {
	if b := g.groups[byOf(g.column, n.doc())]; b != nil {
		return b.take(n)
	}
	return nil
}

// group returns a group without its rows.
func (o by) group(total uint64) Group {
	if o.null {
		return Group{Total: total}
	}
	text := strings.Clone(o.text)
	return Group{By: &text, Total: total}
}
