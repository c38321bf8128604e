package geo

import (
	"slices"

	"github.com/golang/geo/s2"

	"github.com/sectional/sectional/internal/geometry"
)

// Query is what an index is asked for: geometries that a shape has a relation to.
type Query struct {
	Shape    *geometry.Shape
	Relation geometry.Relation

	cells  []s2.CellID // that the candidates lie in, ascending, none within another
	spans  [2][]span   // by class, ascending
	queued bool        // these are worked out
}

// span is a run of cells' numbers, with both ends.
type span struct{ low, high s2.CellID }

// queryCells is about how many cells a query is covered with.
const queryCells = 16

// spansOf returns the runs of cells in which rows of a class may lie, ascending.
func (q *Query) spansOf(class uint64) []span {
	if !q.queued {
		q.queued = true
		q.cells = q.cover()
		q.spans = spansOf(q.cells)
	}
	return q.spans[class]
}

func (q *Query) cover() []s2.CellID {
	switch q.Relation {
	case geometry.Disjoint:
		return geometry.Earth()
	case geometry.Any:
		return q.Shape.CoverBoxes(queryCells)
	}
	return q.Shape.Cover(queryCells)
}

// spansOf returns the runs of points and of other geometries that may meet cells: what
// lies in them, and for the latter what they lie in.
func spansOf(cells []s2.CellID) (spans [2][]span) {
	union := s2.CellUnion(cells)
	union.Normalize()
	ancestors := map[s2.CellID]bool{}
	for _, c := range union {
		in := span{c.RangeMin(), c.RangeMax()}
		spans[classPoint] = append(spans[classPoint], in)
		spans[classShape] = append(spans[classShape], in)
		for level := c.Level() - 1; level >= 0; level-- {
			if a := c.Parent(level); !ancestors[a] {
				ancestors[a] = true
				spans[classShape] = append(spans[classShape], span{a, a})
			}
		}
	}
	slices.SortFunc(spans[classShape], func(a, b span) int {
		if a.low < b.low {
			return -1
		}
		return 1
	})
	return spans
}

// first returns the first of a geometry's cells that lies in spans: its row there stands
// for it.
func first(cells []s2.CellID, spans []span) s2.CellID {
	for _, c := range cells {
		if within(c, spans) {
			return c
		}
	}
	return 0
}

func within(c s2.CellID, spans []span) bool {
	_, found := slices.BinarySearchFunc(spans, c, func(s span, c s2.CellID) int {
		switch {
		case s.high < c:
			return -1
		case s.low > c:
			return 1
		}
		return 0
	})
	return found
}
