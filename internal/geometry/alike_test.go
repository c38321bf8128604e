package geometry

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// toothed is a ring with many teeth, whose edges all have their middle at the same latitude.
func toothed(teeth int) string {
	var b strings.Builder
	for i := range teeth {
		x := 10 + float64(i)/float64(teeth)
		fmt.Fprintf(&b, "[%v,50],[%v,51],", x, x+.5/float64(teeth))
	}
	return "[" + b.String() + "[11,49],[10,49],[10,50]]"
}

// TestAlike refuses what the library's trees would take minutes for, and takes the rest.
func TestAlike(t *testing.T) {
	limits := Limits{Positions: 100_000, Depth: 1}
	box, err := ParseWKT("POLYGON((10 49,11 49,11 49.5,10 49.5,10 49))", limits)
	if err != nil {
		t.Fatal(err)
	}
	for teeth, refused := range map[int]bool{1000: false, 45_000: true} {
		if _, err := ParseGeoJSON(fmt.Appendf(nil, `{"type":"Polygon","coordinates":[%s]}`, toothed(teeth)), limits); (err != nil) != refused {
			t.Errorf("a polygon of %d teeth: %v", teeth, err)
		}
		line, err := ParseGeoJSON(fmt.Appendf(nil, `{"type":"LineString","coordinates":%s}`, toothed(teeth)), limits)
		if err != nil {
			t.Fatal(err)
		}
		if meet, err := box.Relates(Intersects, line); !meet || err != nil {
			t.Errorf("a line of %d teeth: %t, %v", teeth, meet, err)
		}
		if _, err := box.Relates(Touches, line); errors.Is(err, ErrInvolved) != refused || !refused && err != nil {
			t.Errorf("a line of %d teeth touches: %v", teeth, err)
		}
	}
}

// TestManyAlike: boxes of edges that have the same middle, of many parts, make a tree, in which
// each is found.
func TestManyAlike(t *testing.T) {
	edges := make([]edge, 100_000)
	for i := range edges {
		edges[i] = edge{XY{10, 50}, XY{11, 51}}
	}
	found := 0
	search(treeOf(edges), Box{10.5, 50.5, 10.5, 50.5}, func(int) bool { found++; return true })
	if found != len(edges) {
		t.Errorf("%d edges", found)
	}
}
