package geometry

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/golang/geo/s2"
	"github.com/peterstace/simplefeatures/geom"
)

var limits = Limits{Positions: 10_000, Depth: 16}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wktOf(t testing.TB, text string) *Shape {
	t.Helper()
	s, err := ParseWKT(text, limits)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// TestRefused: what is not a geometry, or no valid one, is told apart.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		``:                                "not a type of geometry",
		`POINT`:                           "is missing",
		`POINT(1)`:                        "a number is missing",
		`POINT(1 2`:                       `')' is missing`,
		`POINT(1 2) x`:                    "behind",
		`POINT(1 91)`:                     "latitude",
		`POINT(361 1)`:                    "longitude",
		`POINT(nan 1)`:                    "a number is missing",
		`POINT(1e999 1)`:                  "a number is missing",
		`POINT EMPTY`:                     "empty",
		`GEOMETRYCOLLECTION(POINT EMPTY)`: "empty",
		`LINESTRING(1 1)`:                 "fewer than two",
		`LINESTRING(1 1,1 1)`:             "",
		`POLYGON((0 0,1 0,1 1,0 1))`:      "not closed",
		`POLYGON((0 0,1 0,0 0))`:          "fewer than four",
		`POLYGON((0 0,2 2,2 0,0 2,0 0))`:  "",
		`MULTIPOLYGON(((0 0,4 0,4 4,0 4,0 0)),((1 1,2 1,2 2,1 2,1 1)))`: "",
		`POLYGON((0 0,4 0,4 4,0 4,0 0),(5 5,6 5,6 6,5 5))`:              "",
		`POLYGON((0 0,170 1,-20 2,150 3,-40 4,130 5,-60 6,-30 7,0 0))`:  "round the earth more than once",
		`SRID=3857;POINT(1 1)`: "reference system",
		`CIRCLE(1 1)`:          "not a type of geometry",
		strings.Repeat("GEOMETRYCOLLECTION(", 40) + "POINT(1 1)" + strings.Repeat(")", 40): "deep",
		"MULTIPOINT(" + strings.Repeat("1 1,", 10_000) + "1 1)":                            "more than 10000 positions",
	} {
		if s, err := ParseWKT(text, limits); err == nil {
			t.Errorf("%.60s gives %v", text, s.planar().AsText())
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		`[]`:                                     "not a geometry",
		`{}`:                                     "not a geometry",
		`{"type":"Point"}`:                       "no array",
		`{"type":"Point","coordinates":1}`:       "no array",
		`{"type":"Point","coordinates":[1]}`:     "fewer than two",
		`{"type":"Point","coordinates":["1",2]}`: "other than numbers",
		`{"type":"Point","coordinates":[7.7046,-143.3901]}`:                                          "latitude",
		`{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}}`:                         "not a type of geometry",
		`{"type":"point","coordinates":[1,2]}`:                                                       "not a type of geometry",
		`{"type":"MultiPoint","coordinates":[]}`:                                                     "empty",
		`{"type":"GeometryCollection","geometries":[]}`:                                              "empty",
		`{"type":"Polygon","coordinates":[]}`:                                                        "empty",
		`{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}`:                               "not closed",
		strings.Repeat(`{"type":"GeometryCollection","geometries":[`, 40) + strings.Repeat(`]}`, 40): "deep",
		`{"type":"MultiPoint","coordinates":[` + strings.Repeat("[1,1],", 10_000) + `[1,1]]}`:        "more than 10000 positions",
	} {
		if _, err := ParseGeoJSON([]byte(text), limits); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}

// TestRead: both notations give the same, in every spelling.
func TestRead(t *testing.T) {
	for text, json := range map[string]string{
		`point ( 1 2 )`:                                                  `{"coordinates":[1,2,300],"type":"Point"}`,
		`POINT Z (1 2 3)`:                                                `{"type":"Point","coordinates":[1.0e0,2]}`,
		`POINTZ(1 2 3)`:                                                  `{"type":"Point","coordinates":[361,2]}`[:0] + `{"type":"Point","coordinates":[-359,2]}`,
		`SRID=4326;MULTIPOINT((1 2),(3 4))`:                              `{"type":"MultiPoint","coordinates":[[1,2],[3,4]]}`,
		`MULTIPOINT(1 2,3 4)`:                                            `{"type":"GeometryCollection","geometries":[{"type":"MultiPoint","coordinates":[[1,2],[3,4]]}]}`,
		`LINESTRING ZM(1 2 0 0,3 4 0 0)`:                                 `{"type":"LineString","coordinates":[[1,2],[3,4]]}`,
		`MULTILINESTRING((1 2,3 4),(5 6,7 8))`:                           `{"type":"MultiLineString","coordinates":[[[1,2],[3,4]],[[5,6],[7,8]]]}`,
		`POLYGON((0 0,4 0,4 4,0 0),(2 1,3 1,3 2,2 1))`:                   `{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,0]],[[2,1],[3,1],[3,2],[2,1]]]}`,
		`MULTIPOLYGON(((0 0,4 0,4 4,0 0)))`:                              `{"type":"MultiPolygon","coordinates":[[[[0,0],[4,0],[4,4],[0,0]]]]}`,
		`GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(0 0,1 1),POINT EMPTY)`: `{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]},{"type":"LineString","coordinates":[[0,0],[1,1]]}]}`,
	} {
		s, err := ParseGeoJSON([]byte(json), limits)
		if err != nil {
			t.Errorf("%s: %v", json, err)
			continue
		}
		if a, b := wktOf(t, text).planar().AsText(), s.planar().AsText(); a != b {
			t.Errorf("%s is %s, %s is %s", text, a, json, b)
		}
	}
}

// TestRoundTheEarth: areas over the antimeridian and the poles hold what they should.
func TestRoundTheEarth(t *testing.T) {
	for _, c := range []struct {
		wkt     string
		in, out []XY
	}{
		{`POLYGON((175 -5,-175 -5,-175 5,175 5,175 -5))`, []XY{{179.5, 0}, {-179.5, 0}, {180, 0}, {-180, 1}}, []XY{{0, 0}, {174, 0}, {-174, 0}}},
		{`POLYGON((175 -5,185 -5,185 5,175 5,175 -5))`, []XY{{179.5, 0}, {-179.5, 0}, {180, 0}}, []XY{{0, 0}, {-174, 0}}},
		{`POLYGON((175 -5,-175 -5,-175 5,175 5,175 -5),(179 -1,-179 -1,-179 1,179 1,179 -1))`, []XY{{178, 0}, {-178, 0}, {180, 3}}, []XY{{180, 0}, {179.5, 0}, {-179.5, 0}}},
		{`POLYGON((0 80,90 80,180 80,-90 80,0 80))`, []XY{{0, 89}, {120, 81}, {-179, 85}, {180, 85}, {10, 90}}, []XY{{0, 79}, {0, -90}, {0, -85}}},
		{`POLYGON((0 80,-90 80,180 80,90 80,0 80))`, []XY{{0, 89}, {10, 90}}, []XY{{0, 79}, {0, -89}}},
		{`POLYGON((0 -80,90 -80,180 -80,-90 -80,0 -80))`, []XY{{0, -89}, {10, -90}, {179, -81}}, []XY{{0, -79}, {0, 90}, {0, 0}}},
		{`POLYGON((0 70,120 60,-120 65,0 70),(0 85,-120 85,120 85,0 85))`, []XY{{0, 75}, {180, 80}}, []XY{{0, 90}, {0, 86}, {0, 50}}},
		{`POLYGON((-180 -90,180 -90,180 90,-180 90,-180 -90))`, []XY{{0, 0}, {180, 0}, {-180, 90}, {12, -90}}, nil},
		{`POLYGON((-170 -10,0 -10,170 -10,170 10,0 10,-170 10,-170 -10))`, []XY{{0, 0}, {169, 0}}, []XY{{180, 0}, {0, 11}}},
		{`POLYGON((100 0,179 -60,-100 0,179 60,100 0))`, []XY{{179, 0}, {-170, 0}, {-110, 0}}, []XY{{0, 0}, {-99, 0}, {179, 61}}},
		{`LINESTRING(170 10,-170 10)`, []XY{{175, 10}, {-175, 10}, {180, 10}}, []XY{{0, 10}, {165, 10}}},
		{`LINESTRING(-170 0,170 10)`, []XY{{-175, 2.5}, {175, 7.5}, {180, 5}}, []XY{{0, 5}}},
		{`POINT(-180 5)`, []XY{{180, 5}, {-180, 5}}, []XY{{0, 5}}},
	} {
		s := wktOf(t, c.wkt)
		for _, p := range c.in {
			if s.locate(p) == exterior {
				t.Errorf("%s (%s) does not hold %v", c.wkt, s.planar().AsText(), p)
			}
		}
		for _, p := range c.out {
			if s.locate(p) != exterior {
				t.Errorf("%s (%s) holds %v", c.wkt, s.planar().AsText(), p)
			}
		}
	}
}

// randomShape makes a shape of any kind, often near the antimeridian or a pole.
func randomShape(r *rand.Rand) *Shape {
	for {
		x, y := r.Float64()*360-180, r.Float64()*170-85
		if r.IntN(2) == 0 {
			x = 180 - r.Float64()*4 + 2
		}
		if r.IntN(3) == 0 {
			y = (86 + 4*r.Float64()) * float64(1-2*r.IntN(2))
		}
		size := math.Pow(10, r.Float64()*4-2.5)
		at := func() string {
			return fmt.Sprintf("%v %v", clamp(x+size*(r.Float64()-0.5), 360), clamp(y+size*(r.Float64()-0.5), 90))
		}
		ring := func(n int) string {
			var b []string
			for i := range n {
				a := 2 * math.Pi * float64(i) / float64(n)
				d := size * (0.2 + 0.8*r.Float64())
				px, py := x+d*math.Cos(a), clamp(y+d*math.Sin(a), 90)
				if r.IntN(2) == 0 {
					px = wrapped(px)
				}
				b = append(b, fmt.Sprintf("%v %v", px, py))
			}
			return "(" + strings.Join(append(b, b[0]), ",") + ")"
		}
		polar := func() string {
			var b []string
			n := 3 + r.IntN(9)
			for i := range n {
				b = append(b, fmt.Sprintf("%v %v", wrapped(-170+360*float64(i)/float64(n)), clamp(y+r.Float64()*3, 90)))
			}
			return "(" + strings.Join(append(b, b[0]), ",") + ")"
		}
		text := ""
		switch r.IntN(8) {
		case 0:
			text = "POINT(" + at() + ")"
		case 1:
			text = "MULTIPOINT(" + at() + "," + at() + "," + at() + ")"
		case 2:
			text = "LINESTRING(" + at() + "," + at() + "," + at() + ")"
		case 3:
			text = "GEOMETRYCOLLECTION(POINT(" + at() + "),POLYGON(" + ring(5) + "),LINESTRING(" + at() + "," + at() + "))"
		case 4:
			text = "POLYGON(" + polar() + ")"
		case 5:
			if s, err := Ellipse(XY{wrapped(x), y}, size*50_000, size*50_000*(0.3+r.Float64())); err == nil {
				return s
			}
		default:
			text = "POLYGON(" + ring(3+r.IntN(20)) + ")"
		}
		if s, err := ParseWKT(text, limits); err == nil {
			return s
		}
	}
}

func clamp(v, most float64) float64 { return max(-most, min(most, v)) }

// near returns a position in or about a box of the shape.
func near(r *rand.Rand, s *Shape) XY {
	b := s.boxes[r.IntN(len(s.boxes))]
	w, h := (b.East-b.West)*0.1+1e-6, (b.North-b.South)*0.1+1e-6
	return XY{wrapped(b.West - w + r.Float64()*(b.East-b.West+2*w)), clamp(b.South-h+r.Float64()*(b.North-b.South+2*h), 90)}
}

// TestCoverHoldsAll: a position in a shape lies in a cell of its cover, and so do the cells
// of any shape that meets it.
func TestCoverHoldsAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	within := 0
	for range 1500 {
		s := randomShape(r)
		cells := s.Cover(8)
		if len(cells) > 40 {
			t.Errorf("%d cells for %v", len(cells), s.boxes)
		}
		union := s2.CellUnion(cells)
		union.Normalize()
		for range 40 {
			p := near(r, s)
			if s.locate(p) == exterior {
				continue
			}
			within++
			if !union.ContainsCellID(s2.CellIDFromLatLng(s2.LatLngFromDegrees(p.Y, p.X))) {
				t.Fatalf("%v in %v %v lies in no cell", p, s.boxes, s.planar().AsText())
			}
		}
		for _, p := range s.points {
			if !union.ContainsCellID(s2.CellIDFromLatLng(s2.LatLngFromDegrees(p.Y, p.X))) {
				t.Fatalf("%v lies in no cell of its own", p)
			}
		}
	}
	if within < 10_000 {
		t.Errorf("only %d positions lay within", within)
	}
}

// TestOutlines: the polygon of a disc holds the positions that are nearer, and none that
// are farther, but for the sagitta of its edges.
func TestOutlines(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 600 {
		x, y := wrapped(r.Float64()*360), r.Float64()*180-90
		if r.IntN(2) == 0 {
			y = math.Copysign(89.9, y)
		}
		if r.IntN(2) == 0 {
			x = 179.9
		}
		rx := math.Pow(10, 2+r.Float64()*5.3)
		ry := rx
		if r.IntN(3) == 0 && rx < 5e6 {
			ry = rx * (0.3 + r.Float64())
		}
		s, err := Ellipse(XY{x, y}, rx, ry)
		must(t, err)
		o, err := s.outline()
		if err != nil {
			t.Fatalf("%v %v %v: %v", s.disc.center, rx, ry, err)
		}
		for range 50 {
			bearing := r.Float64() * 2 * math.Pi
			inner, outer := *s.disc, *s.disc
			inner.rx, inner.ry, outer.rx, outer.ry = rx*0.98, ry*0.98, rx*1.02, ry*1.02
			if p := inner.edge(bearing); o.locate(p) == exterior {
				t.Fatalf("%v %v %v: %v lies without", s.disc.center, rx, ry, p)
			}
			if outer.radius(bearing) > 3.1 {
				continue
			}
			if p := outer.edge(bearing); o.locate(p) == interior {
				t.Fatalf("%v %v %v: %v lies within", s.disc.center, rx, ry, p)
			}
		}
	}
}

// TestRelationsToPoints: what is worked out for points by hand is what the library says.
func TestRelationsToPoints(t *testing.T) {
	texts := []string{`POINT(1 1)`, `MULTIPOINT(1 1,2 2)`, `LINESTRING(0 0,1 1,2 2)`, `LINESTRING(1 1,2 2)`, `LINESTRING(1 1,2 1,2 2,1 1)`,
		`POLYGON((0 0,4 0,4 4,0 4,0 0))`, `POLYGON((1 1,4 1,4 4,1 1))`, `POLYGON((1 0,4 0,4 4,1 4,1 0))`, `POLYGON((5 5,6 5,6 6,5 5))`, `MULTIPOLYGON(((1 1,4 1,4 4,1 1)),((-5 -5,-4 -5,-4 -4,-5 -5)))`}
	p := wktOf(t, `POINT(1 1)`)
	for _, text := range texts {
		s := wktOf(t, text)
		for _, rel := range Relations {
			if rel == Any {
				continue
			}
			got, err := s.Relates(rel, p)
			must(t, err)
			matrix, err := geom.Relate(s.planar(), p.planar())
			must(t, err)
			want := false
			switch rel {
			case ContainsProperly:
				want, err = geom.RelateMatches(matrix, "T**FF*FF*")
			case Intersects:
				want = geom.Intersects(s.planar(), p.planar())
			case Disjoint:
				want = !geom.Intersects(s.planar(), p.planar())
			default:
				want, err = planarRelations[rel](s.planar(), p.planar())
			}
			must(t, err)
			if got != want {
				t.Errorf("%s %s POINT(1 1): %v, the matrix is %s", text, rel, got, matrix)
			}
			if back := (map[Relation]Relation{Contains: Within, Within: Contains, Covers: CoveredBy, CoveredBy: Covers})[rel]; back != "" {
				turned, err := p.Relates(back, s)
				must(t, err)
				if turned != want {
					t.Errorf("POINT(1 1) %s %s: %v", back, text, turned)
				}
			}
		}
	}
}

// TestRelations holds all relations of lines and areas against a table.
func TestRelations(t *testing.T) {
	t.Run("points on the cut", func(t *testing.T) {
		for wkt, p := range map[string]string{`POLYGON((175 -5,-175 -5,-175 5,175 5,175 -5))`: `POINT(180 1)`, `POLYGON((0 80,90 80,180 80,-90 80,0 80))`: `POINT(12 90)`} {
			yes, err := wktOf(t, p).Relates(Within, wktOf(t, wkt))
			must(t, err)
			if back, err := wktOf(t, wkt).Relates(Contains, wktOf(t, p)); !yes || !back || err != nil {
				t.Errorf("%s does not contain %s: %v", wkt, p, err)
			}
		}
	})
	const square = `POLYGON((0 0,4 0,4 4,0 4,0 0))`
	for _, c := range []struct{ a, b, want string }{
		{square, `POLYGON((1 1,2 1,2 2,1 1))`, "none contains contains_properly covers intersects"},
		{square, `POLYGON((0 0,2 0,2 2,0 0))`, "none contains covers intersects"},
		{`POLYGON((1 1,2 1,2 2,1 1))`, square, "none covered_by intersects within"},
		{square, square, "none contains covered_by covers intersects within"},
		{square, `POLYGON((2 2,6 2,6 6,2 6,2 2))`, "none intersects overlaps"},
		{square, `POLYGON((4 0,6 0,6 4,4 4,4 0))`, "none intersects touches"},
		{square, `POLYGON((5 5,6 5,6 6,5 5))`, "disjoint"},
		{square, `LINESTRING(1 1,9 9)`, "none crosses intersects"},
		{square, `LINESTRING(0 0,4 0)`, "none covers intersects touches"},
		{square, `LINESTRING(1 1,2 2)`, "none contains contains_properly covers intersects"},
		{`LINESTRING(0 0,2 2)`, `LINESTRING(0 2,2 0)`, "none crosses intersects"},
		{`LINESTRING(0 0,2 2)`, `LINESTRING(1 1,3 3)`, "none intersects overlaps"},
		{square, `MULTIPOINT(1 1,9 9)`, "none crosses intersects"},
		{`POLYGON((175 -5,-175 -5,-175 5,175 5,175 -5))`, `LINESTRING(179 0,-179 0)`, "none contains covers intersects"}, // the cut is a boundary
		{`POLYGON((175 -5,180 -5,180 5,175 5,175 -5))`, `POLYGON((-180 -5,-175 -5,-175 5,-180 5,-180 -5))`, "none intersects"},
		{`POLYGON((0 80,90 80,180 80,-90 80,0 80))`, `POLYGON((0 85,90 85,180 85,-90 85,0 85))`, "none contains covers intersects"},
	} {
		a, b := wktOf(t, c.a), wktOf(t, c.b)
		var got []string
		for _, rel := range []Relation{Any, Contains, ContainsProperly, CoveredBy, Covers, Crosses, Disjoint, Intersects, Overlaps, Touches, Within} {
			yes, err := a.Relates(rel, b)
			must(t, err)
			if yes {
				got = append(got, string(rel))
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s and %s: %s, want %s", c.a, c.b, text, c.want)
		}
	}
}

// TestIntersectionsAgree: the way by points and boxes agrees with the library in the plane,
// and with itself the other way round.
func TestIntersectionsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	met := 0
	for range 3000 {
		a, b := randomShape(r), randomShape(r)
		if a.disc != nil || b.disc != nil {
			continue
		}
		got, err := a.intersects(b)
		must(t, err)
		back, err := b.intersects(a)
		must(t, err)
		if got != back {
			t.Fatalf("%s and %s: %v, the other way round %v", a.planar().AsText(), b.planar().AsText(), got, back)
		}
		if geom.Intersects(a.planar(), b.planar()) && !got {
			t.Fatalf("%s and %s have something in common", a.planar().AsText(), b.planar().AsText())
		}
		if got {
			met++
		}
	}
	if met < 20 {
		t.Errorf("only %d pairs met", met)
	}
}

// TestDistances holds distances against those to many positions on the shape.
func TestDistances(t *testing.T) {
	for _, c := range []struct {
		wkt  string
		from XY
		want float64 // metres
	}{
		{`POINT(13.4 52.5)`, XY{13.4, 52.5}, 0},
		{`POINT(0 0)`, XY{180, 0}, math.Pi * EarthRadius},
		{`POINT(-179.5 0)`, XY{179.5, 0}, math.Pi / 180 * EarthRadius},
		{`LINESTRING(-50 60,50 60)`, XY{0, 60}, 0},
		{`LINESTRING(-50 60,50 60)`, XY{0, 61}, math.Pi / 180 * EarthRadius},
		{`POLYGON((0 80,90 80,180 80,-90 80,0 80))`, XY{12, 89}, 0},
		{`POLYGON((0 80,90 80,180 80,-90 80,0 80))`, XY{12, 79}, math.Pi / 180 * EarthRadius},
		{`POLYGON((175 -5,-175 -5,-175 5,175 5,175 -5))`, XY{180, 0}, 0},
		{`POLYGON((175 -5,-175 -5,-175 5,175 5,175 -5))`, XY{-174, 0}, math.Pi / 180 * EarthRadius},
	} {
		if got := wktOf(t, c.wkt).Distance(c.from); math.Abs(got-c.want) > 1e-4*c.want+1 {
			t.Errorf("%s from %v: %v, want %v", c.wkt, c.from, got, c.want)
		}
	}
}

// comb makes a polygon with so many teeth, lying or standing.
func comb(teeth int, lying bool) string {
	var b strings.Builder
	add := func(x, y float64) {
		if lying {
			x, y = y, x
		}
		fmt.Fprintf(&b, "%v %v,", x, y)
	}
	for i := range teeth {
		x, w := float64(i)*40/float64(teeth), 20/float64(teeth)
		add(x, 0)
		add(x, 40)
		add(x+w, 40)
		add(x+w, -0.5)
	}
	add(41, -0.5)
	add(41, -1)
	add(-1, -1)
	add(0, 0)
	return "POLYGON((" + strings.TrimSuffix(b.String(), ",") + "))"
}

// TestInvolved: what would take too long to relate is refused, after few looks.
func TestInvolved(t *testing.T) {
	a, b := wktOf(t, comb(300, false)), wktOf(t, comb(300, true))
	if _, err := a.Relates(Overlaps, b); err != ErrInvolved {
		t.Errorf("two combs across each other: %v", err)
	}
	if yes, err := a.Relates(Intersects, b); !yes || err != nil {
		t.Errorf("two combs across each other meet: %v %v", yes, err)
	}
	var lines []string
	for i := range 2000 {
		lines = append(lines, fmt.Sprintf("(%v 0,%v 50)", float64(i)/100, 50-float64(i)/100))
	}
	l := wktOf(t, "MULTILINESTRING("+strings.Join(lines, ",")+")")
	if _, err := l.Relates(Contains, wktOf(t, "LINESTRING(0 0,1 1)")); err != ErrInvolved {
		t.Errorf("lines that cross each other: %v", err)
	}
	if yes, err := wktOf(t, comb(20, false)).Relates(Overlaps, wktOf(t, comb(20, true))); !yes || err != nil {
		t.Errorf("small combs: %v %v", yes, err)
	}
}

func TestRectangles(t *testing.T) {
	for _, c := range []struct {
		box     Box
		in, out []XY
	}{
		{Box{170, -20, -170, 20}, []XY{{180, 0}, {175, 5}, {-175, 5}}, []XY{{0, 0}}},
		{Box{-180, -90, 180, 90}, []XY{{0, 0}, {180, 90}}, nil},
		{Box{0, 0, 180, 10}, []XY{{90, 5}, {180, 5}, {-180, 5}}, []XY{{-90, 5}}},
		{Box{-10, -5, 200, 5}, []XY{{180, 0}, {-170, 0}, {0, 0}}, []XY{{-150, 0}}},
		{Box{5, 5, 5, 5}, []XY{{5, 5}}, []XY{{5, 6}}},
		{Box{5, 5, 6, 5}, []XY{{5.5, 5}}, []XY{{5.5, 6}}},
	} {
		s, err := Rectangle(c.box)
		must(t, err)
		for _, p := range c.in {
			if s.locate(p) == exterior {
				t.Errorf("%v does not hold %v", c.box, p)
			}
		}
		for _, p := range c.out {
			if s.locate(p) != exterior {
				t.Errorf("%v holds %v", c.box, p)
			}
		}
	}
	if _, err := Rectangle(Box{0, 10, 5, 0}); err == nil {
		t.Error("a box upside down is taken")
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{`POINT(1 2)`, `POLYGON((0 0,4 0,4 4,0 0),(2 1,3 1,3 2,2 1))`, `MULTIPOLYGON(((170 0,-170 0,-170 4,170 0)))`, `POLYGON((0 80,90 80,180 80,-90 80,0 80))`,
		`GEOMETRYCOLLECTION(POINT Z(1 2 3),LINESTRING(170 0,-170 1))`, `{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,0]]]}`, `{"type":"GeometryCollection","geometries":[{"type":"MultiPoint","coordinates":[[1,2]]}]}`} {
		f.Add(text)
	}
	small := Limits{Positions: 200, Depth: 4}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseWKT(text, small)
		if err != nil {
			if !json.Valid([]byte(text)) {
				return
			}
			if s, err = ParseGeoJSON([]byte(text), small); err != nil {
				return
			}
		}
		if len(s.Cover(8)) == 0 {
			t.Errorf("%s has no cells", text)
		}
		for _, p := range s.points {
			if s.locate(p) == exterior {
				t.Errorf("%s does not hold %v", text, p)
			}
		}
		if d := s.Distance(XY{12, 34}); !(d >= 0 && d <= math.Pi*EarthRadius+1) {
			t.Errorf("%s is %v away", text, d)
		}
		if meets, err := s.intersects(s); !meets && err == nil {
			t.Errorf("%s does not meet itself", text)
		}
	})
}
