package geometry

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/sectional/sectional/internal/jsonscan"
)

// ParseGeoJSON reads a geometry (RFC 7946), which must be valid JSON. Its positions may
// have further numbers, such as a height, which do not count.
func ParseGeoJSON(text []byte, l Limits) (*Shape, error) {
	s := &Shape{}
	r := reader{limits: l, left: l.Positions}
	if err := r.geometry(s, text, 0); err != nil {
		return nil, err
	}
	if len(s.boxes) == 0 {
		return nil, ErrEmpty
	}
	return s, s.long()
}

// reader reads the parts of a geometry within limits.
type reader struct {
	limits Limits
	left   int // positions that may still be read
}

var errNoGeometry = errors.New("it is not a geometry")

func (r *reader) geometry(s *Shape, text []byte, depth int) error {
	if jsonscan.KindOf(text) != jsonscan.Object {
		return errNoGeometry
	}
	if depth > r.limits.Depth {
		return fmt.Errorf("collections lie in collections more than %d deep", r.limits.Depth)
	}
	kind, _ := jsonscan.Member(text, "type")
	if jsonscan.KindOf(kind) != jsonscan.String {
		return errNoGeometry
	}
	name := string(jsonscan.Text(nil, kind))
	if name == "GeometryCollection" {
		list, _ := jsonscan.Member(text, "geometries")
		return elements(list, func(e []byte) error { return r.geometry(s, e, depth+1) })
	}
	read := geoJSONTypes[name]
	if read == nil {
		return fmt.Errorf("%q is not a type of geometry", name)
	}
	coordinates, _ := jsonscan.Member(text, "coordinates")
	return read(r, s, coordinates)
}

var geoJSONTypes = map[string]func(r *reader, s *Shape, coordinates []byte) error{
	"Point":           (*reader).jsonPoint,
	"LineString":      (*reader).jsonLine,
	"Polygon":         (*reader).jsonPolygon,
	"MultiPoint":      each((*reader).jsonPoint),
	"MultiLineString": each((*reader).jsonLine),
	"MultiPolygon":    each((*reader).jsonPolygon),
}

func each(read func(*reader, *Shape, []byte) error) func(*reader, *Shape, []byte) error {
	return func(r *reader, s *Shape, coordinates []byte) error {
		n := len(s.areas)
		if err := elements(coordinates, func(e []byte) error { return read(r, s, e) }); err != nil {
			return err
		}
		return s.apart(n)
	}
}

func (r *reader) jsonPoint(s *Shape, coordinates []byte) error {
	p, err := r.jsonPosition(coordinates)
	if err == nil {
		s.addPoint(p)
	}
	return err
}

func (r *reader) jsonLine(s *Shape, coordinates []byte) error {
	line, err := r.jsonPositions(coordinates)
	if err == nil {
		err = s.addFlatLine(line)
	}
	return err
}

func (r *reader) jsonPolygon(s *Shape, coordinates []byte) error {
	var rings [][]XY
	err := elements(coordinates, func(e []byte) error {
		ring, err := r.jsonPositions(e)
		rings = append(rings, ring)
		return err
	})
	if err == nil {
		err = s.addPolygon(rings)
	}
	return err
}

func (r *reader) jsonPositions(list []byte) (all []XY, err error) {
	err = elements(list, func(e []byte) error {
		p, err := r.jsonPosition(e)
		all = append(all, p)
		return err
	})
	return all, err
}

func (r *reader) jsonPosition(v []byte) (p XY, err error) {
	n := 0
	err = elements(v, func(e []byte) error {
		if jsonscan.KindOf(e) != jsonscan.Number {
			return errors.New("a position has something other than numbers")
		}
		f, err := strconv.ParseFloat(string(jsonscan.Trim(e)), 64)
		switch n++; n {
		case 1:
			p.X = f
		case 2:
			p.Y = f
		}
		return err
	})
	if err == nil && n < 2 {
		err = errors.New("a position has fewer than two numbers")
	}
	if err == nil {
		err = r.count(p)
	}
	return p, err
}

// count counts a position and refuses what is none.
func (r *reader) count(p XY) error {
	if r.left--; r.left < 0 {
		return errTooLarge(r.limits)
	}
	return checkPosition(p)
}

// elements calls fn with the elements of a JSON array.
func elements(list []byte, fn func(e []byte) error) error {
	if jsonscan.KindOf(list) != jsonscan.Array {
		return errors.New("the coordinates are no array where there must be one")
	}
	for it := jsonscan.ElementsOf(list); ; {
		e, ok := it.Next()
		if !ok {
			return nil
		}
		if err := fn(e); err != nil {
			return err
		}
	}
}
