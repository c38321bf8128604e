package query

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/geometry"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// position returns one that is often near one of a few places: the antimeridian, the poles, others' positions.
func (g *generator) position() (x, y float64) {
	x, y = float64(g.IntN(3600))/10-180, float64(g.IntN(1801))/10-90
	switch g.IntN(5) {
	case 0:
		x = pick(g, 178, 179.5, 180, -180, -179, -178.0) + float64(g.IntN(10))/10
	case 1:
		y = pick(g, 90, 89.5, 88, -90, -89.0)
	case 2:
		x, y = float64(g.IntN(20)), float64(g.IntN(20))
	case 3:
		x, y = 5+float64(g.IntN(100))/100, 5+float64(g.IntN(100))/100
	}
	if x > 180 {
		x -= 360
	}
	return x, y
}

// ring returns the corners of a polygon, which may go over the antimeridian or round a pole.
func (g *generator) ring() string {
	x, y := g.position()
	w := pick(g, 0.01, 1, 5, 20, 60)
	if g.IntN(6) == 0 { // round a pole
		y = pick(g, 80, 60, -85, -20.0)
		return fmt.Sprintf("[[0,%[1]v],[90,%[1]v],[180,%[1]v],[-90,%[1]v],[0,%[1]v]]", y)
	}
	wrap := func(x float64) float64 {
		if x > 180 {
			return x - 360
		}
		return x
	}
	clamp := func(y float64) float64 { return max(-90, min(90, y)) }
	return fmt.Sprintf("[[%v,%v],[%v,%v],[%v,%v],[%v,%v],[%[1]v,%[2]v]]", x, clamp(y), wrap(x+w), clamp(y+w/5), wrap(x+w), clamp(y+w), wrap(x+w/3), clamp(y+w))
}

func (g *generator) geometry() string {
	x, y := g.position()
	switch g.IntN(9) {
	case 0, 1:
		return fmt.Sprintf(`{"type":"Polygon","coordinates":[%s]}`, g.ring())
	case 2:
		x2, y2 := g.position()
		return fmt.Sprintf(`{"type":"LineString","coordinates":[[%v,%v],[%v,%v]]}`, x, y, x2, y2)
	case 3:
		x2, y2 := g.position()
		return fmt.Sprintf(`{"type":"MultiPoint","coordinates":[[%v,%v],[%v,%v]]}`, x, y, x2, y2)
	case 4:
		return pick(g, `{"type":"Point","coordinates":[1]}`, `{"type":"Polygon","coordinates":[]}`, `null`, `"x"`, `[1,2]`)
	}
	return fmt.Sprintf(`{"type":"Point","coordinates":[%v,%v]}`, x, y)
}

// placeCondition returns a condition about places that can be read.
func (g *generator) placeCondition() string {
	for {
		x, y := g.position()
		c := ""
		switch g.IntN(7) {
		case 0:
			c = fmt.Sprintf(`{"$geoWithin":{"$box":[[%v,%v],[%v,%v]]}}`, x, y, min(180, x+pick(g, 1.0, 30, 200)), min(90, y+pick(g, 1.0, 20, 90)))
		case 1:
			c = fmt.Sprintf(`{"$geoWithin":{"$centerSphere":[[%v,%v],%v]}}`, x, y, pick(g, 0, 0.001, 0.02, 0.3, 2))
		case 2:
			c = fmt.Sprintf(`{"$geoWithin":{"$polygon":%s}}`, g.ring())
		case 3:
			c = fmt.Sprintf(`{"$geoWithin":{"$geometry":{"type":"Polygon","coordinates":[%s]}}}`, g.ring())
		case 4:
			c = `{"$not":{"$geoIntersects":{"$geometry":` + g.geometry() + `}}}`
		default:
			c = `{"$geoIntersects":{"$geometry":` + g.geometry() + `}}`
		}
		if _, err := selector.Parse([]byte(`{"a":` + c + `}`)); err == nil {
			return c
		}
	}
}

func (g *generator) placeSelector(depth int) string {
	if depth > 0 && g.IntN(3) == 0 {
		return fmt.Sprintf(`{"%s":[%s,%s]}`, pick(g, "$or", "$or", "$and", "$nor"), g.placeSelector(depth-1), g.placeSelector(depth-1))
	}
	s := fmt.Sprintf(`{"%s":%s`, pick(g, "a", "a", "b"), g.placeCondition())
	if g.IntN(3) == 0 {
		s += fmt.Sprintf(`,"n":{"$%s":%d}`, pick(g, "gt", "lt", "eq"), g.IntN(5))
	}
	return s + "}"
}

// placesWorld is a world with documents that lie somewhere, and indexes over them.
func placesWorld(t *testing.T, g *generator, partitioned bool) *world {
	w := newWorld(t, partitioned)
	docs := func() (all []string) {
		for i := range 80 {
			id := fmt.Sprintf("d%02d-%d", i, g.IntN(1e9))
			if partitioned {
				id = pick(g, "p:", "q:") + id
			}
			all = append(all, fmt.Sprintf(`{"_id":"%s","a":%s,"b":%s,"n":%d}`, id, g.geometry(), g.geometry(), g.IntN(5)))
		}
		return all
	}
	w.put(docs()...)
	w.places("a", `{"fields":["a"]}`, partitioned && g.IntN(2) == 0)
	w.places("b", `{"fields":["b"]}`, partitioned && g.IntN(2) == 0)
	w.places("some", `{"fields":["a"],"partial_filter_selector":{"n":{"$gt":2}}}`, false)
	w.index("n", `{"fields":{"n":"asc"}}`, false)
	w.build()
	w.put(docs()...) // through the writers
	return w
}

// TestPlacesAnswerAlike holds random selectors about places to the plain meaning of the
// request, whatever index answers, and in pages.
func TestPlacesAnswerAlike(t *testing.T) {
	worlds, requests := 2, 15
	if testrun.IsLong() {
		worlds, requests = 6, 30
	}
	var byPlace int
	for seed := range uint64(worlds) {
		g := &generator{rand.New(rand.NewPCG(seed, 11))}
		partitioned := seed%3 == 0
		w := placesWorld(t, g, partitioned)
		for range requests {
			request, partition := `"selector":`+g.placeSelector(2), g.partition(partitioned)
			for _, use := range []string{"", "a", "some"} {
				req := request
				if use != "" {
					req += fmt.Sprintf(`,"use_index":"%s","allow_fallback":false`, use)
				}
				q, all, err := w.find(partition, "{"+req+`,"limit":1000}`)
				if dberr.Is(err, dberr.Invalid) {
					continue // the one that is named does not serve
				}
				must(t, err)
				if _, is := q.plan.Branches[0].path.(*geoPath); is {
					byPlace++
				}
				want := w.matching(q, partition)
				if use == "some" {
					want = w.among(want, partition, func(d *selector.Doc) bool { return string(d.Lookup(path(t, "n"))) > "2" })
				}
				if got := slices.Sorted(slices.Values(all.ids)); !slices.Equal(got, want) {
					t.Fatalf("{%s} in %q, %s\ngot  %q\nwant %q", req, partition, q.plan, got, want)
				}
				w.holdPages(g, req, partition, all.ids)
			}
		}
	}
	if byPlace < worlds*5 {
		t.Errorf("only %d requests were answered by a geo index", byPlace)
	}
}

func path(t *testing.T, name string) *selector.Path {
	p, err := selector.ParsePath(name)
	must(t, err)
	return p
}

// among returns those of ids whose documents are meant.
func (w *world) among(ids []string, partition string, meant func(*selector.Doc) bool) (some []string) {
	must(w.t, w.scope(partition).View(ctx, func(r *store.Reader) error {
		for d, err := range r.Docs(store.Span{}, true) {
			if err != nil {
				return err
			}
			if slices.Contains(ids, string(d.Doc.ID)) && meant(&selector.Doc{ID: string(d.Doc.ID), Body: d.Winner.Body}) {
				some = append(some, string(d.Doc.ID))
			}
		}
		return nil
	}))
	slices.Sort(some)
	return some
}

// holdPages reads an answer in pages and holds them against the whole.
func (w *world) holdPages(g *generator, request, partition string, all []string) {
	w.t.Helper()
	var paged []string
	bookmark, size := "", 1+g.IntN(9)
	for {
		q, page, err := w.find(partition, fmt.Sprintf(`{%s,"limit":%d,"bookmark":"%s"}`, request, size, bookmark))
		must(w.t, err)
		if len(page.ids) == 0 {
			break
		}
		paged, bookmark = append(paged, page.ids...), q.Bookmark()
	}
	if !slices.Equal(paged, all) {
		w.t.Fatalf("{%s} in %q in pages of %d\ngot  %q\nwant %q", request, partition, size, paged, all)
	}
}

// TestNearestAnswerAlike holds $near against the distances of all documents.
func TestNearestAnswerAlike(t *testing.T) {
	worlds, requests := 2, 10
	if testrun.IsLong() {
		worlds, requests = 4, 25
	}
	for seed := range uint64(worlds) {
		g := &generator{rand.New(rand.NewPCG(seed, 13))}
		partitioned := seed%3 == 0
		w := placesWorld(t, g, partitioned)
		if partitioned {
			w.places("own", `{"fields":["a"]}`, true)
			w.places("all", `{"fields":["a"]}`, false)
			w.build()
		}
		for range requests {
			x, y := g.position()
			near := selector.Nearness{From: geometry.XY{X: x, Y: y}}
			operand := fmt.Sprintf(`"$geometry":{"type":"Point","coordinates":[%v,%v]}`, x, y)
			if g.IntN(3) == 0 {
				near.Max = pick(g, 1000.0, 1e5, 3e6)
				operand += fmt.Sprintf(`,"$maxDistance":%v`, near.Max)
			}
			if g.IntN(3) == 0 {
				near.Min = pick(g, 1.0, 5e4)
				near.Min = min(near.Min, cmp.Or(near.Max, near.Min))
				operand += fmt.Sprintf(`,"$minDistance":%v`, near.Min)
			}
			rest := pick(g, "", "", `,"n":{"$gt":1}`, `,"$or":[{"n":1},{"b":`+g.placeCondition()+`}]`)
			request, partition := fmt.Sprintf(`"selector":{"a":{"$near":{%s}}%s}`, operand, rest), g.partition(partitioned)
			_, all, err := w.find(partition, "{"+request+`,"limit":1000}`)
			must(t, err)
			want := w.nearest(partition, `{"n":{"$exists":true}`+rest+`}`, &near)
			if !slices.Equal(all.ids, want) {
				t.Fatalf("{%s} in %q\ngot  %q\nwant %q", request, partition, all.ids, want)
			}
			w.holdPages(g, request, partition, all.ids)
		}
	}
}

// nearest returns the ids of the documents that match, in the order of their distance.
func (w *world) nearest(partition, matching string, near *selector.Nearness) (ids []string) {
	w.t.Helper()
	sel, err := selector.Parse([]byte(matching))
	must(w.t, err)
	far := map[string]float64{}
	must(w.t, w.scope(partition).View(ctx, func(r *store.Reader) error {
		for d, err := range r.Docs(store.Span{}, true) {
			if err != nil {
				return err
			}
			if d.Winner == nil || d.Doc.ID.IsDesign() {
				continue
			}
			doc := &selector.Doc{ID: string(d.Doc.ID), Body: d.Winner.Body}
			s, err := geometry.ParseGeoJSON(doc.Lookup(path(w.t.(*testing.T), "a")), geometry.OfDocuments)
			if err != nil || !matches(w.t, sel, doc) {
				continue
			}
			distance := s.Distance(near.From)
			if p, ok := s.Point(); ok {
				distance = geometry.Apart(near.From, p)
			}
			if distance >= near.Min && (near.Max == 0 || distance <= near.Max) {
				far[doc.ID], ids = distance, append(ids, doc.ID)
			}
		}
		return nil
	}))
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(far[a], far[b]), strings.Compare(a, b)) })
	return ids
}

// TestDamagedPlaces removes and changes rows of a geo index: nothing is answered from what is left, whoever
// asks is told, and the index is built again.
func TestDamagedPlaces(t *testing.T) {
	w := newWorld(t, false)
	w.put(`{"_id":"a","at":{"type":"Point","coordinates":[1,1]}}`, `{"_id":"b","at":{"type":"LineString","coordinates":[[1,1],[2,2]]}}`)
	w.places("at", `{"fields":["at"]}`, false)
	w.build()
	named := func() (n index.Named) {
		must(t, w.db.Whole().View(ctx, func(r *store.Reader) error {
			set, err := index.Of(r)
			n = set.Named[0]
			return err
		}))
		return n
	}
	change := func(prefix []byte, value func([]byte) []byte) {
		must(t, w.db.Commit(ctx, func(tx kv.Txn) error {
			return w.db.Whole().View(ctx, func(r *store.Reader) error {
				return kv.Each(r.Snapshot(), kv.Prefix(prefix), func(key, old []byte) error {
					if now := value(old); now != nil {
						return tx.Put(key, now)
					}
					return tx.Delete(key)
				})
			})
		}))
	}
	rows := func(space *keyspace.Space, more ...keyspace.Part) []byte {
		return space.Key(w.db.Number(), append([]keyspace.Part{keyspace.U(named().Index.Number)}, more...)...)
	}
	remove := func([]byte) []byte { return nil }
	garble := func(old []byte) []byte { return old[:len(old)/2] }
	spoil := func(old []byte) []byte { return bytes.Replace(old, []byte("LineString"), []byte("LineStrong"), 1) }
	for i, c := range []struct {
		request string
		rows    bool // or the back-row
		value   func([]byte) []byte
	}{
		{`{"selector":{"at":{"$geoWithin":{"$box":[[0,0],[3,3]]}}}}`, false, remove},
		{`{"selector":{"at":{"$geoWithin":{"$box":[[0,0],[3,3]]}}}}`, true, garble},
		{`{"selector":{"at":{"$near":{"$geometry":{"type":"Point","coordinates":[1,1]}}}}}`, false, spoil},
	} {
		number := named().Index.Number
		prefix := rows(&keyspace.GeoBack, keyspace.T("b"))
		if c.rows {
			prefix = rows(&keyspace.GeoRow)
		}
		change(prefix, c.value)
		if _, _, err := w.find("", c.request); !dberr.Is(err, dberr.Unavailable) {
			t.Fatalf("%d: who asks is told %v", i, err)
		}
		w.build()
		q, got, err := w.find("", c.request)
		must(t, err)
		if len(got.ids) != 2 || q.plan.Branches[0].Index() == nil || named().Index.Number == number {
			t.Errorf("%d: %v by %s", i, got.ids, q.plan)
		}
	}
}
