package geometry

import (
	"errors"
	"math"

	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"
)

// Cover returns at most so many cells, about, that hold the shape; where that can't be
// done with so few, a few more. Their order is that of their numbers.
func (s *Shape) Cover(cells int) []s2.CellID {
	if p, ok := s.Point(); ok {
		return []s2.CellID{s2.CellIDFromLatLng(s2.LatLngFromDegrees(p.Y, p.X))}
	}
	c := s2.RegionCoverer{MaxLevel: s2.MaxLevel, MaxCells: cells, LevelMod: 1}
	if s.disc != nil {
		return c.Covering(s.disc.cap())
	}
	return c.Covering(region{s})
}

// Earth are the cells of the whole earth.
func Earth() []s2.CellID {
	all := make([]s2.CellID, 6)
	for face := range all {
		all[face] = s2.CellIDFromFace(face)
	}
	return all
}

// region is a shape as s2 covers it. Cells are looked at as the rectangles round them, so
// that a straight edge in degrees, which is none on the sphere, lies where it does.
type region struct{ *Shape }

var _ s2.Region = region{}

// CapBound is s2.Region's.
func (r region) CapBound() s2.Cap { return r.RectBound().CapBound() }

// RectBound is s2.Region's.
func (r region) RectBound() s2.Rect {
	bound := s2.EmptyRect()
	for _, b := range r.boxes {
		bound = bound.Union(s2.RectFromLatLng(s2.LatLngFromDegrees(b.South, b.West)).AddPoint(s2.LatLngFromDegrees(b.North, b.East)))
		if b.East-b.West >= 180 { // the shorter way would be the other one
			bound.Lng = s1.FullInterval()
		}
	}
	return bound
}

// ContainsPoint is s2.Region's.
func (r region) ContainsPoint(p s2.Point) bool {
	ll := s2.LatLngFromPoint(p)
	return r.locate(XY{ll.Lng.Degrees(), ll.Lat.Degrees()}) != exterior
}

// ContainsCell is s2.Region's.
func (r region) ContainsCell(c s2.Cell) bool {
	boxes := boxesOf(c.RectBound())
	for _, b := range boxes {
		if r.rectangle(b) != interior {
			return false
		}
	}
	return len(boxes) > 0
}

// IntersectsCell is s2.Region's.
func (r region) IntersectsCell(c s2.Cell) bool {
	for _, b := range boxesOf(c.RectBound()) {
		if r.rectangle(b) != exterior {
			return true
		}
	}
	return false
}

// CellUnionBound is s2.Region's.
func (r region) CellUnionBound() []s2.CellID { return r.CapBound().CellUnionBound() }

// rectangle returns how a box lies: interior if a single area holds it.
func (s *Shape) rectangle(b Box) place {
	at := exterior
	for _, a := range s.areas {
		if at = max(at, a.rectangle(b)); at == interior {
			return at
		}
	}
	if at == exterior && s.pointsMeet(b) {
		at = boundary
	}
	return at
}

// pointsMeet reports whether a point or a line meets a box.
func (s *Shape) pointsMeet(b Box) bool {
	for _, p := range s.points {
		if b.meets(Box{p.X, p.Y, p.X, p.Y}) || math.Abs(p.X) == 180 && b.meets(Box{-p.X, p.Y, -p.X, p.Y}) {
			return true
		}
	}
	for _, line := range s.lines {
		for i := 1; i < len(line); i++ {
			if (edge{line[i-1], line[i]}).meets(b) {
				return true
			}
		}
	}
	return false
}

// Center is the middle of the shape: of a disc its centre, of a point itself, otherwise
// the middle of the smallest circle that s2 finds round its parts.
func (s *Shape) Center() XY {
	if s.disc != nil {
		return s.disc.center
	}
	if p, ok := s.Point(); ok {
		return p
	}
	ll := region{s}.RectBound().Center()
	return XY{ll.Lng.Degrees(), ll.Lat.Degrees()}
}

// Distance is how far the nearest position of the shape is from p, in metres. The shape is
// no disc.
func (s *Shape) Distance(p XY) float64 {
	at := p.point()
	best := math.Inf(1)
	near := func(a s1.Angle) { best = min(best, float64(a)) }
	for _, q := range s.points {
		near(at.Distance(q.point()))
	}
	for _, line := range s.lines {
		for i := 1; i < len(line); i++ {
			near(edge{line[i-1], line[i]}.distance(at, best))
		}
	}
	for _, a := range s.areas {
		if a.locate(p) != exterior || math.Abs(p.X) == 180 && a.locate(XY{-p.X, p.Y}) != exterior {
			return 0
		}
		for _, e := range a.edges {
			near(e.distance(at, best))
		}
	}
	return best * EarthRadius
}

// straight is how many degrees of longitude an edge may span to be taken for the great
// circle between its ends.
const straight = 0.5

// distance is how far an edge is, if that is less than best. Edges that span much are taken in
// pieces.
func (e edge) distance(at s2.Point, best float64) s1.Angle {
	n := e.pieces()
	return s1.Angle(pieced{e, at, n}.distance(0, n, best))
}

// pieces is how many pieces an edge is taken in.
func (e edge) pieces() int {
	if e.a.Y == e.b.Y && math.Abs(e.a.Y) == 90 {
		return 1
	}
	return int(max(1, math.Ceil(math.Abs(e.b.X-e.a.X)/straight)))
}

// maxLong is how many pieces edges may have beyond one each: each costs the distance to it.
const maxLong = 250_000

var errLong = errors.New("the edges of the geometry go round the earth more than 347 times")

// long refuses a geometry whose edges are too long together.
func (s *Shape) long() error {
	n := 0
	for _, e := range s.allEdges() {
		if n += e.pieces() - 1; n > maxLong {
			return errLong
		}
	}
	return nil
}

// pieced is an edge in pieces, and a position it is far from.
type pieced struct {
	edge
	at s2.Point
	n  int
}

func (p pieced) position(i int) XY {
	if i == p.n {
		return p.b
	}
	return XY{p.a.X + (p.b.X-p.a.X)*float64(i)/float64(p.n), p.a.Y + (p.b.Y-p.a.Y)*float64(i)/float64(p.n)}
}

// distance is the distance of some of the pieces, or best if that is less. Halves that can't be
// nearer are passed over: nothing of them is farther from their middle than they are long, in degrees.
func (p pieced) distance(from, to int, best float64) float64 {
	if to-from == 1 {
		return min(best, float64(s2.DistanceFromSegment(p.at, p.position(from).point(), p.position(to).point())))
	}
	middle := (from + to) / 2
	long := max(to-middle, middle-from)
	reach := math.Hypot(p.b.X-p.a.X, p.b.Y-p.a.Y) * math.Pi / 180 * float64(long) / float64(p.n)
	if float64(p.at.Distance(p.position(middle).point()))-reach > best {
		return best
	}
	return p.distance(middle, to, p.distance(from, middle, best))
}

// Apart is how far two positions are from each other, in metres.
func Apart(a, b XY) float64 { return float64(a.point().Distance(b.point())) * EarthRadius }

// NearBox reports whether a box meets one of the boxes round the shape's parts.
func (s *Shape) NearBox(b Box) bool {
	for _, own := range s.boxes {
		if own.meetsRound(b) {
			return true
		}
	}
	return false
}

// CoverBoxes returns cells, about so many at most, that hold the boxes round the shape's
// parts.
func (s *Shape) CoverBoxes(cells int) []s2.CellID {
	all := s.boxes
	if len(all) > 100 {
		all = []Box{s.Bounds()}
	}
	boxes := &Shape{}
	for _, b := range all {
		if err := boxes.addBox(b); err != nil {
			return Earth()
		}
	}
	return boxes.Cover(cells)
}
