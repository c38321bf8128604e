package geometry

import (
	"errors"
	"math"
	"slices"

	"github.com/peterstace/simplefeatures/geom"
)

// Relation is how two geometries lie, by the dimensionally extended 9-intersection model
// (OGC 06-103r4). Contains is read "the first one contains the second one".
type Relation string

// The relations.
const (
	Any              Relation = "none" // their boxes meet
	Contains         Relation = "contains"
	ContainsProperly Relation = "contains_properly"
	CoveredBy        Relation = "covered_by"
	Covers           Relation = "covers"
	Crosses          Relation = "crosses"
	Disjoint         Relation = "disjoint"
	Intersects       Relation = "intersects"
	Overlaps         Relation = "overlaps"
	Touches          Relation = "touches"
	Within           Relation = "within"
)

// Relations are all of them.
var Relations = []Relation{Any, Contains, ContainsProperly, CoveredBy, Covers, Crosses, Disjoint, Intersects, Overlaps, Touches, Within}

// Valid reports whether there is such a relation.
func (r Relation) Valid() bool { return slices.Contains(Relations, r) }

// Meets reports whether shapes that have nothing in common are out of the question.
func (r Relation) Meets() bool { return r != Disjoint }

// differ is what of a planar geometry does not lie in another one.
func differ(a, b geom.Geometry) (geom.Geometry, error) { return geom.Difference(a, b) }

func polygonOf(path []XY) geom.Geometry {
	return geom.NewPolygon([]geom.LineString{geom.NewLineString(sequence(path))}).AsGeometry()
}

// ofPoint are the relations that a shape may have to a point that lies as given.
var ofPoint = map[Relation]func(at place, same bool) bool{
	Contains:         func(at place, _ bool) bool { return at == interior },
	ContainsProperly: func(at place, _ bool) bool { return at == interior },
	Covers:           func(at place, _ bool) bool { return at != exterior },
	Intersects:       func(at place, _ bool) bool { return at != exterior },
	Disjoint:         func(at place, _ bool) bool { return at == exterior },
	Touches:          func(at place, _ bool) bool { return at == boundary },
	Within:           func(_ place, same bool) bool { return same },
	CoveredBy:        func(_ place, same bool) bool { return same },
	Crosses:          func(place, bool) bool { return false },
	Overlaps:         func(place, bool) bool { return false },
}

// ofOnlyPoint are the relations that a point that lies as given may have to something
// that is more than a point.
var ofOnlyPoint = map[Relation]func(at place) bool{
	Contains:         func(place) bool { return false },
	ContainsProperly: func(place) bool { return false },
	Covers:           func(place) bool { return false },
	Intersects:       func(at place) bool { return at != exterior },
	Disjoint:         func(at place) bool { return at == exterior },
	Touches:          func(at place) bool { return at == boundary },
	Within:           func(at place) bool { return at == interior },
	CoveredBy:        func(at place) bool { return at != exterior },
	Crosses:          func(place) bool { return false },
	Overlaps:         func(place) bool { return false },
}

// Relates reports whether s has a relation to t.
func (s *Shape) Relates(rel Relation, t *Shape) (bool, error) {
	if p, ok := t.Point(); ok {
		return s.RelatesToPoint(rel, p), nil
	}
	if rel == Any {
		return s.boxesMeet(t), nil
	}
	if p, ok := s.Point(); ok {
		return ofOnlyPoint[rel](t.locate(p)), nil
	}
	if rel.Meets() && rel != Intersects && !s.boxesMeet(t) {
		return false, nil
	}
	var err error
	if s.disc != nil {
		s, err = s.outline()
	}
	if err == nil && t.disc != nil {
		t, err = t.outline()
	}
	if err != nil {
		return false, err
	}
	if rel == Intersects || rel == Disjoint {
		meet, err := s.intersects(t)
		return meet == (rel == Intersects), err
	}
	if s.involved(t) {
		return false, ErrInvolved
	}
	switch rel {
	case ContainsProperly:
		matrix, err := geom.Relate(s.planar(), t.planar())
		if err != nil {
			return false, err
		}
		return geom.RelateMatches(matrix, "T**FF*FF*")
	}
	return planarRelations[rel](s.planar(), t.planar())
}

// RelatesToPoint is Relates for a valid position.
func (s *Shape) RelatesToPoint(rel Relation, p XY) bool {
	p.X = wrapped(p.X)
	if rel == Any {
		return s.NearBox(Box{p.X, p.Y, p.X, p.Y})
	}
	q, same := s.Point()
	return ofPoint[rel](s.locate(p), same && (q == p || q.Y == p.Y && math.Abs(p.Y) == 90))
}

var planarRelations = map[Relation]func(a, b geom.Geometry) (bool, error){
	Contains: geom.Contains, CoveredBy: geom.CoveredBy, Covers: geom.Covers, Crosses: geom.Crosses,
	Overlaps: geom.Overlaps, Touches: geom.Touches, Within: geom.Within,
}

// ErrInvolved says that to relate two geometries would take too much time or memory.
var ErrInvolved = errors.New("the geometries are too involved: their edges may cross too often")

// Bounds of what is related: the library makes every crossing of edges, which takes it
// tens of microseconds each.
const (
	maxCrossings = 20_000
	maxPairs     = 5_000_000  // of edges whose boxes meet, of shapes of which is asked whether they meet
	maxParts     = 20_000_000 // of areas and parts of the other shape
)

// involved reports whether the edges of two shapes may cross each other too often, or
// those of one of them, where they are of lines or of parts of a collection.
func (s *Shape) involved(t *Shape) bool {
	a, b := s.allEdges(), t.allEdges()
	if alike(a) || alike(b) {
		return true
	}
	n := meeting(a, b, maxCrossings)
	for _, own := range []struct {
		of    *Shape
		edges []edge
	}{{s, a}, {t, b}} {
		if len(own.of.lines) > 0 || len(own.of.areas) > 1 {
			n += meeting(own.edges, own.edges, maxCrossings+3*len(own.edges)) - 3*len(own.edges) // each meets itself and its neighbours
		}
	}
	return n > maxCrossings
}

// meeting counts the pairs of edges whose boxes meet, to a little beyond most.
func meeting(a, b []edge, most int) (n int) {
	tree := treeOf(b)
	for _, e := range a {
		if search(tree, e.box(), func(int) bool { n++; return n <= most }); n > most {
			break
		}
	}
	return n
}

func (s *Shape) allEdges() (all []edge) {
	all = edgesOf(s.lines...)
	for _, a := range s.areas {
		all = append(all, a.edges...)
	}
	return all
}

// boxesMeet reports whether boxes of parts of the shapes have positions in common, on the
// earth: ±180 degrees are the same meridian.
func (s *Shape) boxesMeet(t *Shape) bool {
	for _, b := range s.boxes {
		for _, c := range t.boxes {
			if b.meetsRound(c) {
				return true
			}
		}
	}
	return false
}

// meetsRound is meets where ±180 degrees are the same meridian.
func (b Box) meetsRound(c Box) bool {
	return b.meets(c) || (b.East == 180 && c.West == -180 || c.East == 180 && b.West == -180) && meetLatitudes(b, c)
}

func meetLatitudes(b, c Box) bool { return b.South <= c.North && c.South <= b.North }

// intersects reports whether two shapes, none of them a disc, have positions in common.
func (s *Shape) intersects(t *Shape) (bool, error) {
	if !s.boxesMeet(t) {
		return false, nil
	}
	if len(s.areas)*len(t.boxes)+len(t.areas)*len(s.boxes) > maxParts {
		return false, ErrInvolved
	}
	if s.holdsPart(t) || t.holdsPart(s) {
		return true, nil
	}
	a, b := s.pieces(), t.pieces()
	if len(a) > len(b) { // the tree is of the larger one
		a, b = b, a
	}
	shifts := []float64{0}
	if s.atSeam() && t.atSeam() {
		shifts = []float64{0, 360, -360}
	}
	tree, left := treeOf(b), maxPairs
	for _, by := range shifts {
		for _, e := range a {
			e = edge{XY{e.a.X + by, e.a.Y}, XY{e.b.X + by, e.b.Y}}
			found := false
			search(tree, e.box(), func(i int) bool {
				left--
				found = e.crosses(b[i])
				return !found && left > 0
			})
			if found {
				return true, nil
			}
			if left <= 0 {
				return false, ErrInvolved
			}
		}
	}
	return false, nil
}

// pieces are the edges of the shape and its points, as edges without length.
func (s *Shape) pieces() []edge {
	all := s.allEdges()
	for _, p := range s.points {
		all = append(all, edge{p, p})
	}
	return all
}

// holdsPart reports whether a point of t, or one end of a line or a ring of it, lies in an
// area of s. Where edges do not cross, that is so if any position of t does.
func (s *Shape) holdsPart(t *Shape) bool {
	in := func(p XY) bool {
		return slices.ContainsFunc(s.areas, func(a *area) bool {
			return a.locate(p) != exterior || math.Abs(p.X) == 180 && a.locate(XY{-p.X, p.Y}) != exterior
		})
	}
	return len(s.areas) > 0 && (slices.ContainsFunc(t.points, in) || slices.ContainsFunc(t.lines, func(l []XY) bool { return in(l[0]) }) ||
		slices.ContainsFunc(t.areas, func(a *area) bool { return in(a.edges[0].a) }))
}

// atSeam reports whether a part of the shape touches ±180 degrees.
func (s *Shape) atSeam() bool {
	return slices.ContainsFunc(s.boxes, func(b Box) bool { return b.West == -180 || b.East == 180 })
}

// locate returns where a position lies. One on the antimeridian lies on both sides of it,
// a pole on all meridians.
func (s *Shape) locate(p XY) place {
	if s.disc != nil {
		if s.disc.holds(p) {
			return interior
		}
		return exterior
	}
	at := s.locateOnce(p)
	if math.Abs(p.X) == 180 {
		other := s.locateOnce(XY{-p.X, p.Y})
		if at == boundary && other == boundary { // of both sides of the cut, which is none of the shape's own
			return interior
		}
		at = max(at, other)
	}
	if math.Abs(p.Y) == 90 && at != interior {
		at = max(at, s.atPole(p.Y))
	}
	return at
}

// atPole returns how a pole lies: all meridians meet there.
func (s *Shape) atPole(y float64) place {
	at, from, to := exterior, 180.0, -180.0
	for _, b := range s.boxes {
		if b.South <= y && y <= b.North {
			at, from, to = boundary, min(from, b.West), max(to, b.East)
		}
	}
	if at == boundary && from == -180 && to == 180 && len(s.areas) > 0 {
		at = interior
	}
	return at
}

func (s *Shape) locateOnce(p XY) place {
	at := exterior
	for _, a := range s.areas {
		at = max(at, a.locate(p))
	}
	for _, line := range s.lines {
		at = max(at, locateOnLine(line, p))
	}
	if at != interior && slices.Contains(s.points, p) {
		at = interior
	}
	return at
}

// locateOnLine returns where a position lies: the ends of a line that is not closed are its
// boundary.
func locateOnLine(line []XY, p XY) place {
	on := false
	for i := 1; i < len(line) && !on; i++ {
		on = edge{line[i-1], line[i]}.holds(p)
	}
	last := line[len(line)-1]
	switch {
	case !on:
		return exterior
	case line[0] != last && (p == line[0] || p == last):
		return boundary
	}
	return interior
}
