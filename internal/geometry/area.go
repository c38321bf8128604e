package geometry

import (
	"errors"

	"github.com/peterstace/simplefeatures/geom"
	"github.com/peterstace/simplefeatures/rtree"
)

// place is where a position lies in relation to a shape.
type place int

const (
	exterior place = iota
	boundary
	interior
)

// area is a polygon with its edges in a tree, so that questions about a position or a
// rectangle look at few of them.
type area struct {
	polygon geom.Polygon
	edges   []edge
	tree    *rtree.RTree
	box     Box
}

type edge struct{ a, b XY }

func (e edge) box() Box { return nowhere.with(e.a).with(e.b) }

func newArea(p geom.Polygon) *area {
	a := &area{polygon: p, box: nowhere}
	for _, ring := range p.DumpRings() {
		seq := ring.Coordinates()
		for i := 1; i < seq.Length(); i++ {
			from, to := seq.GetXY(i-1), seq.GetXY(i)
			a.edges = append(a.edges, edge{XY(from), XY(to)})
		}
	}
	for _, e := range a.edges {
		a.box = a.box.union(e.box())
	}
	a.tree = treeOf(a.edges)
	return a
}

// distinct is by how much, in degrees, the box of an edge is larger than that of the edge
// before: the library takes the square of the number of boxes that have the same middle.
const distinct = 1e-12

// treeOf makes a tree of edges by boxes that hold them: who searches looks at the edges.
func treeOf(edges []edge) *rtree.RTree {
	items := make([]rtree.BulkItem, len(edges))
	for i, e := range edges {
		b, more := e.box(), float64(i)*distinct
		b.West, b.South = b.West-more, b.South-more
		items[i] = rtree.BulkItem{Box: treeBox(b), RecordID: i}
	}
	return rtree.BulkLoad(items)
}

func treeBox(b Box) rtree.Box {
	return rtree.Box{MinX: b.West, MinY: b.South, MaxX: b.East, MaxY: b.North}
}

// search calls fn with the numbers of the edges whose boxes meet a box, until it returns
// false.
func search(tree *rtree.RTree, b Box, fn func(i int) bool) {
	_ = tree.RangeSearch(treeBox(b), func(i int) error {
		if !fn(i) {
			return errEnough
		}
		return nil
	}) // it returns no error but those of the function
}

// errEnough ends a search; the library's own rtree.Stop ends it for one leaf of the tree only.
var errEnough = errors.New("enough")

// search calls fn with the edges whose boxes meet a box, until it returns false.
func (a *area) search(b Box, fn func(e edge) bool) {
	search(a.tree, b, func(i int) bool { return fn(a.edges[i]) })
}

// locate returns where a position lies: by how many edges lie east of it.
func (a *area) locate(p XY) place {
	if !a.box.meets(Box{p.X, p.Y, p.X, p.Y}) {
		return exterior
	}
	at, inside := exterior, false
	a.search(Box{p.X, p.Y, a.box.East, p.Y}, func(e edge) bool {
		if e.holds(p) {
			at = boundary
			return false
		}
		if (e.a.Y > p.Y) != (e.b.Y > p.Y) && side(e, p) {
			inside = !inside
		}
		return true
	})
	if at == exterior && inside {
		at = interior
	}
	return at
}

// cross is positive if p lies left of the edge, 0 if on its line.
func (e edge) cross(p XY) float64 {
	return (e.b.X-e.a.X)*(p.Y-e.a.Y) - (p.X-e.a.X)*(e.b.Y-e.a.Y)
}

// side reports whether an edge that crosses the latitude of p does so east of it.
func side(e edge, p XY) bool { return (e.cross(p) > 0) == (e.b.Y > e.a.Y) }

// holds reports whether a position lies on the edge.
func (e edge) holds(p XY) bool {
	return e.cross(p) == 0 && e.box().meets(Box{p.X, p.Y, p.X, p.Y})
}

// crosses reports whether two edges have a position in common.
func (e edge) crosses(f edge) bool {
	if !e.box().meets(f.box()) {
		return false
	}
	a, b, c, d := e.cross(f.a), e.cross(f.b), f.cross(e.a), f.cross(e.b)
	return (a <= 0 || b <= 0) && (a >= 0 || b >= 0) && (c <= 0 || d <= 0) && (c >= 0 || d >= 0)
}

// meets reports whether an edge has a position in common with a box.
func (e edge) meets(b Box) bool {
	if !e.box().meets(b) {
		return false
	}
	if e.a.X == e.b.X || e.a.Y == e.b.Y {
		return true
	}
	left, right := 0, 0
	for _, c := range []XY{{b.West, b.South}, {b.East, b.South}, {b.East, b.North}, {b.West, b.North}} {
		switch x := e.cross(c); {
		case x > 0:
			left++
		case x < 0:
			right++
		}
	}
	return left < 4 && right < 4
}

// rectangle returns how a box lies in relation to the area: exterior, interior, or boundary if
// it is neither.
func (a *area) rectangle(b Box) place {
	if !a.box.meets(b) {
		return exterior
	}
	at := exterior
	a.search(b, func(e edge) bool {
		if e.meets(b) {
			at = boundary
		}
		return at == exterior
	})
	if at == exterior && a.locate(XY{(b.West + b.East) / 2, (b.South + b.North) / 2}) == interior {
		at = interior
	}
	return at
}
