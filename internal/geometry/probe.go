package geometry

import (
	"math"
	"slices"

	"github.com/peterstace/simplefeatures/rtree"
)

// Bounds of geometries in documents, and of those that requests ask for.
var (
	OfDocuments = Limits{Positions: 100_000, Depth: 32}
	OfQueries   = Limits{Positions: 10_000, Depth: 16}
)

// Probe is a shape that many others are held against, without the library for relations:
// in time by the edges that come near each other. It does not change, and may be used
// by several goroutines.
type Probe struct {
	shape *Shape
	flat  *Shape // the same; of a disc its polygon
	edges []edge // of flat, and its points as edges without length
	tree  *rtree.RTree
}

// NewProbe makes the probe of a shape, which nobody changes from then on.
func NewProbe(s *Shape) (p *Probe, err error) {
	p = &Probe{shape: s, flat: s}
	if s.disc != nil {
		if p.flat, err = s.outline(); err != nil {
			return nil, err
		}
	}
	p.edges = p.flat.pieces()
	p.tree = treeOf(p.edges)
	return p, nil
}

// Shape is the shape that the probe is of.
func (p *Probe) Shape() *Shape { return p.shape }

// Steps takes a number of steps, each about the look at a box, from what a request may
// spend; false says that there are none left.
type Steps func(n int) bool

// maxSteps is how many steps it may take to hold one shape against another.
const maxSteps = 50_000_000

// ringPair is a shape that is being held against a probe.
type ringPair struct {
	*Probe
	spend Steps
	left  int
	stop  bool // there are no steps left, or too many were taken
}

func (h *ringPair) steps(n int) bool {
	h.left -= n
	h.stop = h.stop || h.left < 0 || !h.spend(n)
	return !h.stop
}

// result is the answer, unless the work was ended: then it is false, and ErrInvolved if
// that was because of the two shapes.
func (h *ringPair) result(yes bool) (bool, error) {
	if h.left < 0 {
		return false, ErrInvolved
	}
	return yes && !h.stop, nil
}

// Meets reports whether the probe and a shape, which is no disc, have a position in common. Where spend has no steps left it
// reports false.
func (p *Probe) Meets(t *Shape, spend Steps) (bool, error) {
	h := &ringPair{Probe: p, spend: spend, left: maxSteps}
	return h.result(h.meets(t))
}

// Covers reports whether no position of a shape, which is no disc, lies outside the probe, whose edge is its
// own. The probe is of areas that have no edge in common. Where spend has no steps left it reports false.
func (p *Probe) Covers(t *Shape, spend Steps) (bool, error) {
	h := &ringPair{Probe: p, spend: spend, left: maxSteps}
	return h.result(h.covers(t))
}

// locate returns where a position lies.
func (h *ringPair) locate(in *Shape, q XY) place {
	if n := len(in.areas) + len(in.lines) + len(in.points); !h.steps(16 + n + len(h.edges)>>4) {
		return exterior
	}
	return in.locate(q)
}

func (h *ringPair) meets(t *Shape) bool {
	if a, b := h.shape.Bounds(), t.Bounds(); !a.meetsRound(b) && !(a.atPole() && b.atPole()) {
		return false
	}
	in := func(q XY) bool { return h.locate(h.shape, q) != exterior }
	if slices.ContainsFunc(t.points, in) {
		return true
	}
	if len(t.lines)+len(t.areas) == 0 {
		return false
	}
	return h.startsIn(t) || h.crossed(t) || h.startsWithin(t)
}

// startsIn reports whether a line or an area of t begins in the probe: where no edges
// cross, that is so if any of its positions lies there.
func (h *ringPair) startsIn(t *Shape) bool {
	in := func(q XY) bool { return h.locate(h.flat, q) != exterior }
	return slices.ContainsFunc(t.lines, func(l []XY) bool { return in(l[0]) }) ||
		slices.ContainsFunc(t.areas, func(a *area) bool { return in(a.edges[0].a) })
}

// startsWithin reports whether a part of the probe begins in an area of t.
func (h *ringPair) startsWithin(t *Shape) bool {
	if len(t.areas) == 0 {
		return false
	}
	areas := &Shape{areas: t.areas, boxes: t.boxes}
	n := 0
	for _, a := range t.areas {
		n += len(a.edges)
	}
	in := func(q XY) bool { return h.steps(n>>4) && h.locate(areas, q) != exterior }
	return slices.ContainsFunc(h.flat.points, in) || slices.ContainsFunc(h.flat.lines, func(l []XY) bool { return in(l[0]) }) ||
		slices.ContainsFunc(h.flat.areas, func(a *area) bool { return in(a.edges[0].a) })
}

// crossed reports whether an edge of t has a position in common with one of the probe's.
func (h *ringPair) crossed(t *Shape) bool {
	shifts := []float64{0}
	if h.flat.atSeam() && t.atSeam() {
		shifts = []float64{0, 360, -360}
	}
	meets := func(e edge) bool {
		for _, by := range shifts {
			e, found := edge{XY{e.a.X + by, e.a.Y}, XY{e.b.X + by, e.b.Y}}, false
			search(h.tree, e.box(), func(i int) bool {
				found = e.crosses(h.edges[i])
				return !found && h.steps(1)
			})
			if found || !h.steps(4) {
				return found
			}
		}
		return false
	}
	for _, line := range t.lines {
		for i := 1; i < len(line); i++ {
			if meets(edge{line[i-1], line[i]}) {
				return true
			}
		}
	}
	return slices.ContainsFunc(t.areas, func(a *area) bool { return slices.ContainsFunc(a.edges, meets) })
}

func (h *ringPair) covers(t *Shape) bool {
	for _, q := range t.points {
		if h.locate(h.shape, q) == exterior {
			return false
		}
	}
	for _, line := range t.lines {
		if ok, _ := h.along(edgesOf(line)); !ok {
			return false
		}
	}
	for _, a := range t.areas {
		if !h.coversArea(a) {
			return false
		}
	}
	return !h.stop
}

// coversArea reports whether an area lies in the probe: its edges do, and no hole
// lies in it.
func (h *ringPair) coversArea(a *area) bool {
	ok, inside := h.along(a.edges)
	if !ok {
		return false
	}
	hole := false
	search(h.tree, a.box, func(i int) bool {
		hole = h.enters(a, h.edges[i])
		return !hole && !h.stop
	})
	if hole || inside {
		return !hole
	}
	// All of its edges are the probe's own: it may be a hole itself.
	q, ok := a.polygon.PointOnSurface().XY()
	return ok && h.steps(len(a.edges)) && h.locate(h.flat, XY(q)) != exterior
}

// along reports whether a chain of edges lies in the probe, and whether a position of it lies in
// the probe's interior.
func (h *ringPair) along(edges []edge) (ok, inside bool) {
	known := false // the edge before lay in the interior, and met no edge of the probe's
	for i, e := range edges {
		if i > 0 && edges[i-1].b != e.a {
			known = false // another ring
		}
		met, ok, in := h.edge(e, known)
		if !ok || h.stop {
			return false, false
		}
		known, inside = !met, inside || in
	}
	return true, inside
}

// sliver is which part of an edge may lie outside, for the positions where edges cross are
// rounded.
const sliver = 1e-9

// edge reports whether an edge meets one of the probe's, whether it lies in the probe, and
// whether a position of it lies in the interior. known says that it begins there.
func (h *ringPair) edge(e edge, known bool) (met, ok, inside bool) {
	if e.a == e.b || e.a.Y == e.b.Y && math.Abs(e.a.Y) == 90 { // a pole is one position
		at := h.locate(h.flat, e.a)
		return true, at != exterior, at == interior
	}
	var m meetings
	shifts := []float64{0}
	if e.a.X == e.b.X && math.Abs(e.a.X) == 180 {
		shifts = append(shifts, -2*e.a.X)
	}
	for _, by := range shifts {
		on := edge{XY{e.a.X + by, e.a.Y}, XY{e.b.X + by, e.b.Y}}
		search(h.tree, on.box(), func(i int) bool {
			m.add(on, h.edges[i])
			return h.steps(2)
		})
	}
	if len(m.cuts) == 0 && known {
		return false, true, true
	}
	met = len(m.cuts) > 0
	parts := m.parts()
	if !h.steps(4 + 4*len(m.cuts)) {
		return met, false, false
	}
	for _, part := range parts {
		at := h.locate(h.flat, e.at(part))
		if at == exterior {
			return met, false, false
		}
		inside = inside || at == interior
	}
	return met, true, inside
}

// enters reports whether an edge of the probe has a position in the interior of an area.
func (h *ringPair) enters(a *area, e edge) bool {
	if e.a == e.b {
		return a.locate(e.a) == interior
	}
	var m meetings
	a.search(e.box(), func(f edge) bool {
		m.add(e, f)
		return h.steps(2)
	})
	for _, part := range m.parts() {
		if !h.steps(16 + len(a.edges)>>4) {
			return false
		}
		if a.locate(e.at(part)) == interior {
			return true
		}
	}
	return false
}

// at is the position so far along the edge: 0 is where it begins, 1 where it ends.
func (e edge) at(t float64) XY { return XY{e.a.X + (e.b.X-e.a.X)*t, e.a.Y + (e.b.Y-e.a.Y)*t} }

// param is how far along the edge a position on its line lies.
func (e edge) param(p XY) float64 {
	if math.Abs(e.b.X-e.a.X) > math.Abs(e.b.Y-e.a.Y) {
		return (p.X - e.a.X) / (e.b.X - e.a.X)
	}
	return (p.Y - e.a.Y) / (e.b.Y - e.a.Y)
}

// meetings are where an edge meets others.
type meetings struct {
	cuts []float64
	runs [][2]float64 // where it runs along another one
}

func (m *meetings) add(e, f edge) {
	a, b := e.cross(f.a), e.cross(f.b)
	if a == 0 && b == 0 {
		from, to := e.param(f.a), e.param(f.b)
		from, to = max(0, min(from, to)), min(1, max(from, to))
		if from <= to {
			m.cuts, m.runs = append(m.cuts, from, to), append(m.runs, [2]float64{from, to})
		}
		return
	}
	if a < 0 && b < 0 || a > 0 && b > 0 {
		return
	}
	c, d := f.cross(e.a), f.cross(e.b)
	if c < 0 && d < 0 || c > 0 && d > 0 || c == d {
		return
	}
	m.cuts = append(m.cuts, max(0, min(1, c/(c-d))))
}

// parts returns the middles of the parts into which the others cut the edge, but of those that
// run along one of them.
func (m *meetings) parts() (middles []float64) {
	cuts := append(slices.Clone(m.cuts), 0, 1)
	slices.Sort(cuts)
	for i := 1; i < len(cuts); i++ {
		if from, to := cuts[i-1], cuts[i]; to-from >= sliver && !m.runsAlong(from, to) {
			middles = append(middles, (from+to)/2)
		}
	}
	return middles
}

// runsAlong reports whether a part of the edge lies on another one.
func (m *meetings) runsAlong(from, to float64) bool {
	return slices.ContainsFunc(m.runs, func(r [2]float64) bool { return r[0] <= from && to <= r[1] })
}

// atPole reports whether the box holds a pole, which is one position of all meridians.
func (b Box) atPole() bool { return b.South == -90 || b.North == 90 }
