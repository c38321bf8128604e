package system

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/sectional/sectional/internal/analyze"
)

// What full-text and geo indexes say of all cities of the world, held against a look at each of
// them by other formulas: of the whole database, and of partitions.

// city is a document as the tests look at it.
type city struct {
	ID       string `json:"_id"`
	Name     string
	Country  string
	Geometry struct{ Coordinates [2]float64 }

	words          []string // of the name, in lower case
	german, french []string // their stems
}

func (p *city) lon() float64 { return p.Geometry.Coordinates[0] }
func (p *city) lat() float64 { return p.Geometry.Coordinates[1] }

func (p *city) has(words ...string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(p.words, w) })
}

// any reports whether a word of the name is one that is asked for.
func (p *city) any(is func(word string) bool) bool { return slices.ContainsFunc(p.words, is) }

// readCities decodes the documents.
func readCities(t *testing.T, rows [][]byte) []*city {
	t.Helper()
	var stems [2]*analyze.Analyzers
	for i, language := range []string{`"german"`, `"french"`} {
		var err error
		if stems[i], err = analyze.New([]byte(language)); err != nil {
			t.Fatal(err)
		}
	}
	all := make([]*city, len(rows))
	for i, row := range rows {
		p := &city{}
		if err := json.Unmarshal(row, p); err != nil {
			t.Fatal(err)
		}
		p.words = strings.FieldsFunc(strings.ToLower(p.Name), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '’' && !unicode.IsMark(r)
		})
		p.german, p.french = stems[0].Terms(p.Name), stems[1].Terms(p.Name)
		all[i] = p
	}
	return all
}

// idsOf are the cities that are as asked for, of one country or of all.
func idsOf(all []*city, country string, is func(p *city) bool) (ids []string) {
	for _, p := range all {
		if (country == "" || p.Country == country) && is(p) {
			ids = append(ids, p.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

const (
	cityText = `"indexes":{"i":{"analyzer":{"name":"perfield","default":"standard","fields":{"country":"keyword","german":"german","french":"french"}},` +
		`"index":"function (doc) { index('name', doc.name); index('german', doc.name); index('french', doc.name); index('country', doc.country, {facet: true}); index('lon', doc.geometry.coordinates[0]); index('lat', doc.geometry.coordinates[1], {facet: true}) }"}}`
	cityNames  = `"indexes":{"i":{"analyzer":{"name":"perfield","default":"standard","fields":{"country":"keyword"}},"index":"function (doc) { index('name', doc.name); index('country', doc.country) }"}}`
	cityPlaces = `"st_indexes":{"g":{"index":"function (doc) { st_index(doc.geometry) }"}}`
)

// askCities indexes the cities and asks for them.
func askCities(t *testing.T, c *client, rows [][]byte) {
	all := readCities(t, rows)
	c.http.Timeout = 10 * time.Minute // the first query waits for the builds
	c.must(t, 201, "PUT", "/cities/_design/all", `{"options":{"partitioned":false},`+cityText+`,`+cityPlaces+`}`, nil)
	c.must(t, 201, "PUT", "/cities/_design/one", `{`+cityNames+`,`+cityPlaces+`}`, nil)
	t.Run("sets", func(t *testing.T) { searchedSets(t, c, all) })
	t.Run("stems", func(t *testing.T) { searchedStems(t, c, all) })
	t.Run("facets", func(t *testing.T) { searchedFacets(t, c, all) })
	t.Run("groups", func(t *testing.T) { searchedGroups(t, c, all) })
	t.Run("orders", func(t *testing.T) { searchedOrders(t, c, all) })
	t.Run("areas", func(t *testing.T) { searchedAreas(t, c, all) })
	t.Run("nearest", func(t *testing.T) { searchedNearest(t, c, all) })
}

// paths are where to ask for all cities, and for those of each country in which some are found, and of one in
// which none are.
func paths(all []*city, found []string, kind string) map[string]string {
	at := map[string]string{"": "/cities/_design/all/" + kind}
	add := func(country string) {
		at[country] = "/cities/_partition/" + country + "/_design/one/" + kind
	}
	for _, id := range found {
		country, _, _ := strings.Cut(id, ":")
		add(country)
	}
	for _, p := range all {
		if at[p.Country] == "" {
			add(p.Country)
			break
		}
	}
	return at
}

// cityPage is an answer of _search or _geo.
type cityPage struct {
	Total int `json:"total_rows"`
	Rows  []struct {
		ID    string
		Order []any
	}
	Bookmark string
	Counts   map[string]map[string]int
	Ranges   map[string]map[string]int
	Groups   []struct {
		By    string
		Total int `json:"total_rows"`
		Rows  []struct{ ID string }
	}
}

// walked reads all pages of a query and returns the ids, sorted.
func walked(t *testing.T, c *client, path string, query url.Values) (ids []string, total int) {
	t.Helper()
	query.Set("limit", "200")
	query.Del("bookmark")
	for {
		var page cityPage
		c.must(t, 200, "GET", path+"?"+query.Encode(), "", &page)
		for _, row := range page.Rows {
			ids = append(ids, row.ID)
		}
		if len(page.Rows) < 200 {
			slices.Sort(ids)
			return ids, page.Total
		}
		query.Set("bookmark", page.Bookmark)
	}
}

// searchedSets asks queries whose answers are sets.
func searchedSets(t *testing.T, c *client, all []*city) {
	between := func(v, from, to float64) bool { return from <= v && v <= to }
	field := regexp.MustCompile(`^spring(field|dale)$`)
	for _, q := range []struct {
		query   string
		is      func(p *city) bool
		least   int
		numbers bool // the index of the partitions has no numbers
	}{
		{"name:Springfield AND country:US", func(p *city) bool { return p.has("springfield") && p.Country == "US" }, 10, false},
		{`name:"new york"~2`, func(p *city) bool { return within2(p.words, "new", "york") }, 3, false},
		{`name:"new york"`, func(p *city) bool { return strings.Contains(" "+strings.Join(p.words, " ")+" ", " new york ") }, 2, false},
		{"name:(new york)", func(p *city) bool { return p.has("new") || p.has("york") }, 100, false},
		{"+name:san -name:francisco -country:(US OR MX)", func(p *city) bool {
			return p.has("san") && !p.has("francisco") && p.Country != "US" && p.Country != "MX"
		}, 500, false},
		{"name:springf*", func(p *city) bool { return p.any(func(w string) bool { return strings.HasPrefix(w, "springf") }) }, 10, false},
		{"name:?pringfield", func(p *city) bool {
			return p.any(func(w string) bool { return len([]rune(w)) == 11 && strings.HasSuffix(w, "pringfield") })
		}, 10, false},
		{"name:/spring(field|dale)/", func(p *city) bool { return p.any(field.MatchString) }, 10, false},
		{"name:[springdale TO springhill}", func(p *city) bool {
			return p.any(func(w string) bool { return "springdale" <= w && w < "springhill" })
		}, 10, false},
		{"lat:[52 TO 52.5] AND lon:[13 TO 14}", func(p *city) bool { return between(p.lat(), 52, 52.5) && p.lon() >= 13 && p.lon() < 14 }, 50, true},
	} {
		found := idsOf(all, "", q.is)
		if len(found) < q.least {
			t.Errorf("%s: only %d cities", q.query, len(found))
		}
		for country, path := range paths(all, found, "_search/i") {
			if q.numbers && country != "" {
				continue
			}
			want := idsOf(all, country, q.is)
			got, total := walked(t, c, path, url.Values{"q": {q.query}})
			if !slices.Equal(got, want) || total != len(want) {
				t.Errorf("%s in %q: %d of %d cities, want %d\ngot  %.300v\nwant %.300v", q.query, country, len(got), total, len(want), got, want)
			}
		}
	}
}

// within2 reports whether two words stand in this order with at most two moves.
func within2(words []string, a, b string) bool {
	for i, v := range words {
		for j, w := range words {
			if v == a && w == b && math.Abs(float64(j-i-1)) <= 2 {
				return true
			}
		}
	}
	return false
}

// searchedStems asks by stems, which find other forms of a word than that which is asked for.
func searchedStems(t *testing.T, c *client, all []*city) {
	for _, q := range []struct {
		field, word, stem, other string // other is a word that is found too
		stems                    func(p *city) []string
	}{
		{"german", "bergen", "berg", "berg", func(p *city) []string { return p.german }},
		{"french", "châteaux", "chateau", "château", func(p *city) []string { return p.french }},
	} {
		is := func(p *city) bool { return slices.Contains(q.stems(p), q.stem) }
		want := idsOf(all, "", is)
		got, total := walked(t, c, "/cities/_design/all/_search/i", url.Values{"q": {q.field + ":" + q.word}})
		if !slices.Equal(got, want) || total != len(want) {
			t.Errorf("%s:%s: %d of %d cities, want %d", q.field, q.word, len(got), total, len(want))
		}
		for _, w := range []string{q.word, q.other} {
			if those := idsOf(all, "", func(p *city) bool { return is(p) && p.has(w) }); len(those) == 0 {
				t.Errorf("%s:%s: no city has the word %s", q.field, q.word, w)
			}
		}
	}
}

// counted counts cities by a value.
func counted(all []*city, is func(p *city) bool, by func(p *city) string) map[string]int {
	n := map[string]int{}
	for _, p := range all {
		if v := by(p); v != "" && is(p) {
			n[v]++
		}
	}
	return n
}

func searchedFacets(t *testing.T, c *client, all []*city) {
	zone := func(p *city) string {
		switch lat := math.Abs(p.lat()); {
		case lat <= 23.4:
			return "tropics"
		case lat >= 66.5 && p.lat() > 0:
			return "arctic"
		}
		return ""
	}
	for query, is := range map[string]func(p *city) bool{
		"*:*":      func(*city) bool { return true },
		"name:san": func(p *city) bool { return p.has("san") },
	} {
		var page cityPage
		c.must(t, 200, "GET", "/cities/_design/all/_search/i?"+url.Values{"q": {query}, "counts": {`["country"]`}, "limit": {"0"},
			"ranges": {`{"lat":{"tropics":"[-23.4 TO 23.4]","arctic":"[66.5 TO 90]"}}`}}.Encode(), "", &page)
		country := counted(all, is, func(p *city) string { return p.Country })
		zones := map[string]int{"tropics": 0, "arctic": 0}
		for z, n := range counted(all, is, zone) {
			zones[z] = n
		}
		if got := page.Counts["country"]; fmt.Sprint(got) != fmt.Sprint(country) || len(country) < 10 {
			t.Errorf("%s by country: %v, want %v", query, got, country)
		}
		if got := page.Ranges["lat"]; fmt.Sprint(got) != fmt.Sprint(zones) {
			t.Errorf("%s by latitude: %v, want %v", query, got, zones)
		}
	}
	want := idsOf(all, "", func(p *city) bool {
		return p.has("victoria") && slices.Contains([]string{"US", "CA", "AU"}, p.Country)
	})
	got, _ := walked(t, c, "/cities/_design/all/_search/i", url.Values{"q": {"name:victoria"}, "drilldown": {`["country","US","CA","AU"]`}})
	if !slices.Equal(got, want) || len(want) < 3 {
		t.Errorf("drilled down: %v, want %v", got, want)
	}
}

func searchedGroups(t *testing.T, c *client, all []*city) {
	is := func(p *city) bool { return p.has("victoria") }
	want := counted(all, is, func(p *city) string { return p.Country })
	var page cityPage
	c.must(t, 200, "GET", "/cities/_design/all/_search/i?q=name:victoria&group_field=country&group_limit=200&limit=100", "", &page)
	if page.Total != len(idsOf(all, "", is)) || len(page.Groups) != len(want) || len(want) < 10 {
		t.Errorf("%d cities in %d groups, want %d", page.Total, len(page.Groups), len(want))
	}
	for _, g := range page.Groups {
		var ids []string
		for _, row := range g.Rows {
			ids = append(ids, row.ID)
		}
		slices.Sort(ids)
		if g.Total != want[g.By] || !slices.Equal(ids, idsOf(all, g.By, is)) {
			t.Errorf("the group %q has %d cities: %v, want %v", g.By, g.Total, ids, idsOf(all, g.By, is))
		}
	}
}

// equator is how much larger the radius of the earth is at the equator, which Lucene's distances
// have, than its mean.
const equator = 6378.137 / 6371.0088

// searchedOrders asks for the first by a number, and by distance.
func searchedOrders(t *testing.T, c *client, all []*city) {
	for sort, by := range map[string]func(p *city) float64{
		`"lat"`:                                (*city).lat,
		`"-lat"`:                               func(p *city) float64 { return -p.lat() },
		`"<distance,lon,lat,13.405,52.52,km>"`: func(p *city) float64 { return apart(p, 13.405, 52.52) * equator / 1000 },
		`"<distance,lon,lat,179.9,-17,km>"`:    func(p *city) float64 { return apart(p, 179.9, -17) * equator / 1000 },
	} {
		for query, is := range map[string]func(p *city) bool{
			"*:*":        func(*city) bool { return true },
			"name:santa": func(p *city) bool { return p.has("santa") },
		} {
			byID, values := valuesOf(all, is, by)
			var page cityPage
			c.must(t, 200, "GET", "/cities/_design/all/_search/i?"+url.Values{"q": {query}, "sort": {sort}, "limit": {"100"}}.Encode(), "", &page)
			if page.Total != len(values) || len(page.Rows) != 100 {
				t.Fatalf("%s by %s: %d rows of %d, want 100 of %d", query, sort, len(page.Rows), page.Total, len(values))
			}
			for i, row := range page.Rows {
				v, there := byID[row.ID]
				if !there || !closeTo(v, values[i]) || strings.Contains(sort, "distance") && !closeTo(row.Order[0].(float64), v) {
					t.Errorf("%s by %s: number %d is %s at %v (%v), want %v", query, sort, i, row.ID, row.Order, v, values[i])
				}
			}
		}
	}
}

// valuesOf returns a value of cities by their ids, and in order.
func valuesOf(all []*city, is func(p *city) bool, by func(p *city) float64) (byID map[string]float64, sorted []float64) {
	byID = map[string]float64{}
	for _, p := range all {
		if is(p) {
			v := by(p)
			byID[p.ID], sorted = v, append(sorted, v)
		}
	}
	slices.Sort(sorted)
	return byID, sorted
}

// closeTo reports whether two numbers are the same but for rounding.
func closeTo(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(a)) }

// apart is a distance in metres, by the formula of haversines.
func apart(p *city, lon, lat float64) float64 {
	const earth, rad = 6371008.8, math.Pi / 180
	u, v := math.Sin((p.lat()-lat)*rad/2), math.Sin((p.lon()-lon)*rad/2)
	return 2 * earth * math.Asin(math.Sqrt(u*u+math.Cos(p.lat()*rad)*math.Cos(lat*rad)*v*v))
}

// inside reports whether a position lies within a ring in the plane.
func inside(ring [][2]float64, lon, lat float64) (in bool) {
	for i, j := 0, len(ring)-1; i < len(ring); j, i = i, i+1 {
		a, b := ring[i], ring[j]
		if (a[1] > lat) != (b[1] > lat) && lon < (b[0]-a[0])*(lat-a[1])/(b[1]-a[1])+a[0] {
			in = !in
		}
	}
	return in
}

// east is a longitude from 0 to 360.
func east(lon float64) float64 {
	if lon < 0 {
		lon += 360
	}
	return lon
}

func searchedAreas(t *testing.T, c *client, all []*city) {
	outer := [][2]float64{{6.000013, 44.000017}, {16.000013, 46.000017}, {16.000013, 48.000017}, {9.000013, 48.000017}, {6.000013, 46.000017}}
	hole := [][2]float64{{9.000011, 46.000019}, {12.000011, 46.500019}, {12.000011, 47.500019}, {9.500011, 47.000019}}
	pacific := [][2]float64{{170.000013, -50}, {190.000013, -50}, {185.000013, -10}, {165.000013, -10}}
	for name, q := range map[string]struct {
		query url.Values
		is    func(p *city) bool
		least int
	}{
		"100 km round Berlin":           {round(13.405, 52.52, 100_000), func(p *city) bool { return apart(p, 13.405, 52.52) <= 100_000 }, 300},
		"400 km round 180° at Fiji":     {round(180, -17, 400_000), func(p *city) bool { return apart(p, 180, -17) <= 400_000 }, 10},
		"2,500 km round the North Pole": {round(0, 90, 2_500_000), func(p *city) bool { return (90-p.lat())*math.Pi/180*6371008.8 <= 2_500_000 }, 50},
		"a box across 180°": {url.Values{"bbox": {"177.000013,-20.000013,-178.000013,-16.000013"}}, func(p *city) bool {
			return p.lat() >= -20.000013 && p.lat() <= -16.000013 && east(p.lon()) >= 177.000013 && east(p.lon()) <= 181.999987
		}, 10},
		"the Alps without their midst": {url.Values{"g": {"POLYGON(" + ringText(outer) + "," + ringText(hole) + ")"}}, func(p *city) bool { return inside(outer, p.lon(), p.lat()) && !inside(hole, p.lon(), p.lat()) }, 1000},
		"a polygon across 180°":        {url.Values{"g": {"POLYGON(" + ringText(pacific) + ")"}}, func(p *city) bool { return inside(pacific, east(p.lon()), p.lat()) }, 100},
	} {
		found := idsOf(all, "", q.is)
		if len(found) < q.least {
			t.Errorf("%s: only %d cities", name, len(found))
		}
		q.query.Set("include_geoms", "false")
		for country, path := range paths(all, found, "_geo/g") {
			want := idsOf(all, country, q.is)
			got, _ := walked(t, c, path, q.query)
			if !slices.Equal(got, want) {
				t.Errorf("%s in %q: %d cities, want %d\ngot  %.300v\nwant %.300v", name, country, len(got), len(want), got, want)
			}
		}
	}
}

// round is the query for a circle.
func round(lon, lat, radius float64) url.Values {
	return url.Values{"lon": {fmt.Sprint(lon)}, "lat": {fmt.Sprint(lat)}, "radius": {fmt.Sprintf("%.0f", radius)}}
}

// ringText is a ring in well-known text, with longitudes up to 180.
func ringText(ring [][2]float64) string {
	var all []string
	for _, at := range append(slices.Clip(ring), ring[0]) {
		if at[0] > 180 {
			at[0] -= 360
		}
		all = append(all, fmt.Sprintf("%f %f", at[0], at[1]))
	}
	return "(" + strings.Join(all, ",") + ")"
}

// searchedNearest asks for the ten nearest to places.
func searchedNearest(t *testing.T, c *client, all []*city) {
	for _, from := range [][2]float64{{13.405, 52.52}, {180, -17}, {0, 90}, {-140, -30}} {
		for country, path := range map[string]string{"": "/cities/_design/all/_geo/g", "US": "/cities/_partition/US/_design/one/_geo/g"} {
			byID, near := valuesOf(all, func(p *city) bool { return country == "" || p.Country == country }, func(p *city) float64 { return apart(p, from[0], from[1]) })
			var page cityPage
			c.must(t, 200, "GET", fmt.Sprintf("%s?lon=%v&lat=%v&nearest=true&limit=10&include_geoms=false", path, from[0], from[1]), "", &page)
			if len(page.Rows) != 10 {
				t.Fatalf("from %v in %q: %d cities", from, country, len(page.Rows))
			}
			for i, row := range page.Rows {
				if d, there := byID[row.ID]; !there || math.Abs(d-near[i]) > 0.01 {
					t.Errorf("from %v in %q: number %d is %s at %v, want one at %v", from, country, i, row.ID, d, near[i])
				}
			}
		}
	}
}
