package selector

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// wheel returns the ring of a polygon with n corners.
func wheel(n int, lon, lat, radius float64) string {
	var b strings.Builder
	for i := range n {
		a := 2 * math.Pi * float64(i) / float64(n)
		fmt.Fprintf(&b, "[%.8f,%.8f],", lon+radius*math.Cos(a), lat+radius*math.Sin(a))
	}
	fmt.Fprintf(&b, "[%.8f,%.8f]", lon+radius, lat)
	return "[" + b.String() + "]"
}

// TestGeoBounds: geometries of selectors are bounded, and what documents cost is taken from the
// budget.
func TestGeoBounds(t *testing.T) {
	testrun.Sequential(t)
	within := func(ring string) string {
		return `{"at":{"$geoWithin":{"$geometry":{"type":"Polygon","coordinates":[` + ring + `]}}}}`
	}
	circles := func(n int) string {
		return `{"$or":[` + strings.Repeat(`{"at":{"$geoWithin":{"$centerSphere":[[1,2],0.5]}}},`, n-1) + `{"at":{"$geoWithin":{"$centerSphere":[[1,2],0.5]}}}]}`
	}
	for text, code := range map[string]string{
		circles(100):                   "",
		circles(120):                   "selector_too_large",
		within(wheel(9000, 0, 0, 10)):  "",
		within(wheel(11000, 0, 0, 10)): "bad_arg",
		`{"$or":[` + within(wheel(9000, 0, 0, 10)) + `,` + within(wheel(9000, 1, 0, 10)) + `]}`:                                       "",
		`{"$or":[` + within(wheel(9000, 0, 0, 10)) + `,` + within(wheel(9000, 1, 0, 10)) + `,` + within(wheel(9000, 2, 0, 10)) + `]}`: "selector_too_large",
	} {
		if _, err := Parse([]byte(text)); codeOf(err) != code {
			t.Errorf("%.60s: %v, want %q", text, err, code)
		}
	}
	s, err := Parse([]byte(within(wheel(9000, 0, 0, 10))))
	if err != nil {
		t.Fatal(err)
	}
	large := &Doc{Body: []byte(`{"at":{"type":"Polygon","coordinates":[` + wheel(90_000, 0, 0, 9.9) + `]}}`)}
	if ok, err := s.Match(large, NewBudget(t.Context(), 100_000_000)); !ok || err != nil {
		t.Errorf("a large polygon: %v %v", ok, err)
	}
	if _, err := s.Match(large, NewBudget(t.Context(), 1_000_000)); codeOf(err) != "too_many_steps" {
		t.Errorf("a large polygon with few steps: %v", err)
	}
	not, err := Parse([]byte(`{"$not":` + within(wheel(9000, 0, 0, 10)) + `}`))
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := not.Match(large, NewBudget(t.Context(), 1_000_000)); ok || codeOf(err) != "too_many_steps" {
		t.Errorf("what is not within, with few steps: %v %v", ok, err)
	}
	lines := func(n int, shift float64) string {
		var all []string
		for i := range n {
			x := float64(i)*1e-6 + shift
			all = append(all, fmt.Sprintf("[[%.7f,0],[%.7f,1]]", x, x+1))
		}
		return `{"type":"MultiLineString","coordinates":[` + strings.Join(all, ",") + `]}`
	}
	s, err = Parse([]byte(`{"at":{"$geoIntersects":{"$geometry":` + lines(4500, 0) + `}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Match(&Doc{Body: []byte(`{"at":` + lines(20_000, 5e-7) + `}`)}, NewBudget(t.Context(), 0)); codeOf(err) != "too_many_steps" {
		t.Errorf("lines beside lines, without a bound: %v", err)
	}
}

func codeOf(err error) string {
	if e, ok := err.(*dberr.Error); ok {
		return e.Code
	}
	return ""
}
