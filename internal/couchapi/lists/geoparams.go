package lists

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/geometry"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/web"
)

// geoQuery is what a geo index was asked for.
type geoQuery struct {
	bbox             []float64
	wkt              string
	lat, lon, radius *float64
	rangeX, rangeY   *float64
	relation         geometry.Relation
	nearest          bool
	limit, skip      int
	bookmark         string
	include          bool
	noGeometries     bool
	format           geoFormat
	update           viewUpdate
	partition        *string

	shape *geometry.Shape // once checked
	exact bool            // relation was given
}

// geoFormat is the form of an answer.
type geoFormat string

const (
	geoView    geoFormat = "view"
	geoLegacy  geoFormat = "legacy"
	geoJSON    geoFormat = "geojson"
	geoJSONVnd geoFormat = "application/vnd.geo+json"
)

// Bounds of a geo query: rows, as at Cloudant, and positions of the geometry asked for.
const (
	geoRows      = 200
	geoPositions = 10_000
	geoDepth     = 16
)

// geoParams are the parameters of geo queries, in a query string or a body.
var geoParams = map[string]func(*geoQuery, string, listValue) error{
	"bbox":          (*geoQuery).setBox,
	"g":             geoText(func(q *geoQuery, s string) { q.wkt = s }),
	"geometry":      geoText(func(q *geoQuery, s string) { q.wkt = s }),
	"lat":           geoNumber(func(q *geoQuery, f *float64) { q.lat = f }),
	"y":             geoNumber(func(q *geoQuery, f *float64) { q.lat = f }),
	"lon":           geoNumber(func(q *geoQuery, f *float64) { q.lon = f }),
	"x":             geoNumber(func(q *geoQuery, f *float64) { q.lon = f }),
	"radius":        geoNumber(func(q *geoQuery, f *float64) { q.radius = f }),
	"r":             geoNumber(func(q *geoQuery, f *float64) { q.radius = f }),
	"rangex":        geoNumber(func(q *geoQuery, f *float64) { q.rangeX = f }),
	"rangey":        geoNumber(func(q *geoQuery, f *float64) { q.rangeY = f }),
	"relation":      (*geoQuery).setRelation,
	"filter":        (*geoQuery).setRelation,
	"nearest":       geoFlag(func(q *geoQuery, b bool) { q.nearest = b }),
	"include_docs":  geoFlag(func(q *geoQuery, b bool) { q.include = b }),
	"include_geoms": geoFlag(func(q *geoQuery, b bool) { q.noGeometries = !b }),
	"stable":        geoFlag(func(*geoQuery, bool) {}),
	"srid":          geoReference,
	"srs":           geoReference,
	"response_srid": geoReference,
	"responseSrs":   geoReference,
	"bookmark":      geoText(func(q *geoQuery, s string) { q.bookmark = s }),
	"limit": func(q *geoQuery, name string, v listValue) (err error) {
		if q.limit, err = geoCount(name, v); err == nil && q.limit > geoRows {
			err = couchhttp.QueryError("Limit must be less than or equal to %d", geoRows)
		}
		return err
	},
	"skip":       func(q *geoQuery, name string, v listValue) (err error) { q.skip, err = geoCount(name, v); return err },
	"startIndex": func(q *geoQuery, name string, v listValue) (err error) { q.skip, err = geoCount(name, v); return err },
	"stale": func(q *geoQuery, name string, v listValue) error {
		switch v.word() {
		case "ok", "true":
			q.update = updateNever
		case "update_after":
			q.update = updateLater
		case "false":
			q.update = updateFirst
		default:
			return badGeoValue("boolean", name, v)
		}
		return nil
	},
	"format": func(q *geoQuery, name string, v listValue) error {
		q.format = geoFormat(v.word())
		if !slices.Contains([]geoFormat{geoView, geoLegacy, geoJSON, geoJSONVnd}, q.format) {
			return badGeoValue("format", name, v)
		}
		return nil
	},
	"partition": func(q *geoQuery, _ string, v listValue) error {
		p := v.word()
		q.partition = &p
		if v.raw != nil && jsonscan.KindOf(v.raw) != jsonscan.String {
			return couchhttp.QueryError("Invalid value for `partition`.")
		}
		return nil
	},
	"vbox":  noMotion,
	"start": noMotion,
	"end":   noMotion,
}

// noMotion refuses what asks for moving objects.
func noMotion(_ *geoQuery, name string, _ listValue) error {
	return couchhttp.QueryError("`%s` is not supported: geo indexes have two dimensions.", name)
}

// badGeoValue is Cloudant's error for a value that can't be read.
func badGeoValue(kind, name string, v listValue) error {
	shown := string(v.raw)
	if v.raw == nil {
		shown = string(jsonscan.AppendQuoted(nil, v.text))
	}
	return couchhttp.QueryError("Invalid %s value for %s: '%s'", kind, name, shown)
}

func geoNumber(set func(*geoQuery, *float64)) func(*geoQuery, string, listValue) error {
	return func(q *geoQuery, name string, v listValue) error {
		f, err := strconv.ParseFloat(v.word(), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || v.raw == nil && strings.ContainsAny(v.text, "xX_") {
			return badGeoValue("float", name, v)
		}
		set(q, &f)
		return nil
	}
}

func geoCount(name string, v listValue) (int, error) {
	n, err := strconv.Atoi(v.word())
	if err != nil || n < 0 {
		return 0, badGeoValue("positive integer", name, v)
	}
	return n, nil
}

func geoFlag(set func(*geoQuery, bool)) func(*geoQuery, string, listValue) error {
	return func(q *geoQuery, name string, v listValue) error {
		switch v.word() {
		case "true":
			set(q, true)
		case "false":
			set(q, false)
		default:
			return badGeoValue("boolean", name, v)
		}
		return nil
	}
}

func geoText(set func(*geoQuery, string)) func(*geoQuery, string, listValue) error {
	return func(q *geoQuery, name string, v listValue) error {
		if v.raw != nil && jsonscan.KindOf(v.raw) != jsonscan.String {
			return badGeoValue("string", name, v)
		}
		set(q, v.word())
		return nil
	}
}

// geoReference takes the one reference system that there is.
func geoReference(_ *geoQuery, name string, v listValue) error {
	if word := v.word(); word != "4326" && !strings.HasSuffix(word, ":4326") {
		return couchhttp.QueryError("Invalid value for %s: only 4326 is supported", name)
	}
	return nil
}

func (q *geoQuery) setRelation(name string, v listValue) error {
	q.relation, q.exact = geometry.Relation(v.word()), true
	if v.raw != nil && jsonscan.KindOf(v.raw) == jsonscan.Null {
		q.relation = geometry.Any
	}
	if !q.relation.Valid() {
		return badGeoValue("filter name", name, v)
	}
	return nil
}

// setBox takes a bounding box: the least values of all dimensions, then the greatest.
func (q *geoQuery) setBox(name string, v listValue) error {
	var words []string
	if jsonscan.KindOf(v.raw) == jsonscan.Array {
		for it := jsonscan.ElementsOf(v.raw); ; {
			e, ok := it.Next()
			if !ok {
				break
			}
			words = append(words, string(jsonscan.Trim(e)))
		}
	} else {
		words = strings.Split(v.word(), ",")
	}
	if n := len(words); n != 4 && n != 6 && n != 8 {
		return badGeoValue("bounding box", name, v)
	}
	q.bbox = nil
	for _, w := range words {
		f, err := strconv.ParseFloat(strings.TrimSpace(w), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return badGeoValue("bounding box", name, v)
		}
		q.bbox = append(q.bbox, f)
	}
	return nil
}

// readGeoQuery reads a query: the members of a body and the parameters of the query
// string, which win.
func readGeoQuery(body []document.Member, pairs web.Query) (*geoQuery, error) {
	q := &geoQuery{limit: 25, format: geoView, update: updateFirst}
	for _, m := range body {
		if set := geoParams[m.Name]; set != nil {
			if err := set(q, m.Name, listValue{raw: m.Value}); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range pairs {
		if set := geoParams[p.Name]; set != nil {
			if err := set(q, p.Name, listValue{text: p.Value}); err != nil {
				return nil, err
			}
		}
	}
	return q, q.makeShape()
}

// makeShape makes the geometry that is asked for, of which there must be exactly one.
func (q *geoQuery) makeShape() (err error) {
	given := 0
	for _, is := range []bool{q.bbox != nil, q.wkt != "", q.radius != nil, q.rangeX != nil || q.rangeY != nil} {
		if is {
			given++
		}
	}
	place := q.lat != nil && q.lon != nil
	switch {
	case given > 1 || (q.bbox != nil || q.wkt != "") && (q.lat != nil || q.lon != nil):
		return couchhttp.QueryError("Multiple geometry queries specified.")
	case q.wkt != "":
		q.shape, err = geometry.ParseWKT(q.wkt, geometry.Limits{Positions: geoPositions, Depth: geoDepth})
	case q.bbox != nil:
		n := len(q.bbox) / 2
		q.shape, err = geometry.Rectangle(geometry.Box{West: q.bbox[0], South: q.bbox[1], East: q.bbox[n], North: q.bbox[n+1]})
	case place && q.radius != nil:
		q.shape, err = geometry.Ellipse(geometry.XY{X: *q.lon, Y: *q.lat}, *q.radius, *q.radius)
	case place && q.rangeX != nil && q.rangeY != nil:
		q.shape, err = geometry.Ellipse(geometry.XY{X: *q.lon, Y: *q.lat}, *q.rangeX, *q.rangeY)
	case place && given == 0 && q.nearest: // ours: a place is enough to be near to
		q.shape, err = geometry.Ellipse(geometry.XY{X: *q.lon, Y: *q.lat}, 0, 0)
	default:
		return couchhttp.QueryError("No geometry query specified.")
	}
	if err != nil {
		return couchhttp.QueryError("Invalid geometry: %s", err.Error())
	}
	if !q.exact {
		q.relation = geometry.Intersects
		if q.bbox != nil || q.nearest {
			q.relation = geometry.Any
		}
	}
	return nil
}
