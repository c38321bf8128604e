package geometry

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/golang/geo/s2"
	"github.com/peterstace/simplefeatures/geom"
)

// unbounded are steps without an end.
func unbounded(int) bool { return true }

func probeOf(t testing.TB, s *Shape) *Probe {
	t.Helper()
	p, err := NewProbe(s)
	must(t, err)
	return p
}

// onGrid returns a random shape whose positions have whole numbers, so that edges and corners
// of two of them often lie on each other.
func onGrid(r *rand.Rand, areas bool) *Shape {
	at := func() string { return fmt.Sprintf("%d %d", r.IntN(7), r.IntN(7)) }
	ring := func() string {
		all := []string{}
		for range 3 + r.IntN(4) {
			all = append(all, at())
		}
		return "(" + strings.Join(append(all, all[0]), ",") + ")"
	}
	for {
		text := ""
		switch kind := r.IntN(7); {
		case kind < 2:
			text = "POLYGON(" + ring() + ")"
		case kind == 2:
			text = "POLYGON((0 0,6 0,6 6,0 6,0 0)," + ring() + ")"
		case kind == 3:
			text = "MULTIPOLYGON((" + ring() + "),(" + ring() + "))"
		case areas:
			continue
		case kind == 4:
			text = "POINT(" + at() + ")"
		case kind == 5:
			text = "MULTIPOINT(" + at() + "," + at() + ")"
		default:
			text = "LINESTRING(" + at() + "," + at() + "," + at() + ")"
		}
		if s, err := ParseWKT(text, limits); err == nil {
			return s
		}
	}
}

// TestProbesAgree holds probes against the library, where edges and corners lie on each other, and
// against the other way to find out whether two shapes meet, all round the earth.
func TestProbesAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	covered, met := 0, 0
	for range 8000 {
		a, b := onGrid(r, true), onGrid(r, false)
		p := probeOf(t, a)
		got, err := p.Covers(b, unbounded)
		must(t, err)
		want, err := geom.Covers(a.planar(), b.planar())
		must(t, err)
		if got != want {
			t.Fatalf("%s covers %s: %v, want %v", a.planar().AsText(), b.planar().AsText(), got, want)
		}
		meets, err := p.Meets(b, unbounded)
		must(t, err)
		if meets != geom.Intersects(a.planar(), b.planar()) {
			t.Fatalf("%s meets %s: %v", a.planar().AsText(), b.planar().AsText(), meets)
		}
		if met, err := a.intersects(b); met != meets || err != nil {
			t.Fatalf("%s intersects %s: %v %v", a.planar().AsText(), b.planar().AsText(), met, err)
		}
		if got {
			covered++
		}
	}
	for range 5000 {
		a, b := randomShape(r), randomShape(r)
		if b.disc != nil || a.Bounds().atPole() && b.Bounds().atPole() {
			continue // documents have no discs; a pole is one position here, and none of the plane's
		}
		got, err := probeOf(t, a).Meets(b, unbounded)
		must(t, err)
		want, err := a.Relates(Intersects, b)
		must(t, err)
		if got != want {
			t.Fatalf("%s and %s: %v", a.planar().AsText(), b.planar().AsText(), got)
		}
		if got {
			met++
		}
		if a.disc == nil && len(a.areas) > 0 && len(a.lines) == 0 {
			if yes, err := probeOf(t, a).Covers(a, unbounded); !yes || err != nil {
				t.Fatalf("%s does not cover itself: %v", a.planar().AsText(), err)
			}
		}
	}
	if covered < 200 || met < 100 {
		t.Errorf("only %d were covered, and %d met", covered, met)
	}
}

// TestProbesRoundTheEarth: what lies on the antimeridian and at the poles lies in what is round
// it.
func TestProbesRoundTheEarth(t *testing.T) {
	for _, c := range []struct {
		a, b          string
		covers, meets bool
	}{
		{`POLYGON((170 -10,-170 -10,-170 10,170 10,170 -10))`, `POLYGON((175 -5,-175 -5,-175 5,175 5,175 -5))`, true, true},
		{`POLYGON((170 -10,-170 -10,-170 10,170 10,170 -10))`, `LINESTRING(180 -5,180 5)`, true, true},
		{`POLYGON((170 -10,-170 -10,-170 10,170 10,170 -10))`, `LINESTRING(180 -5,180 15)`, false, true},
		{`POLYGON((-180 -10,-170 -10,-170 10,-180 10,-180 -10))`, `LINESTRING(180 -5,180 5)`, true, true},
		{`POLYGON((-180 -10,-170 -10,-170 10,-180 10,-180 -10))`, `LINESTRING(179 -5,-179 5)`, false, true},
		{`POLYGON((-180 -10,-170 -10,-170 10,-180 10,-180 -10))`, `LINESTRING(179 -5,179 5)`, false, false},
		{`POLYGON((0 80,90 80,180 80,-90 80,0 80))`, `POLYGON((0 85,90 85,180 85,-90 85,0 85))`, true, true},
		{`POLYGON((0 85,90 85,180 85,-90 85,0 85))`, `POLYGON((0 80,90 80,180 80,-90 80,0 80))`, false, true},
		{`POLYGON((0 80,90 80,180 80,-90 80,0 80))`, `POINT(77 90)`, true, true},
		{`POLYGON((0 80,90 80,180 80,-90 80,0 80))`, `LINESTRING(10 85,10 90)`, true, true},
		{`POLYGON((10 80,20 80,20 90,10 90,10 80))`, `POINT(77 90)`, true, true},
		{`POLYGON((0 0,6 0,6 6,0 6,0 0),(2 2,4 2,4 4,2 4,2 2))`, `POLYGON((2 2,4 2,4 4,2 4,2 2))`, false, true},
		{`POLYGON((0 0,6 0,6 6,0 6,0 0),(2 2,4 2,4 4,2 4,2 2))`, `POLYGON((1 1,5 1,5 5,1 5,1 1))`, false, true},
		{`POLYGON((0 0,6 0,6 6,0 6,0 0),(2 2,4 2,4 4,2 4,2 2))`, `POINT(3 3)`, false, false},
	} {
		p, b := probeOf(t, wktOf(t, c.a)), wktOf(t, c.b)
		covers, err := p.Covers(b, unbounded)
		must(t, err)
		meets, err := p.Meets(b, unbounded)
		must(t, err)
		if covers != c.covers || meets != c.meets {
			t.Errorf("%s and %s: covers %v, meets %v", c.a, c.b, covers, meets)
		}
	}
	disc, err := Ellipse(XY{179.9, 0}, 100_000, 100_000)
	must(t, err)
	for text, want := range map[string]bool{`POINT(-179.5 0)`: true, `POINT(-179 0)`: false, `LINESTRING(179.5 0,-179.8 0)`: true, `MULTIPOINT(179.5 0,-179 0)`: false} {
		if got, err := probeOf(t, disc).Covers(wktOf(t, text), unbounded); got != want || err != nil {
			t.Errorf("a disc and %s: %v, %v", text, got, err)
		}
	}
}

// TestDiscsAtPoles: a circle round a pole holds what is near it, and nothing else.
func TestDiscsAtPoles(t *testing.T) {
	for _, y := range []float64{90, -90} {
		disc, err := Ellipse(XY{64.6, y}, 100_000, 100_000)
		must(t, err)
		p := probeOf(t, disc)
		for lat, want := range map[float64]bool{89.5: true, 88: false, 0: false, -89: false} {
			lat *= y / 90
			line := wktOf(t, fmt.Sprintf("LINESTRING(-170 %[1]v,20 %[1]v)", lat))
			if got, err := p.Covers(line, unbounded); got != want || err != nil {
				t.Errorf("round %v: a line at %v lies in it: %v %v", y, lat, got, err)
			}
		}
	}
}

// TestProbesEnd: a probe stops where there are no steps left, and by itself where two shapes would
// take too long.
func TestProbesEnd(t *testing.T) {
	a, b := wktOf(t, comb(300, false)), wktOf(t, comb(300, true))
	p, spent := probeOf(t, a), 0
	if yes, err := p.Covers(b, func(n int) bool { spent += n; return spent < 1000 }); yes || err != nil || spent > 20_000 {
		t.Errorf("with few steps: %v %v after %d", yes, err, spent)
	}
	diagonals := func(n int, x float64) *Shape {
		var lines []string
		for i := range n {
			by := float64(i) * 1e-6
			lines = append(lines, fmt.Sprintf("(%.7f 0,%.7f 1)", x+by, x+1+by))
		}
		return wktOf(t, "MULTILINESTRING("+strings.Join(lines, ",")+")")
	}
	if yes, err := probeOf(t, diagonals(4500, 0)).Meets(diagonals(4500, 5e-7), unbounded); yes || err != nil {
		t.Errorf("lines beside each other: %v %v", yes, err)
	}
	large := &Shape{}
	for i := range 30_000 {
		by := float64(i)*1e-7 + 5e-8
		must(t, large.addLine([]XY{{by, 0}, {1 + by, 1}}))
	}
	if _, err := probeOf(t, diagonals(4500, 0)).Meets(large, unbounded); err != ErrInvolved {
		t.Errorf("far too many lines beside each other: %v", err)
	}
}

// TestTangled: a ring whose edges lie over each other is refused before the library looks at every pair of them, and
// one with as many that do not is taken.
func TestTangled(t *testing.T) {
	ring := func(n int, radius func(i int) float64) string {
		var b strings.Builder
		for i := range n {
			a := 2 * math.Pi * float64(i) / float64(n)
			fmt.Fprintf(&b, "%.7f %.7f,", radius(i)*math.Cos(a), radius(i)*math.Sin(a))
		}
		first, _, _ := strings.Cut(b.String(), ",")
		return "((" + b.String() + first + "))"
	}
	round := func(int) float64 { return 20 }
	star := func(i int) float64 { return 1 + 29*float64(i%2) }
	for text, want := range map[string]error{
		"POLYGON" + ring(20_000, round):  nil,
		"POLYGON" + ring(1000, star):     nil,
		"POLYGON" + ring(20_000, star):   errTangled,
		"POLYGON((0 0,0 0,0 0,0 0,0 0))": nil,
	} {
		_, err := ParseWKT(text, OfDocuments)
		if want != nil && err != want || want == nil && err == errTangled {
			t.Errorf("%.60s: %v", text, err)
		}
	}
	var many []string
	for i := range 700 { // beside each other, with boxes that all meet
		by := float64(i) * 0.01
		many = append(many, fmt.Sprintf("((%[1]v 0,%[2]v 60,%[3]v 60,%[1]v 0))", by, 60+by, 60+by+0.001))
	}
	for n, want := range map[int]error{150: nil, 800: errLong} {
		line := strings.Repeat("-179 0,0 1,179 0,0 0,", n) + "-179 0"
		if _, err := ParseWKT("LINESTRING("+line+")", OfDocuments); err != want {
			t.Errorf("a line %d times over the earth and back: %v", n, err)
		}
	}
	if _, err := ParseWKT("MULTIPOLYGON("+strings.Join(many, ",")+")", OfDocuments); err != errTangled {
		t.Errorf("polygons beside each other: %v", err)
	}
}

// TestDistancesOfLongEdges holds the distances of edges, of which most is passed over, against those of all their pieces.
func TestDistancesOfLongEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	at := func() XY { return XY{r.Float64()*360 - 180, r.Float64()*180 - 90} }
	for range 3000 {
		e, p := edge{at(), at()}, at().point()
		n, want := e.pieces(), math.Inf(1)
		for i := range n {
			q := pieced{e, p, n}
			want = min(want, float64(s2.DistanceFromSegment(p, q.position(i).point(), q.position(i+1).point())))
		}
		if got := float64(e.distance(p, math.Inf(1))); got != want {
			t.Fatalf("%v: %v, want %v", e, got, want)
		}
	}
}
