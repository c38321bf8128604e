package geometry

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/peterstace/simplefeatures/geom"
)

// step is the way in longitude from one position to the next: the short way, unless it
// is exactly once round.
func step(from, to float64) float64 {
	d := to - from
	for math.Abs(d) > 180 && math.Abs(d) != 360 {
		d -= math.Copysign(360, d)
	}
	return d
}

// unwrap makes longitudes continuous: the first lies in (-180, 180], the others where
// their steps lead.
func unwrap(ps []XY) []XY {
	out := make([]XY, len(ps))
	for i, p := range ps {
		if i == 0 {
			out[0] = XY{wrapped(p.X), p.Y}
			if p.X == -180 { // a box of the whole earth begins here and stays as it is
				out[0].X = -180
			}
			continue
		}
		out[i] = XY{out[i-1].X + step(ps[i-1].X, p.X), p.Y}
	}
	return out
}

// addFlatLine adds a line, cut at the antimeridian.
func (s *Shape) addFlatLine(line []XY) error {
	if len(line) < 2 {
		return errors.New("a line has fewer than two positions")
	}
	for _, part := range cut(unwrap(line)) {
		if err := s.addLine(part); err != nil {
			return err
		}
	}
	return nil
}

// cut cuts a continuous line at ±180, ±540, … and brings its parts between -180 and 180.
func cut(line []XY) (parts [][]XY) {
	turn := func(a, b XY) float64 { return math.Floor(((a.X+b.X)/2 + 180) / 360) }
	var part []XY
	at := 0.0
	flush := func() {
		if len(part) > 1 {
			parts = append(parts, part)
		}
		part = nil
	}
	add := func(p XY) {
		p.X -= 360 * at
		if len(part) == 0 || part[len(part)-1] != p {
			part = append(part, p)
		}
	}
	for i := 1; i < len(line); i++ {
		from, to := line[i-1], line[i]
		for {
			next, more := to, false
			if edge, crosses := firstSeam(from, to); crosses {
				next, more = XY{edge, from.Y + (to.Y-from.Y)*(edge-from.X)/(to.X-from.X)}, true
			}
			if k := turn(from, next); k != at || part == nil {
				flush()
				at = k
			}
			add(from)
			add(next)
			if !more {
				break
			}
			from = next
		}
	}
	flush()
	return parts
}

// firstSeam returns the first of ±180, ±540, … strictly between two positions.
func firstSeam(from, to XY) (x float64, crosses bool) {
	if to.X > from.X {
		x = (math.Floor((from.X+180)/360)+1)*360 - 180
		return x, x < to.X
	}
	x = (math.Ceil((from.X+180)/360)-1)*360 - 180
	return x, x > to.X
}

// addPolygon adds a polygon: its outer ring and its holes.
func (s *Shape) addPolygon(rings [][]XY) error {
	if len(rings) == 0 {
		return ErrEmpty
	}
	if alike(edgesOf(rings...)) {
		return fmt.Errorf("more than %d edges of a polygon have their middle at the same longitude or latitude", maxAlike)
	}
	loops := make([]loop, len(rings))
	plain := true
	for i, ring := range rings {
		var err error
		if loops[i], err = newLoop(ring); err != nil {
			return err
		}
		plain = plain && loops[i].plain()
	}
	if tangled(loops) {
		return errTangled
	}
	if plain {
		return s.addPlain(loops)
	}
	if n := positions(rings); n > maxCut {
		return fmt.Errorf("a polygon across the antimeridian or round a pole has more than %d positions", maxCut)
	}
	whole, err := loops[0].flat()
	if err != nil {
		return err
	}
	holes := &Shape{}
	for _, hole := range loops[1:] {
		h, err := hole.flat()
		if err == nil {
			err = holes.addAreas(h)
		}
		if err != nil {
			return err
		}
	}
	if err := holes.apart(0); err != nil {
		return err
	}
	if len(loops) > 1 {
		if whole, err = geom.Difference(whole, holes.planar()); err != nil {
			return err
		}
	}
	return s.addAreas(whole)
}

// maxAlike is how many edges that the library works on may have their middle at the same
// longitude, or at the same latitude: its trees take the square of that.
const maxAlike = 5_000

// alike reports whether too many edges have their middle at the same longitude or latitude.
func alike(edges []edge) bool {
	if len(edges) <= maxAlike {
		return false
	}
	x, y := map[float64]int{}, map[float64]int{}
	for _, e := range edges {
		x[e.a.X+e.b.X]++
		y[e.a.Y+e.b.Y]++
		if max(x[e.a.X+e.b.X], y[e.a.Y+e.b.Y]) > maxAlike {
			return true
		}
	}
	return false
}

// maxNear is how many pairs of edges of a polygon, or of polygons beside each other, may have boxes that meet: to see
// that a ring does not cross itself the library looks at each of them, which takes it about a tenth of a microsecond
// and can't be ended.
const maxNear = 2_000_000

var errTangled = fmt.Errorf("the edges of a polygon come near each other more than %d times", maxNear)

// fewEdges have less pairs than maxNear in any case.
const fewEdges = 1_400

// tangled reports whether the edges of rings come near each other too often.
func tangled(loops []loop) bool {
	var paths [][]XY
	for _, l := range loops {
		paths = append(paths, l.path)
	}
	return tangledEdges(edgesOf(paths...))
}

func tangledEdges(edges []edge) bool {
	return len(edges) > fewEdges && meeting(edges, edges, maxNear) > maxNear
}

// edgesOf returns the edges of lines or rings.
func edgesOf(paths ...[]XY) (all []edge) {
	for _, path := range paths {
		for i := 1; i < len(path); i++ {
			all = append(all, edge{path[i-1], path[i]})
		}
	}
	return all
}

// maxCut is how many positions a polygon may have that is to be cut: to take many holes
// out of it takes seconds.
const maxCut = 20_000

func positions(rings [][]XY) (n int) {
	for _, r := range rings {
		n += len(r)
	}
	return n
}

// addPlain adds a polygon that needs no cut.
func (s *Shape) addPlain(loops []loop) error {
	lines := make([]geom.LineString, len(loops))
	for i, l := range loops {
		lines[i] = geom.NewLineString(sequence(l.path))
	}
	p := geom.NewPolygon(lines)
	if err := p.Validate(); err != nil {
		return err
	}
	s.addArea(p)
	return nil
}

// addAreas adds the polygons of a planar geometry.
func (s *Shape) addAreas(g geom.Geometry) error {
	n := len(s.areas)
	switch {
	case g.IsPolygon():
		if p := g.MustAsPolygon(); !p.IsEmpty() {
			s.addArea(p)
		}
	case g.IsMultiPolygon():
		for _, p := range g.MustAsMultiPolygon().Dump() {
			s.addArea(p)
		}
	case g.IsGeometryCollection():
		for _, part := range g.MustAsGeometryCollection().Dump() {
			if part.IsPolygon() {
				s.addArea(part.MustAsPolygon())
			}
		}
	}
	if len(s.areas) == n {
		return ErrEmpty
	}
	return nil
}

// loop is a ring with continuous longitudes.
type loop struct {
	path []XY
	turn int // how often it goes round the axis of the earth, east being positive
}

func newLoop(ring []XY) (l loop, err error) {
	if len(ring) < 4 {
		return l, errors.New("a ring has fewer than four positions")
	}
	first, last := ring[0], ring[len(ring)-1]
	if first.Y != last.Y || wrapped(first.X) != wrapped(last.X) {
		return l, errors.New("a ring is not closed")
	}
	l.path = unwrap(ring)
	l.turn = int(math.Round((l.path[len(ring)-1].X - l.path[0].X) / 360))
	if l.turn < -1 || l.turn > 1 {
		return l, errors.New("a ring goes round the earth more than once")
	}
	if l.turn == 0 {
		l.path[len(ring)-1] = l.path[0]
	}
	return l, nil
}

// plain reports whether the ring needs no cut.
func (l *loop) plain() bool {
	return l.turn == 0 && !slices.ContainsFunc(l.path, func(p XY) bool { return math.Abs(p.X) > 180 })
}

// nearerPole is the latitude of the pole that a ring round the axis is closed over: that
// of the half where it is on the whole, or that on its left.
func (l *loop) nearerPole() float64 {
	sum := 0.0
	for i := 1; i < len(l.path); i++ {
		sum += (l.path[i].Y + l.path[i-1].Y) * (l.path[i].X - l.path[i-1].X)
	}
	switch sum *= float64(l.turn); {
	case sum > 0:
		return 90
	case sum < 0:
		return -90
	}
	return 90 * float64(l.turn)
}

// flat returns the polygon within a ring, in the plane between -180 and 180.
func (l *loop) flat() (geom.Geometry, error) {
	path := l.path
	if l.turn != 0 {
		path = l.closedOver(l.nearerPole())
	}
	p := geom.NewPolygon([]geom.LineString{geom.NewLineString(sequence(path))})
	if err := p.Validate(); err != nil {
		return geom.Geometry{}, err
	}
	return fold(p.AsGeometry(), path)
}

// closedOver closes a ring round the axis over a pole. It is begun where it comes nearest
// to the pole, for from there nothing lies in the way.
func (l *loop) closedOver(pole float64) []XY {
	n := len(l.path) - 1 // the last is the first, once round
	at := 0
	for i := range n {
		if l.path[i].Y*pole > l.path[at].Y*pole {
			at = i
		}
	}
	path := make([]XY, 0, n+4)
	path = append(path, l.path[at:n]...)
	for _, p := range l.path[:at+1] {
		path = append(path, XY{p.X + 360*float64(l.turn), p.Y})
	}
	first, last := path[0], path[len(path)-1]
	if first.Y != pole {
		path = append(path, XY{last.X, pole}, XY{first.X, pole})
	}
	return append(path, first)
}

// fold cuts a polygon with continuous longitudes at ±180, ±540, … and lays its parts
// between -180 and 180.
func fold(p geom.Geometry, path []XY) (all geom.Geometry, err error) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, q := range path {
		low, high = min(low, q.X), max(high, q.X)
	}
	for k := math.Floor((low + 180) / 360); -180+360*k < high; k++ {
		strip := boxPolygon(Box{-180 + 360*k, -90, 180 + 360*k, 90})
		part, err := geom.Intersection(p, strip.AsGeometry())
		if err != nil {
			return all, err
		}
		part = part.TransformXY(func(q geom.XY) geom.XY { return geom.XY{X: q.X - 360*k, Y: q.Y} })
		if all, err = geom.Union(all, part); err != nil {
			return all, err
		}
	}
	return all, nil
}

func boxPolygon(b Box) geom.Polygon {
	return geom.NewPolygon([]geom.LineString{geom.NewLineString(sequence([]XY{
		{b.West, b.South}, {b.East, b.South}, {b.East, b.North}, {b.West, b.North}, {b.West, b.South}}))})
}

// Rectangle returns the shape between two meridians and two parallels; west may lie east
// of east: then it lies across the antimeridian.
func Rectangle(b Box) (*Shape, error) {
	for _, p := range []XY{{b.West, b.South}, {b.East, b.North}} {
		if err := checkPosition(p); err != nil {
			return nil, err
		}
	}
	if b.South > b.North {
		return nil, errors.New("the box ends south of where it begins")
	}
	s := &Shape{}
	if b.East-b.West >= 360 {
		return s, s.addBox(Box{-180, b.South, 180, b.North})
	}
	west, east := b.West, b.East
	for west < -180 {
		west, east = west+360, east+360
	}
	for west > 180 {
		west, east = west-360, east-360
	}
	switch {
	case east < west: // across, spelled as in GeoJSON
		return s, errors.Join(s.addBox(Box{west, b.South, 180, b.North}), s.addBox(Box{-180, b.South, wrapped(east), b.North}))
	case east > 180: // across, going on
		return s, errors.Join(s.addBox(Box{west, b.South, 180, b.North}), s.addBox(Box{-180, b.South, east - 360, b.North}))
	}
	return s, s.addBox(Box{west, b.South, east, b.North})
}

// addBox adds a box, which may have no width or no height.
func (s *Shape) addBox(b Box) error {
	switch {
	case b.West == b.East && b.South == b.North:
		s.addPoint(XY{b.West, b.South})
	case b.West == b.East || b.South == b.North:
		return s.addLine([]XY{{b.West, b.South}, {b.East, b.North}})
	default:
		s.addArea(boxPolygon(b))
	}
	return nil
}
