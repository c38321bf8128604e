package geometry

import (
	"errors"
	"fmt"
	"math"

	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"
)

// Disc is a circle or an ellipse on the earth: the positions p for which (x/rx)²+(y/ry)²
// is at most 1, where x and y are how far east and north of the centre p lies, along the
// great circle that leads there. That of equal ranges is the circle of that radius.
type Disc struct {
	center XY
	rx, ry float64 // in metres
	at     s2.Point
}

// Ellipse returns the shape of a Disc: positions by their distance; against lines and
// areas it is a polygon of at least 180 corners.
func Ellipse(center XY, rx, ry float64) (*Shape, error) {
	if err := checkPosition(center); err != nil {
		return nil, err
	}
	if !(rx >= 0 && ry >= 0) || math.IsInf(rx, 0) || math.IsInf(ry, 0) {
		return nil, errors.New("a radius is negative or no number")
	}
	if rx != ry && max(rx, ry) > maxEllipse {
		return nil, fmt.Errorf("an ellipse reaches no farther than %d km", maxEllipse/1000)
	}
	if rx == 0 || ry == 0 {
		rx, ry = max(rx, 1e-6), max(ry, 1e-6)
	}
	center.X = wrapped(center.X)
	d := &Disc{center: center, rx: rx, ry: ry, at: center.point()}
	return &Shape{disc: d, boxes: d.boxes()}, nil
}

// maxEllipse is the longest radius of an ellipse that is no circle, in metres: beyond a
// quarter of the way round its ends come close to each other.
const maxEllipse = 10_000_000

// holds reports whether a position lies in the disc.
func (d *Disc) holds(p XY) bool {
	q := p.point()
	far := float64(d.at.Distance(q)) * EarthRadius
	if d.rx == d.ry {
		return far <= d.rx
	}
	b := d.bearing(p)
	x, y := far*math.Sin(b)/d.rx, far*math.Cos(b)/d.ry
	return x*x+y*y <= 1
}

// bearing is the direction to a position, clockwise from north.
func (d *Disc) bearing(p XY) float64 {
	φ1, φ2, Δ := d.center.Y*math.Pi/180, p.Y*math.Pi/180, (p.X-d.center.X)*math.Pi/180
	return math.Atan2(math.Sin(Δ)*math.Cos(φ2), math.Cos(φ1)*math.Sin(φ2)-math.Sin(φ1)*math.Cos(φ2)*math.Cos(Δ))
}

// radius is the distance, as an angle, of the edge of the disc in a direction.
func (d *Disc) radius(bearing float64) float64 {
	x, y := math.Sin(bearing)/d.rx, math.Cos(bearing)/d.ry
	return 1 / math.Sqrt(x*x+y*y) / EarthRadius
}

// edge is the position on the edge of the disc in a direction.
func (d *Disc) edge(bearing float64) XY {
	r := min(d.radius(bearing), math.Pi-1e-9)
	φ1, λ1 := d.center.Y*math.Pi/180, d.center.X*math.Pi/180
	φ2 := math.Asin(max(-1, min(1, math.Sin(φ1)*math.Cos(r)+math.Cos(φ1)*math.Sin(r)*math.Cos(bearing))))
	if math.Cos(φ1) < 1e-12 { // at a pole directions are meridians
		λ2 := λ1 + bearing
		if φ1 > 0 {
			λ2 = λ1 + math.Pi - bearing
		}
		return XY{wrapped(λ2 * 180 / math.Pi), φ2 * 180 / math.Pi}
	}
	λ2 := λ1 + math.Atan2(math.Sin(bearing)*math.Sin(r)*math.Cos(φ1), math.Cos(r)-math.Sin(φ1)*math.Sin(φ2))
	return XY{wrapped(λ2 * 180 / math.Pi), φ2 * 180 / math.Pi}
}

// cap is a circle round the centre that holds the disc, and its polygon.
func (d *Disc) cap() s2.Cap {
	return s2.CapFromCenterAngle(d.at, s1.Angle(min(max(d.rx, d.ry)/EarthRadius*1.02, math.Pi)))
}

// boxes are rectangles that hold the disc.
func (d *Disc) boxes() []Box { return boxesOf(d.cap().RectBound()) }

// boxesOf returns a rectangle of s2's as boxes, a little larger.
func boxesOf(r s2.Rect) []Box {
	const margin = 1e-9
	deg := 180 / math.Pi
	south, north := max(r.Lat.Lo*deg-margin, -90), min(r.Lat.Hi*deg+margin, 90)
	west, east := r.Lng.Lo*deg-margin, r.Lng.Hi*deg+margin
	switch {
	case r.IsEmpty():
		return nil
	case r.Lng.IsFull() || east-west >= 360:
		return []Box{{-180, south, 180, north}}
	case r.Lng.IsInverted():
		return []Box{{west, south, 180, north}, {-180, south, east, north}}
	}
	all := []Box{{max(west, -180), south, min(east, 180), north}}
	if west <= -180 { // what touches the antimeridian lies on both sides of it
		all = append(all, Box{180, south, 180, north})
	}
	if east >= 180 {
		all = append(all, Box{-180, south, -180, north})
	}
	return all
}

// Corners is how many corners the polygon of a disc has at least.
const Corners = 180

// outline returns the disc as a polygon.
func (s *Shape) outline() (*Shape, error) {
	if s.shown != nil {
		return s.shown, nil
	}
	d := s.disc
	out := &Shape{}
	var err error
	if min(d.rx, d.ry)/EarthRadius >= math.Pi-1e-9 {
		err = out.addBox(Box{-180, -90, 180, 90})
	} else {
		err = out.addOutline(d)
	}
	if err != nil {
		return nil, err
	}
	s.shown = out
	return out, nil
}

func (s *Shape) addOutline(d *Disc) error {
	ring := []XY{d.edge(0)}
	for i := range Corners {
		from, to := 2*math.Pi*float64(i)/Corners, 2*math.Pi*float64(i+1)/Corners
		ring = d.arc(ring, from, to, 10)
	}
	ring[len(ring)-1] = ring[0]
	l, err := newLoop(ring)
	if err != nil {
		return err
	}
	north, south := d.holds(XY{0, 90}), d.holds(XY{0, -90})
	if l.turn == 0 && !north && !south {
		if l.plain() {
			return s.addPlain([]loop{l})
		}
		g, err := l.flat()
		if err == nil {
			err = s.addAreas(g)
		}
		return err
	}
	return s.addRoundPole(&l, north, south)
}

// addRoundPole adds the polygon of a disc that holds a pole, or both.
func (s *Shape) addRoundPole(l *loop, north, south bool) error {
	path := l.path
	if l.turn != 0 {
		pole := 90.0
		if !north {
			pole = -90
		}
		path = l.closedOver(pole)
	}
	p := boxPolygon(Box{-180, -90, 180, 90}).AsGeometry()
	g, err := fold(polygonOf(path), path)
	if err == nil && north && south && l.turn == 0 {
		g, err = differ(p, g)
	}
	if err == nil {
		err = s.addAreas(g)
	}
	return err
}

// arc appends the positions of the edge after one direction, up to another, more of them
// where they would lie far apart.
func (d *Disc) arc(ring []XY, from, to float64, depth int) []XY {
	next := d.edge(to)
	last := ring[len(ring)-1]
	if depth > 0 && (math.Abs(step(last.X, next.X)) > 3 || math.Abs(next.Y-last.Y) > 3) {
		middle := (from + to) / 2
		return d.arc(d.arc(ring, from, middle, depth-1), middle, to, depth-1)
	}
	return append(ring, next)
}
