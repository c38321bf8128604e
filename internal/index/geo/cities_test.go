package geo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sectional/sectional/internal/demo"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/geometry"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// cities is a database of the demo's cities, one in every so many and all of two countries, with a global and a
// partitioned index.
type cities struct {
	db     *store.Database
	places map[document.ID]geometry.XY
}

func newCities(t testing.TB, every int) *cities {
	e, err := pebblekv.Open(pebblekv.Options{Dir: t.TempDir()})
	must(t, err)
	x := index.New(index.Options{Kinds: []index.Kind{New(goFunctions{})}, Idle: true})
	s, err := store.Open(ctx, e, store.Options{Idle: true, Indexer: x})
	must(t, err)
	t.Cleanup(func() {
		x.Close()
		must(t, s.Close())
		must(t, e.Close())
	})
	c := &cities{places: map[document.ID]geometry.XY{}}
	c.db, err = s.Create(ctx, "cities", store.Creation{Partitioned: true})
	must(t, err)
	var edits []document.Edit
	write := func() {
		results, err := c.db.Whole().Write(ctx, edits, store.WriteOptions{})
		must(t, err)
		for _, r := range results {
			must(t, r.Err)
		}
		edits = edits[:0]
	}
	n := 0
	for text, err := range demo.Cities() {
		must(t, err)
		if n++; n%every > 0 && !bytes.Contains(text[:20], []byte(`"FJ:`)) && !bytes.Contains(text[:20], []byte(`"NO:`)) {
			continue
		}
		var doc struct {
			ID       document.ID `json:"_id"`
			Geometry struct{ Coordinates [2]float64 }
		}
		must(t, json.Unmarshal(text, &doc))
		c.places[doc.ID] = geometry.XY{X: doc.Geometry.Coordinates[0], Y: doc.Geometry.Coordinates[1]}
		body := map[string]json.RawMessage{}
		must(t, json.Unmarshal(text, &body))
		delete(body, "_id")
		b, err := json.Marshal(body)
		must(t, err)
		if edits = append(edits, document.Edit{ID: doc.ID, Body: b}); len(edits) == 5000 {
			write()
		}
	}
	for _, p := range []string{"true", "false"} {
		edits = append(edits, document.Edit{ID: document.ID("_design/" + p), Body: []byte(`{"options":{"partitioned":` + p + `},"st_indexes":{"g":{"index":"function(doc){ st_index(doc.geometry); }"}}}`)})
	}
	write()
	must(t, x.Run(ctx, c.db))
	return c
}

// read calls fn with a reader of all cities, or those of one country.
func (c *cities) read(t testing.TB, country document.Partition, fn func(v *Reader)) {
	t.Helper()
	must(t, c.db.Whole().View(ctx, func(r *store.Reader) error {
		s, err := index.Of(r)
		if err != nil {
			return err
		}
		fn(NewReader(r, s.Lookup(document.ID(fmt.Sprintf("_design/%t", country != "")), KindName, "g").Index, country))
		return nil
	}))
}

func (c *cities) search(t testing.TB, country document.Partition, q *Query) (ids []document.ID) {
	c.read(t, country, func(v *Reader) {
		for at := (Place{}); !at.End; {
			var err error
			at, err = v.Search(ctx, q, at.At, func(h Hit) bool {
				ids = append(ids, h.ID)
				return true
			})
			must(t, err)
		}
	})
	slices.Sort(ids)
	return ids
}

// haversine is the distance by another formula than the package's.
func haversine(a, b geometry.XY) float64 {
	rad := math.Pi / 180
	u, v := math.Sin((b.Y-a.Y)*rad/2), math.Sin((b.X-a.X)*rad/2)
	return 2 * geometry.EarthRadius * math.Asin(math.Sqrt(u*u+math.Cos(a.Y*rad)*math.Cos(b.Y*rad)*v*v))
}

// inRing reports whether a position lies in a ring in the plane, by counting crossings.
func inRing(ring []geometry.XY, p geometry.XY) (in bool) {
	for i, j := 0, len(ring)-1; i < len(ring); j, i = i, i+1 {
		a, b := ring[i], ring[j]
		if (a.Y > p.Y) != (b.Y > p.Y) && p.X < (b.X-a.X)*(p.Y-a.Y)/(b.Y-a.Y)+a.X {
			in = !in
		}
	}
	return in
}

// TestCities holds what the index says of real cities against all of them, looked at one
// by one with other formulas: globally and in the country that has most of what is found.
// SECTIONAL_LONG=1, which `make test-long` sets, takes all 171,075 instead of one in 25.
func TestCities(t *testing.T) {
	testrun.Sequential(t)
	every := 25
	if testrun.IsLong() {
		every = 1
	}
	c := newCities(t, every)
	for _, q := range []struct {
		name   string
		shape  func() (*geometry.Shape, error)
		holds  func(p geometry.XY) bool
		within document.Partition
		least  int // found of all cities
	}{
		{"100 km round Berlin", circle(13.405, 52.52, 100_000), nearer(13.405, 52.52, 100_000), "DE", 300},
		{"400 km round 180° at Fiji", circle(180, -17, 400_000), nearer(180, -17, 400_000), "FJ", 10},
		{"2,500 km round the North Pole", circle(0, 90, 2_500_000), func(p geometry.XY) bool { return (90-p.Y)*math.Pi/180*geometry.EarthRadius <= 2_500_000 }, "NO", 50},
		{"north of 70°, as a ring", wkt("POLYGON((0 70,90 70,180 70,-90 70,0 70))"), func(p geometry.XY) bool { return p.Y >= 70 }, "NO", 5},
		{"the Alps", wkt("POLYGON((6.000013 44.000017,16.000013 46.000017,16.000013 48.000017,9.000013 48.000017,6.000013 46.000017,6.000013 44.000017))"), func(p geometry.XY) bool {
			return inRing([]geometry.XY{{X: 6.000013, Y: 44.000017}, {X: 16.000013, Y: 46.000017}, {X: 16.000013, Y: 48.000017}, {X: 9.000013, Y: 48.000017}, {X: 6.000013, Y: 46.000017}}, p)
		}, "IT", 2000},
		{"over the antimeridian", wkt("POLYGON((170 -50,-170 -50,-175 -10,165 -10,170 -50))"), func(p geometry.XY) bool {
			if p.X < 0 {
				p.X += 360
			}
			return inRing([]geometry.XY{{X: 170, Y: -50}, {X: 190, Y: -50}, {X: 185, Y: -10}, {X: 165, Y: -10}}, p)
		}, "NZ", 100},
	} {
		shape, err := q.shape()
		must(t, err)
		for _, country := range []document.Partition{"", q.within} {
			var want []document.ID
			for id, p := range c.places {
				if (country == "" || id.Partition() == country) && q.holds(p) {
					want = append(want, id)
				}
			}
			slices.Sort(want)
			got := c.search(t, country, &Query{Shape: shape, Relation: geometry.Intersects})
			if !slices.Equal(got, want) {
				t.Errorf("%s in %q: %d cities, want %d\ngot  %v\nwant %v", q.name, country, len(got), len(want), got, want)
			}
			if len(want) == 0 || every == 1 && country == "" && len(want) < q.least {
				t.Errorf("%s in %q: only %d cities", q.name, country, len(want))
			}
			t.Logf("%s in %q: %d cities", q.name, country, len(got))
		}
	}
	for _, from := range []geometry.XY{{X: 13.405, Y: 52.52}, {X: 180, Y: -17}, {X: 0, Y: 90}, {X: -140, Y: -30}} {
		for _, country := range []document.Partition{"", "US"} {
			c.nearest(t, from, country)
		}
	}
}

// nearest holds the ten nearest against all.
func (c *cities) nearest(t *testing.T, from geometry.XY, country document.Partition) {
	t.Helper()
	type far struct {
		id document.ID
		d  float64
	}
	var want []far
	for id, p := range c.places {
		if country == "" || id.Partition() == country {
			want = append(want, far{id, haversine(from, p)})
		}
	}
	slices.SortFunc(want, func(a, b far) int { return cmp.Compare(a.d, b.d) })
	want = want[:10]
	c.read(t, country, func(v *Reader) {
		hits, err := v.Nearest(ctx, &Near{From: from}, nil, 10)
		must(t, err)
		for i, h := range hits {
			if d := haversine(from, c.places[h.ID]); math.Abs(d-want[i].d) > 0.01 || math.Abs(h.Distance-d) > 0.01 {
				t.Errorf("from %v in %q: number %d is %s at %v (%v), want %s at %v", from, country, i, h.ID, h.Distance, d, want[i].id, want[i].d)
			}
		}
		if len(hits) != 10 {
			t.Errorf("from %v in %q: %d cities", from, country, len(hits))
		}
	})
}

func circle(lon, lat, r float64) func() (*geometry.Shape, error) {
	return func() (*geometry.Shape, error) { return geometry.Ellipse(geometry.XY{X: lon, Y: lat}, r, r) }
}

func nearer(lon, lat, r float64) func(geometry.XY) bool {
	return func(p geometry.XY) bool { return haversine(geometry.XY{X: lon, Y: lat}, p) <= r }
}

func wkt(text string) func() (*geometry.Shape, error) {
	return func() (*geometry.Shape, error) {
		return geometry.ParseWKT(text, geometry.Limits{Positions: 100, Depth: 1})
	}
}

// BenchmarkCities asks all cities for those round a place, about a hundred, and for the ten
// nearest to one.
func BenchmarkCities(b *testing.B) {
	c := newCities(b, 1)
	places := []geometry.XY{}
	for id, p := range c.places {
		if id.Partition() == "DE" || id.Partition() == "FR" {
			places = append(places, p)
		}
	}
	b.Run("radius", func(b *testing.B) {
		found := 0
		for i := range b.N {
			p := places[i%len(places)]
			shape, err := circle(p.X, p.Y, 35_000)()
			must(b, err)
			found += len(c.search(b, "", &Query{Shape: shape, Relation: geometry.Intersects}))
		}
		b.ReportMetric(float64(found)/float64(b.N), "hits")
	})
	b.Run("nearest", func(b *testing.B) {
		for i := range b.N {
			c.read(b, "", func(v *Reader) {
				hits, err := v.Nearest(ctx, &Near{From: places[i%len(places)]}, nil, 10)
				must(b, err)
				if len(hits) != 10 {
					b.Fatal(len(hits))
				}
			})
		}
	})
}
