package geo

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"

	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/geometry"
)

// Near asks for geometries in the order of their distance from a position.
type Near struct {
	From geometry.XY
	// Filter is what they are held against besides; nil for nothing.
	Filter *Query
	// Min and Most bound the distance in metres; Most 0 is no bound.
	Min, Max float64
}

// Behind is a place in that order: geometries at a distance are in the order of ids.
type Behind struct {
	Distance float64
	ID       document.ID
	Number   int
}

func (b *Behind) compare(h *Hit) int {
	return cmp.Or(cmp.Compare(b.Distance, h.Distance), cmp.Compare(b.ID, h.ID), cmp.Compare(b.Number, h.Number))
}

// Where is the place of a hit of Nearest.
func (h *Hit) Where() *Behind { return &Behind{h.Distance, h.ID, h.Number} }

// half is half the way round the earth.
const half = math.Pi * geometry.EarthRadius

// firstRadius is how far is looked first, in metres.
const firstRadius = 8000

// Nearest returns the nearest geometries after a place, nil for the beginning; fewer than
// n if there are no more. It looks at growing circles, and never holds more than n.
func (v *Reader) Nearest(ctx context.Context, q *Near, after *Behind, n int) ([]Hit, error) {
	most := half + 1
	if q.Max > 0 {
		most = min(most, q.Max)
	}
	radius := float64(firstRadius)
	if after != nil {
		radius += 1.2 * after.Distance
	}
	s := nearest{Reader: v, ctx: ctx, q: q, after: after, n: n, known: map[shapeKey]float64{}}
	var err error
	if s.shapes, err = v.has(classShape); err != nil {
		return nil, err
	}
	for n > 0 && !v.gone {
		s.radius, s.best = min(max(radius, q.Min+firstRadius), most), s.best[:0]
		if err := s.circle(); err != nil {
			return nil, err
		}
		if len(s.best) == n || s.radius >= most {
			break
		}
		radius = s.radius * max(1.5, min(8, 1.3*math.Sqrt(float64(n)/(float64(len(s.best))+0.5))))
	}
	slices.SortFunc(s.best, func(a, b Hit) int { return a.Where().compare(&b) })
	return s.best, nil
}

// nearest is a Nearest under way.
type nearest struct {
	*Reader
	ctx    context.Context
	q      *Near
	after  *Behind
	n      int
	radius float64
	best   farthest // at most n, within the radius
	known  map[shapeKey]float64
	shapes bool // there are geometries that are no points
}

type shapeKey struct {
	id     document.ID
	number int
}

// farthest is a heap of hits, the farthest on top.
type farthest []Hit

// Len is heap.Interface's.
func (f farthest) Len() int { return len(f) }

// Less is heap.Interface's.
func (f farthest) Less(i, j int) bool { return f[i].Where().compare(&f[j]) > 0 }

// Swap is heap.Interface's.
func (f farthest) Swap(i, j int) { f[i], f[j] = f[j], f[i] }

// Push is heap.Interface's.
func (f *farthest) Push(h any) { *f = append(*f, h.(Hit)) }

// Pop is heap.Interface's.
func (f *farthest) Pop() any {
	last := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return last
}

// circleCells is about how many cells a circle is covered with.
const circleCells = 10

// circle looks at everything within the radius, near cells first.
func (s *nearest) circle() error {
	from := s2.PointFromLatLng(s2.LatLngFromDegrees(s.q.From.Y, s.q.From.X))
	cover := s2.RegionCoverer{MaxLevel: s2.MaxLevel, MaxCells: circleCells, LevelMod: 1}
	cells := cover.Covering(s2.CapFromCenterAngle(from, s1.Angle(min(s.radius/geometry.EarthRadius*(1+1e-9)+1e-12, math.Pi))))
	type at struct {
		cell s2.CellID
		far  float64
	}
	order := make([]at, len(cells))
	for i, c := range cells {
		order[i] = at{c, float64(s2.CellFromCellID(c).Distance(from).Angle()) * geometry.EarthRadius}
	}
	slices.SortFunc(order, func(a, b at) int { return cmp.Compare(a.far, b.far) })
	for _, c := range order {
		if s.full() && c.far > s.best[0].Distance+1 {
			continue
		}
		before := s.q.Min
		if s.after != nil {
			before = max(before, s.after.Distance)
		}
		if before > 1 && float64(s2.CellFromCellID(c.cell).MaxDistance(from).Angle())*geometry.EarthRadius < before-1 {
			continue // all points in it came before, or are too near
		}
		if err := s.walk(s.ctx, classPoint, []span{{c.cell.RangeMin(), c.cell.RangeMax()}}, nil, s.point); err != nil {
			return err
		}
	}
	if !s.shapes {
		return nil
	}
	return s.walk(s.ctx, classShape, spansOf(cells)[classShape], nil, s.shape)
}

func (s *nearest) full() bool { return len(s.best) == s.n }

func (s *nearest) point(r row) error {
	p, err := unpackPoint(r.value)
	if err != nil {
		return damaged(err)
	}
	return s.take(&r, geometry.Apart(s.q.From, p), func() (*geometry.Shape, error) { return geometry.PointAt(p), nil })
}

// maxKnown is how many distances of shapes are remembered: one has several rows.
const maxKnown = 10_000

func (s *nearest) shape(r row) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	key := shapeKey{r.id, r.number}
	var shape *geometry.Shape
	load := func() (_ *geometry.Shape, err error) {
		if shape == nil {
			var g placed
			if g, err = s.geometry(&r); err == nil {
				shape, err = g.shape()
			}
		}
		return shape, err
	}
	distance, known := s.known[key]
	if !known {
		if _, err := load(); err != nil {
			return err
		}
		distance = shape.Distance(s.q.From)
		if len(s.known) < maxKnown {
			s.known[key] = distance
		}
	}
	if slices.ContainsFunc(s.best, func(h Hit) bool { return h.Number == r.number && h.ID == r.id }) {
		return nil
	}
	return s.take(&r, distance, load)
}

// take takes a geometry into the best if it belongs there.
func (s *nearest) take(r *row, distance float64, shape func() (*geometry.Shape, error)) error {
	h := Hit{ID: r.id, Number: r.number, Distance: distance}
	if distance > s.radius || distance < s.q.Min || s.after != nil && s.after.compare(&h) >= 0 || s.full() && s.best[0].Where().compare(&h) <= 0 {
		return nil
	}
	if f := s.q.Filter; f != nil {
		of, err := shape()
		if err != nil {
			return err
		}
		if yes, err := s.relates(f, of); !yes || err != nil {
			return err
		}
	}
	if s.full() {
		heap.Pop(&s.best)
	}
	heap.Push(&s.best, h)
	return nil
}
