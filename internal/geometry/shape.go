package geometry

import (
	"errors"
	"fmt"
	"math"

	"github.com/golang/geo/s2"
	"github.com/peterstace/simplefeatures/geom"
)

// EarthRadius is the mean radius of the earth (IUGG's R1) in metres.
const EarthRadius = 6371008.8

// XY is a position: longitude and latitude in degrees.
type XY struct{ X, Y float64 }

// point is the position on the unit sphere.
func (p XY) point() s2.Point { return s2.PointFromLatLng(s2.LatLngFromDegrees(p.Y, p.X)) }

// Limits bound what is read.
type Limits struct {
	Positions int // of all parts together
	Depth     int // of collections in collections
}

// Box is a rectangle of positions that does not cross the antimeridian.
type Box struct{ West, South, East, North float64 }

func (b Box) meets(c Box) bool {
	return b.West <= c.East && c.West <= b.East && b.South <= c.North && c.South <= b.North
}

// with returns the box that holds a position too.
func (b Box) with(p XY) Box {
	return Box{min(b.West, p.X), min(b.South, p.Y), max(b.East, p.X), max(b.North, p.Y)}
}

func (b Box) union(c Box) Box {
	return Box{min(b.West, c.West), min(b.South, c.South), max(b.East, c.East), max(b.North, c.North)}
}

// nowhere is the box of nothing.
var nowhere = Box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}

// Shape is a geometry: points, lines and areas, cut at the antimeridian. It is for one
// goroutine.
type Shape struct {
	points []XY
	lines  [][]XY
	areas  []*area
	plane  []geom.Geometry // the parts as the library for relations has them
	disc   *Disc           // of a circle or an ellipse, which is exact for points
	boxes  []Box           // of the parts
	one    geom.Geometry   // all of plane
	made   bool            // one is there
	shown  *Shape          // of a disc: its polygon
}

// ErrEmpty says that a geometry has no positions.
var ErrEmpty = errors.New("the geometry is empty")

// errTooLarge says that a geometry goes over the limits.
func errTooLarge(l Limits) error {
	return fmt.Errorf("the geometry has more than %d positions", l.Positions)
}

// Point returns the only point of a shape that is nothing but that.
func (s *Shape) Point() (XY, bool) {
	if len(s.points) == 1 && len(s.lines)+len(s.areas) == 0 && s.disc == nil {
		return s.points[0], true
	}
	return XY{}, false
}

// PointAt returns the shape of a position, which must be a valid one.
func PointAt(p XY) *Shape {
	s := &Shape{}
	s.addPoint(p)
	return s
}

// Bounds returns the smallest box that holds all parts of the shape.
func (s *Shape) Bounds() Box {
	all := nowhere
	for _, b := range s.boxes {
		all = all.union(b)
	}
	return all
}

func (s *Shape) addPoint(p XY) {
	p.X = wrapped(p.X)
	s.points = append(s.points, p)
	s.boxes = append(s.boxes, Box{p.X, p.Y, p.X, p.Y})
	s.plane = append(s.plane, geom.XY{X: p.X, Y: p.Y}.AsPoint().AsGeometry())
}

func (s *Shape) addArea(p geom.Polygon) {
	a := newArea(p)
	s.areas = append(s.areas, a)
	s.boxes = append(s.boxes, a.box)
	s.plane = append(s.plane, p.AsGeometry())
}

// apart checks that the polygons of a multipolygon, those from the n-th on, lie beside
// each other.
func (s *Shape) apart(n int) error {
	if len(s.areas)-n < 2 {
		return nil
	}
	ps := make([]geom.Polygon, 0, len(s.areas)-n)
	var edges []edge
	for _, a := range s.areas[n:] {
		ps, edges = append(ps, a.polygon), append(edges, a.edges...)
	}
	if tangledEdges(edges) {
		return errTangled
	}
	return geom.NewMultiPolygon(ps).Validate()
}

func (s *Shape) addLine(line []XY) error {
	l := geom.NewLineString(sequence(line))
	if err := l.Validate(); err != nil {
		return err
	}
	box := nowhere
	for _, p := range line {
		box = box.with(p)
	}
	s.lines = append(s.lines, line)
	s.boxes = append(s.boxes, box)
	s.plane = append(s.plane, l.AsGeometry())
	return nil
}

// planar returns the shape as one geometry in the plane.
func (s *Shape) planar() geom.Geometry {
	if s.made {
		return s.one
	}
	s.made = true
	switch {
	case len(s.plane) == 1:
		s.one = s.plane[0]
	case len(s.points) == len(s.plane):
		ps := make([]geom.Point, len(s.plane))
		for i := range ps {
			ps[i] = s.plane[i].MustAsPoint()
		}
		s.one = geom.NewMultiPoint(ps).AsGeometry()
	case len(s.lines) == len(s.plane):
		ls := make([]geom.LineString, len(s.plane))
		for i := range ls {
			ls[i] = s.plane[i].MustAsLineString()
		}
		s.one = geom.NewMultiLineString(ls).AsGeometry()
	case len(s.areas) == len(s.plane):
		ps := make([]geom.Polygon, len(s.plane))
		for i := range ps {
			ps[i] = s.plane[i].MustAsPolygon()
		}
		if m := geom.NewMultiPolygon(ps); m.Validate() == nil {
			s.one = m.AsGeometry()
			break
		}
		fallthrough
	default:
		s.one = geom.NewGeometryCollection(s.plane).AsGeometry()
	}
	return s.one
}

func sequence(ps []XY) geom.Sequence {
	floats := make([]float64, 0, 2*len(ps))
	for _, p := range ps {
		floats = append(floats, p.X, p.Y)
	}
	return geom.NewSequence(floats, geom.DimXY)
}

// wrapped brings a longitude into (-180, 180].
func wrapped(x float64) float64 {
	for x > 180 {
		x -= 360
	}
	for x <= -180 {
		x += 360
	}
	return x
}

// checkPosition refuses what is no position on the earth. Longitudes may go on beyond
// ±180, once round.
func checkPosition(p XY) error {
	if !(math.Abs(p.Y) <= 90) {
		return fmt.Errorf("the latitude %v is not between -90 and 90", p.Y)
	}
	if !(math.Abs(p.X) <= 360) {
		return fmt.Errorf("the longitude %v is not between -360 and 360", p.X)
	}
	return nil
}
