package geometry

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParseWKT reads a geometry in well-known text (ISO 19125). Z and M may come after the
// type; further numbers of positions do not count. Something like SRID=4326; may come
// before it.
func ParseWKT(text string, l Limits) (*Shape, error) {
	if rest, ok := strings.CutPrefix(strings.TrimSpace(text), "SRID="); ok {
		srid, rest, _ := strings.Cut(rest, ";")
		if srid != "4326" {
			return nil, fmt.Errorf("the reference system %q is not 4326", srid)
		}
		text = rest
	}
	w := &wkt{rest: text, reader: reader{limits: l, left: l.Positions}}
	s := &Shape{}
	if err := w.geometry(s, 0); err != nil {
		return nil, err
	}
	if w.space(); w.rest != "" {
		return nil, errors.New("something stands behind the geometry")
	}
	if len(s.boxes) == 0 {
		return nil, ErrEmpty
	}
	return s, s.long()
}

// wkt is a text that is being read.
type wkt struct {
	reader
	rest string
}

func (w *wkt) space() { w.rest = strings.TrimLeft(w.rest, " \t\r\n") }

// word takes a run of letters, in capitals.
func (w *wkt) word() string {
	w.space()
	n := 0
	for n < len(w.rest) && (w.rest[n]|0x20 >= 'a' && w.rest[n]|0x20 <= 'z') {
		n++
	}
	word := strings.ToUpper(w.rest[:n])
	w.rest = w.rest[n:]
	return word
}

// take takes a character.
func (w *wkt) take(c byte) bool {
	if w.space(); w.rest == "" || w.rest[0] != c {
		return false
	}
	w.rest = w.rest[1:]
	return true
}

func (w *wkt) want(c byte) error {
	if w.take(c) {
		return nil
	}
	return fmt.Errorf("%q is missing before %q", c, w.rest[:min(len(w.rest), 20)])
}

func (w *wkt) number() (float64, error) {
	w.space()
	n := 0
	for n < len(w.rest) && strings.IndexByte("+-.0123456789eE", w.rest[n]) >= 0 {
		n++
	}
	f, err := strconv.ParseFloat(w.rest[:n], 64)
	if err != nil {
		return 0, fmt.Errorf("a number is missing before %q", w.rest[:min(len(w.rest), 20)])
	}
	w.rest = w.rest[n:]
	return f, nil
}

func (w *wkt) geometry(s *Shape, depth int) error {
	if depth > w.limits.Depth {
		return fmt.Errorf("collections lie in collections more than %d deep", w.limits.Depth)
	}
	name := w.word()
	for _, dimensions := range []string{"ZM", "Z", "M"} {
		if rest, ok := strings.CutSuffix(name, dimensions); ok && readWKT(rest) != nil {
			name = rest
		}
	}
	read := readWKT(name)
	if read == nil {
		return fmt.Errorf("%q is not a type of geometry", name)
	}
	next := w.rest
	switch w.word() {
	case "EMPTY":
		return nil
	case "Z", "M", "ZM":
		if next = w.rest; w.word() == "EMPTY" {
			return nil
		}
	}
	w.rest = next
	return read(w, s, depth)
}

// readWKT returns how a type of geometry is read; nil if there is no such type.
func readWKT(name string) func(w *wkt, s *Shape, depth int) error {
	switch name {
	case "POINT":
		return (*wkt).point
	case "LINESTRING":
		return (*wkt).line
	case "POLYGON":
		return (*wkt).polygon
	case "MULTIPOINT":
		return (*wkt).points
	case "MULTILINESTRING":
		return func(w *wkt, s *Shape, depth int) error {
			return w.list(func() error { return w.line(s, depth) })
		}
	case "MULTIPOLYGON":
		return func(w *wkt, s *Shape, depth int) error {
			n := len(s.areas)
			if err := w.list(func() error { return w.polygon(s, depth) }); err != nil {
				return err
			}
			return s.apart(n)
		}
	case "GEOMETRYCOLLECTION":
		return func(w *wkt, s *Shape, depth int) error {
			return w.list(func() error { return w.geometry(s, depth+1) })
		}
	}
	return nil
}

// list reads a list in parentheses.
func (w *wkt) list(one func() error) error {
	if err := w.want('('); err != nil {
		return err
	}
	for {
		if err := one(); err != nil {
			return err
		}
		if !w.take(',') {
			return w.want(')')
		}
	}
}

// position reads numbers with spaces between.
func (w *wkt) position() (p XY, err error) {
	if p.X, err = w.number(); err == nil {
		p.Y, err = w.number()
	}
	for n := 2; err == nil && n < 4; n++ {
		if w.space(); w.rest == "" || strings.IndexByte("+-.0123456789", w.rest[0]) < 0 {
			break
		}
		_, err = w.number()
	}
	if err == nil {
		err = w.count(p)
	}
	return p, err
}

func (w *wkt) positions() (all []XY, err error) {
	err = w.list(func() error {
		p, err := w.position()
		all = append(all, p)
		return err
	})
	return all, err
}

func (w *wkt) point(s *Shape, _ int) error {
	return w.list(func() error {
		p, err := w.position()
		if err == nil {
			s.addPoint(p)
		}
		return err
	})
}

// points reads several points, each with or without parentheses.
func (w *wkt) points(s *Shape, depth int) error {
	return w.list(func() error {
		if w.space(); strings.HasPrefix(w.rest, "(") {
			return w.point(s, depth)
		}
		p, err := w.position()
		if err == nil {
			s.addPoint(p)
		}
		return err
	})
}

func (w *wkt) line(s *Shape, _ int) error {
	line, err := w.positions()
	if err == nil {
		err = s.addFlatLine(line)
	}
	return err
}

func (w *wkt) polygon(s *Shape, _ int) error {
	var rings [][]XY
	err := w.list(func() error {
		ring, err := w.positions()
		rings = append(rings, ring)
		return err
	})
	if err == nil {
		err = s.addPolygon(rings)
	}
	return err
}
