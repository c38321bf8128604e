package selector

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/geometry"
	"github.com/sectional/sectional/internal/jsonscan"
)

// The operators about places are ours: CouchDB knows their words and refuses them. Their
// operands are as MongoDB's, positions being longitude and latitude in degrees.

// errPlace refuses the operand of an operator about places.
func errPlace(word string, err error) error {
	return dberr.New(dberr.Invalid, "bad_arg", "Bad argument for operator %s: %s", word, err.Error())
}

// geoTest is $geoWithin and $geoIntersects.
type geoTest struct {
	probe  *geometry.Probe
	within bool
}

func compileGeo(within bool) func(arg []byte) (tester, error) {
	word := map[bool]string{true: "$geoWithin", false: "$geoIntersects"}[within]
	return func(arg []byte) (tester, error) {
		s, err := areaOf(within, arg)
		if err != nil {
			return nil, errPlace(word, err)
		}
		p, err := geometry.NewProbe(s)
		if err != nil {
			return nil, errPlace(word, err)
		}
		return &geoTest{p, within}, nil
	}
}

// stepsPerByte is how many steps it takes to read a byte of a geometry.
const stepsPerByte = 10

// match implements tester. What is not a geometry, or one that an index would leave out, meets
// nothing.
func (t *geoTest) match(v value, b *Budget) bool {
	if v.kind() != jsonscan.Object || !b.spend(stepsPerByte*len(v.b)) {
		return false
	}
	s, err := geometry.ParseGeoJSON(v.b, geometry.OfDocuments)
	if err != nil {
		return false
	}
	hold := t.probe.Meets
	if t.within {
		hold = t.probe.Covers
	}
	ok, err := hold(s, b.spend)
	if errors.Is(err, geometry.ErrInvolved) && b.err == nil {
		b.err = dberr.New(dberr.Invalid, "too_many_steps", "To hold the geometry of a document against this one takes too long: their edges come near each other too often. Simplify the geometry.")
		b.allowance = -1
	}
	return ok
}

// areaOf reads the operand of $geoWithin or $geoIntersects.
func areaOf(within bool, arg []byte) (*geometry.Shape, error) {
	name, of, ok := onlyMember(arg)
	read := map[string]func([]byte) (*geometry.Shape, error){"$geometry": geometryOf}
	if within {
		read["$geometry"] = polygonsOf
		read["$box"], read["$polygon"], read["$centerSphere"] = boxOf, polygonOf, sphereOf
	}
	switch {
	case ok && read[name] != nil:
		return read[name](of)
	case name == "$center":
		return nil, errors.New("circles are $centerSphere here, whose radius is in radians")
	case within:
		return nil, errors.New("it takes an object with one of $geometry, $box, $polygon and $centerSphere")
	}
	return nil, errors.New("it takes an object with $geometry")
}

// onlyMember returns the only member of an object.
func onlyMember(object []byte) (name string, value []byte, ok bool) {
	if !isObject(object) {
		return "", nil, false
	}
	all := lastMembers(object)
	if len(all) != 1 {
		return "", nil, false
	}
	return all[0].Name, all[0].Value, true
}

// references are the names of the one reference system there is.
var references = map[string]bool{"EPSG:4326": true, "urn:ogc:def:crs:EPSG::4326": true, "urn:ogc:def:crs:OGC:1.3:CRS84": true, "urn:ogc:def:crs:OGC::CRS84": true}

// geometryOf reads GeoJSON. A reference system that it names must be the one there is: one of
// MongoDB's turns the meaning of a polygon round.
func geometryOf(v []byte) (*geometry.Shape, error) {
	if crs, ok := jsonscan.Member(v, "crs"); isObject(v) && ok {
		properties, _ := jsonscan.Member(crs, "properties")
		name, _ := jsonscan.Member(properties, "name")
		if !isString(name) || !references[string(jsonscan.Text(nil, name))] {
			return nil, errors.New("crs can only be EPSG:4326 or CRS84")
		}
	}
	return geometry.ParseGeoJSON(v, geometry.OfQueries)
}

// polygonsOf is geometryOf for polygons, whose edges lie in none of the others.
func polygonsOf(v []byte) (*geometry.Shape, error) {
	s, err := geometryOf(v)
	if err != nil {
		return nil, err
	}
	if kind, _ := jsonscan.Member(v, "type"); !jsonscan.NameIs(kind, "Polygon") && !jsonscan.NameIs(kind, "MultiPolygon") {
		return nil, errors.New("it takes an area: a Polygon or a MultiPolygon")
	}
	return s, nil
}

// boxOf reads the corners of a box: [[west, south], [east, north]].
func boxOf(v []byte) (*geometry.Shape, error) {
	ps, err := positionsOf(v)
	if err == nil && len(ps) != 2 {
		err = errors.New("$box takes [[west, south], [east, north]]")
	}
	if err != nil {
		return nil, err
	}
	if ps[0].X == ps[1].X || ps[0].Y == ps[1].Y {
		return nil, errors.New("the box has no area")
	}
	return geometry.Rectangle(geometry.Box{West: ps[0].X, South: ps[0].Y, East: ps[1].X, North: ps[1].Y})
}

// polygonOf reads the corners of a polygon, of which the last may be the first again.
func polygonOf(v []byte) (*geometry.Shape, error) {
	ps, err := positionsOf(v)
	if err != nil {
		return nil, err
	}
	if len(ps) < 3 {
		return nil, errors.New("$polygon takes three positions or more")
	}
	b := []byte(`{"type":"Polygon","coordinates":[[`)
	for _, p := range ps {
		b = fmt.Appendf(b, "[%v,%v],", p.X, p.Y)
	}
	if last := len(ps) - 1; ps[last] == ps[0] {
		b = b[:len(b)-1]
	} else {
		b = fmt.Appendf(b, "[%v,%v]", ps[0].X, ps[0].Y)
	}
	return geometry.ParseGeoJSON(append(b, "]]}"...), geometry.OfQueries)
}

// sphereOf reads a circle: [[longitude, latitude], radius in radians].
func sphereOf(v []byte) (*geometry.Shape, error) {
	center, _ := jsonscan.Element(v, 0)
	radius, _ := jsonscan.Element(v, 1)
	r, ok := numberOf(radius)
	p, err := positionOf(center)
	if !isArray(v) || jsonscan.Len(v) != 2 || !ok || err != nil {
		return nil, errors.New("$centerSphere takes [[longitude, latitude], radius in radians]")
	}
	if r < 0 || r > math.Pi {
		return nil, errors.New("the radius of $centerSphere is in radians: from 0 to π")
	}
	return geometry.Ellipse(p, r*geometry.EarthRadius, r*geometry.EarthRadius)
}

func positionsOf(v []byte) (all []geometry.XY, err error) {
	if !isArray(v) {
		return nil, errors.New("positions are [longitude, latitude]")
	}
	for it := jsonscan.ElementsOf(v); ; {
		e, ok := it.Next()
		if !ok {
			return all, nil
		}
		p, err := positionOf(e)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

func positionOf(v []byte) (p geometry.XY, err error) {
	if !isArray(v) || jsonscan.Len(v) != 2 {
		return p, errors.New("positions are [longitude, latitude]")
	}
	x, _ := jsonscan.Element(v, 0)
	y, _ := jsonscan.Element(v, 1)
	var okX, okY bool
	p.X, okX = numberOf(x)
	p.Y, okY = numberOf(y)
	if !okX || !okY {
		return p, errors.New("positions are [longitude, latitude]")
	}
	return p, nil
}

func numberOf(v []byte) (float64, bool) {
	if jsonscan.KindOf(v) != jsonscan.Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(jsonscan.Trim(v)), 64)
	return f, err == nil
}

// Nearness is the operand of $near: what lies nearest to a position, no nearer than Least and
// no farther than Most metres; Most 0 is no bound.
type Nearness struct {
	From     geometry.XY
	Min, Max float64
}

// nearTest is $near. It holds for whatever the index finds, which is what gives the order; so
// it is only for requests that read one.
type nearTest struct{ Nearness }

func (*nearTest) match(value, *Budget) bool { return true }

func compileNear(arg []byte) (tester, error) {
	n, err := nearnessOf(arg)
	if err != nil {
		return nil, errPlace("$near", err)
	}
	return &nearTest{n}, nil
}

var errNearness = errors.New(`it takes {"$geometry": a Point, "$minDistance": metres, "$maxDistance": metres}`)

func nearnessOf(arg []byte) (n Nearness, err error) {
	if !isObject(arg) {
		return n, errNearness
	}
	placed := false
	for _, m := range lastMembers(arg) {
		switch m.Name {
		case "$geometry":
			s, err := geometryOf(m.Value)
			if err != nil {
				return n, err
			}
			if n.From, placed = s.Point(); !placed {
				return n, errNearness
			}
		case "$minDistance", "$maxDistance":
			f, ok := numberOf(m.Value)
			if !ok || f < 0 {
				return n, errNearness
			}
			if m.Name == "$minDistance" {
				n.Min = f
			} else {
				n.Max = max(f, math.SmallestNonzeroFloat64) // 0 is the place itself
			}
		default:
			return n, errNearness
		}
	}
	if !placed || n.Max > 0 && n.Min > n.Max {
		return n, errNearness
	}
	return n, nil
}

// Area is what $geoWithin or $geoIntersects asks for; nil for any other operator.
func (n *Node) Area() *geometry.Probe {
	if t, ok := n.test.(*geoTest); ok {
		return t.probe
	}
	return nil
}

// Near is what $near asks for; nil for any other operator.
func (n *Node) Near() *Nearness {
	if t, ok := n.test.(*nearTest); ok {
		return &t.Nearness
	}
	return nil
}

// errNear refuses $near where nothing is put into an order.
var errNear = dberr.New(dberr.Invalid, "not_supported", "Unsupported operator: $near orders what a query finds by distance. To filter by it use $geoWithin with $centerSphere.")

// positions is about how many positions an operand has, a circle those of its polygon.
func positions(op Op, arg []byte) int {
	if op != GeoWithin && op != GeoIntersects {
		return 0
	}
	if name, _, _ := onlyMember(arg); name == "$centerSphere" {
		return geometry.Corners
	}
	return bytes.Count(arg, []byte{'['})
}
