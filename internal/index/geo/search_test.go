package geo

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/geometry"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// world is a database with geometries at hard places, in an index of functions and in one
// by a field, global and partitioned.
type world struct {
	*testing.T
	db     *store.Database
	shapes map[document.ID]*geometry.Shape
}

func newWorld(t *testing.T, r *rand.Rand, documents int) *world {
	e := openEngine(t)
	x := index.New(index.Options{Kinds: []index.Kind{New(goFunctions{}), Fields{}}, Idle: true})
	s, err := store.Open(ctx, e, store.Options{Idle: true, Indexer: x})
	must(t, err)
	t.Cleanup(func() {
		x.Close()
		must(t, s.Check(ctx))
		must(t, s.Close())
		must(t, e.Close())
	})
	w := &world{T: t, shapes: map[document.ID]*geometry.Shape{}}
	w.db, err = s.Create(ctx, "db", store.Creation{Partitioned: true})
	must(t, err)
	var edits []document.Edit
	for _, global := range []string{"true", "false"} {
		edits = append(edits, document.Edit{ID: document.ID("_design/js" + global), Body: []byte(`{"options":{"partitioned":` + global + `},"st_indexes":{"g":{"index":"function(doc){ st_index(doc.g); }"}}}`)},
			document.Edit{ID: document.ID("_design/field" + global), Body: []byte(`{"language":"query","options":{"partitioned":` + global + `},"st_indexes":{"g":{"index":{"fields":["g"]}}}}`)})
	}
	for n := range documents {
		json := hardGeometry(r)
		id := document.ID(fmt.Sprintf("p%d:%d", r.IntN(3), n))
		if s, err := geometry.ParseGeoJSON([]byte(json), Limits); err == nil {
			w.shapes[id] = s
		}
		edits = append(edits, document.Edit{ID: id, Body: []byte(`{"g":` + json + `}`)})
	}
	results, err := w.db.Whole().Write(ctx, edits, store.WriteOptions{})
	must(t, err)
	for _, r := range results {
		must(t, r.Err)
	}
	must(t, x.Run(ctx, w.db))
	return w
}

// hardGeometry makes a geometry, often near the antimeridian or a pole.
func hardGeometry(r *rand.Rand) string {
	x, y := hardPlace(r)
	at := func(size float64) string {
		return fmt.Sprintf("[%v,%v]", wrap(x+(r.Float64()-0.5)*size), max(-90, min(90, y+(r.Float64()-0.5)*size)))
	}
	size := math.Pow(10, r.Float64()*3-1.5)
	switch r.IntN(8) {
	case 0:
		return `{"type":"LineString","coordinates":[` + at(size) + `,` + at(size) + `,` + at(size) + `]}`
	case 1, 2:
		a, b, c := at(size), at(size), at(size)
		return `{"type":"Polygon","coordinates":[[` + a + `,` + b + `,` + c + `,` + a + `]]}`
	case 3:
		lat := (70 + 19*r.Float64()) * float64(1-2*r.IntN(2))
		return fmt.Sprintf(`{"type":"Polygon","coordinates":[[[0,%[1]v],[90,%[1]v],[180,%[1]v],[-90,%[1]v],[0,%[1]v]]]}`, lat)
	case 4:
		return `{"type":"MultiPoint","coordinates":[` + at(size) + `,` + at(size) + `]}`
	}
	return `{"type":"Point","coordinates":` + at(size) + `}`
}

func wrap(x float64) float64 { return math.Remainder(x, 360) }

func hardPlace(r *rand.Rand) (x, y float64) {
	x, y = r.Float64()*360-180, r.Float64()*180-90
	if r.IntN(2) == 0 {
		x = 180
	}
	if r.IntN(4) == 0 {
		y = math.Copysign(89, y)
	}
	return x, y
}

// hardQuery makes a shape to ask for.
func hardQuery(r *rand.Rand) *geometry.Shape {
	for {
		x, y := hardPlace(r)
		var s *geometry.Shape
		var err error
		switch r.IntN(3) {
		case 0:
			s, err = geometry.Ellipse(geometry.XY{X: wrap(x), Y: y}, math.Pow(10, 3+4.2*r.Float64()), math.Pow(10, 3+3*r.Float64()))
		case 1:
			s, err = geometry.Rectangle(geometry.Box{West: wrap(x), South: max(-90, y-20*r.Float64()), East: wrap(x + 90*r.Float64()), North: min(90, y+20*r.Float64())})
		default:
			s, err = geometry.ParseGeoJSON([]byte(hardGeometry(r)), Limits)
		}
		if err == nil {
			return s
		}
	}
}

// read calls fn with readers of all four indexes, and the documents that each is about.
func (w *world) read(fn func(name string, v *Reader, of map[document.ID]*geometry.Shape)) {
	w.Helper()
	for _, design := range []string{"jsfalse", "fieldfalse", "jstrue", "fieldtrue"} {
		p := document.Partition("")
		of := w.shapes
		if design[len(design)-4:] == "true" {
			p, of = "p1", map[document.ID]*geometry.Shape{}
			for id, s := range w.shapes {
				if id.Partition() == p {
					of[id] = s
				}
			}
		}
		must(w, w.db.Whole().View(ctx, func(r *store.Reader) error {
			s, err := index.Of(r)
			if err != nil {
				return err
			}
			kind := KindName
			if design[:2] == "fi" {
				kind = FieldsName
			}
			fn(design, NewReader(r, s.Lookup(document.ID("_design/"+design), kind, "g").Index, p), of)
			return nil
		}))
	}
}

// rounds is how many questions are asked: all of them by `make test-long`, which sets SECTIONAL_LONG=1, and fewest
// where the race detector wants short tests.
func rounds(n int) int {
	switch {
	case testing.Short():
		return n / 6
	case !testrun.IsLong():
		return n / 3
	}
	return n
}

// related looks at all geometries one by one, once for all four indexes.
func (w *world) related(q *geometry.Shape, rel geometry.Relation) map[document.ID]bool {
	w.Helper()
	related := map[document.ID]bool{}
	for id, s := range w.shapes {
		yes, err := q.Relates(rel, s)
		must(w, err)
		related[id] = yes
	}
	return related
}

// near looks at all geometries one by one, once for all four indexes, and sorts those that are asked for.
func (w *world) near(q Near) (want []Hit) {
	w.Helper()
	for id, s := range w.shapes {
		h := Hit{ID: id, Distance: s.Distance(q.From)}
		in := h.Distance >= q.Min && (q.Max == 0 || h.Distance <= q.Max)
		if q.Filter != nil && in {
			var err error
			in, err = q.Filter.Shape.Relates(q.Filter.Relation, s)
			must(w, err)
		}
		if in {
			want = append(want, h)
		}
	}
	slices.SortFunc(want, func(a, b Hit) int { return a.Where().compare(&b) })
	return want
}

// TestSearchIsBruteForce holds searches, in pages of any length, against all geometries
// looked at one by one.
func TestSearchIsBruteForce(t *testing.T) {
	testrun.Sequential(t)
	r := rand.New(rand.NewPCG(11, 12))
	w := newWorld(t, r, 400)
	found := 0
	for range rounds(150) {
		q := hardQuery(r)
		rel := geometry.Relations[r.IntN(len(geometry.Relations))]
		if r.IntN(2) == 0 {
			rel = geometry.Intersects
		}
		related := w.related(q, rel)
		w.read(func(name string, v *Reader, of map[document.ID]*geometry.Shape) {
			var want, got []document.ID
			for id := range of {
				if related[id] {
					want = append(want, id)
				}
			}
			page := 1 + r.IntN(40)
			for at := (Place{}); !at.End; {
				n := 0
				var err error
				at, err = v.Search(ctx, &Query{Shape: q, Relation: rel}, at.At, func(h Hit) bool {
					got = append(got, h.ID)
					n++
					return n < page
				})
				must(t, err)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %s %+v\ngot  %v\nwant %v", name, rel, q.Bounds(), got, want)
			}
			found += len(got)
		})
	}
	if found < rounds(2000) {
		t.Errorf("only %d were found", found)
	}
}

// TestNearestIsBruteForce holds the order of distance, in pages, against all geometries
// sorted.
func TestNearestIsBruteForce(t *testing.T) {
	testrun.Sequential(t)
	r := rand.New(rand.NewPCG(13, 14))
	w := newWorld(t, r, 250)
	for range rounds(25) {
		x, y := hardPlace(r)
		q := Near{From: geometry.XY{X: wrap(x), Y: y}}
		if r.IntN(3) == 0 {
			q.Filter = &Query{Shape: hardQuery(r), Relation: geometry.Intersects}
		}
		if r.IntN(3) == 0 {
			q.Max = 5e6 * r.Float64()
		}
		if r.IntN(4) == 0 {
			q.Min = 1e6 * r.Float64()
		}
		near := w.near(q)
		w.read(func(name string, v *Reader, of map[document.ID]*geometry.Shape) {
			var want, got []Hit
			for _, h := range near {
				if of[h.ID] != nil {
					want = append(want, h)
				}
			}
			page := 1 + r.IntN(60)
			var after *Behind
			for {
				hits, err := v.Nearest(ctx, &q, after, page)
				must(t, err)
				if got = append(got, hits...); len(hits) < page {
					break
				}
				after = hits[len(hits)-1].Where()
			}
			same := slices.EqualFunc(got, want, func(a, b Hit) bool { return a.ID == b.ID && cmp.Compare(a.Distance, b.Distance) == 0 })
			if !same {
				t.Fatalf("%s: from %v least %v most %v in pages of %d\ngot  %v\nwant %v", name, q.From, q.Min, q.Max, page, got, want)
			}
		})
	}
}
