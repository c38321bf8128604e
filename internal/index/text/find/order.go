package find

import (
	"cmp"
	"math"
	std "regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/lucene"
)

// Order is something to sort by.
type Order struct {
	By         By
	Field      string // of Numbers and Texts; the longitude's of Distance
	Latitude   string // the latitude's field of Distance
	Descending bool
	from       point
	unit       float64 // of a degree
}

// By is what an Order sorts by.
type By uint8

// What rows can be sorted by. Score ascends as the others do: the best are last.
const (
	Score By = iota
	Numbers
	Texts
	Distance
	Place // of the document in the index, which means nothing: the order is by id
	Typed // by numbers or texts, whichever the field has
)

// byScore is the order without a sort.
var byScore = []Order{{By: Score, Descending: true}}

// The forms of a sort.
var (
	fieldForm    = std.MustCompile(`^([-+])?([.\w]+)(?:<(\w+)>)?$`)
	distanceForm = std.MustCompile(`^([-+])?<distance,([.\w]+),([.\w]+),([-+]?[0-9]+(?:\.[0-9]+)?),([-+]?[0-9]+(?:\.[0-9]+)?),(mi|km)>$`)
)

// Radii of the earth, in which Clouseau measures.
const (
	radiusKilometres = 6378.137
	radiusMiles      = radiusKilometres * 0.621371192
)

// ParseOrder reads an element of a sort, such as "-price<number>" or
// "<distance,lon,lat,13.4,52.5,km>". A field without a type is one of numbers.
func ParseOrder(text string) (Order, error) {
	switch text {
	case "<score>":
		return Order{By: Score}, nil
	case "-<score>":
		return Order{By: Score, Descending: true}, nil
	case "<doc>", "-<doc>":
		return Order{By: Place, Descending: text[0] == '-'}, nil
	}
	if m := distanceForm.FindStringSubmatch(text); m != nil {
		return distanceOrder(m), nil
	}
	m := fieldForm.FindStringSubmatch(text)
	if m == nil {
		return Order{}, bad("Unrecognized sort parameter: %s", text)
	}
	o := Order{By: Numbers, Field: m[2], Descending: m[1] == "-"}
	switch m[3] {
	case "", "number":
	case "string":
		o.By = Texts
	default:
		return o, bad("Unrecognized type: %s", m[3])
	}
	return o, nil
}

func distanceOrder(m []string) Order {
	o := Order{By: Distance, Field: m[2], Latitude: m[3], Descending: m[1] == "-", unit: radiusKilometres * math.Pi / 180}
	if m[6] == "mi" {
		o.unit = radiusMiles * math.Pi / 180
	}
	o.from.lon, _ = strconv.ParseFloat(m[4], 64) // the form is that of a number
	o.from.lat, _ = strconv.ParseFloat(m[5], 64)
	return o
}

// ParseGroupField reads the field to group by: one of strings.
func ParseGroupField(text string) (string, error) {
	m := fieldForm.FindStringSubmatch(text)
	switch {
	case m != nil && m[3] == "number":
		return "", bad("Group by number not supported. Group by string terms only.")
	case m == nil || m[3] != "" && m[3] != "string":
		return "", bad("Unrecognized group_field parameter: %s", text)
	}
	return m[2], nil
}

// parseBucket reads a range of numbers such as "[0 TO 100}".
func parseBucket(text string) (b segment.Interval, err error) {
	tree, err := lucene.Parse(text, lucene.Options{})
	if q, ok := tree.(*lucene.Range); err == nil && ok {
		if low, high, ok := q.Numbers(); ok {
			return segment.Interval{Min: low, Max: high, IncludeMin: q.IncludeMin, IncludeMax: q.IncludeMax}, nil
		}
	}
	return b, bad("%s was not a well-formed range specification", text)
}

// point is a place on the earth, in degrees.
type point struct{ lon, lat float64 }

// degrees returns how far two places are apart, as the angle between them.
func (p point) degrees(q point) float64 {
	rad := func(d float64) float64 { return d * math.Pi / 180 }
	a, b := math.Sin(rad(q.lat-p.lat)/2), math.Sin(rad(q.lon-p.lon)/2)
	h := a*a + math.Cos(rad(p.lat))*math.Cos(rad(q.lat))*b*b
	return 2 * math.Asin(math.Sqrt(min(h, 1))) * 180 / math.Pi
}

// key is a value that a document is sorted by.
type key struct {
	number float64
	text   string
	null   bool // a text that is not there: before all others
}

func (k key) compare(o key) int {
	switch {
	case k.null != o.null:
		if k.null {
			return -1
		}
		return 1
	case k.number != o.number:
		return cmp.Compare(k.number, o.number)
	}
	return strings.Compare(k.text, o.text)
}

// value is the key as a row shows it.
func (o *Order) value(k key) any {
	switch {
	case k.null:
		return nil
	case o.By == Texts:
		return strings.Clone(k.text) // the index's
	}
	return k.number
}

// sorting are the keys of documents.
type sorting struct {
	orders  []Order
	columns [][2]*segment.Column
	nouveau bool
}

func (w *work) sorting(orders []Order) *sorting {
	if len(orders) == 0 {
		orders = byScore
	}
	s := &sorting{orders: orders, columns: make([][2]*segment.Column, len(orders)), nouveau: w.nouveau}
	for i, o := range orders {
		switch o.By {
		case Distance:
			s.columns[i] = [2]*segment.Column{w.index.Column(o.Field), w.index.Column(o.Latitude)}
		case Numbers, Texts:
			s.columns[i][0] = w.index.Column(o.Field)
		}
	}
	return s
}

// scored reports whether scores are sorted by.
func scored(orders []Order) bool {
	for _, o := range orders {
		if o.By == Score {
			return true
		}
	}
	return len(orders) == 0
}

// byID reports whether documents with the same score are in the order of their ids.
func (s *sorting) byID() bool {
	return !slices.ContainsFunc(s.orders, func(o Order) bool { return o.By != Score && o.By != Place })
}

// keys puts the keys of the document where a node is into dst.
func (s *sorting) keys(n node, dst []key) []key {
	for i := range s.orders {
		dst = append(dst, s.key(i, n))
	}
	return dst
}

// key returns a key. A number that is not there is 0, a place as far away as can be. Of
// several values Clouseau takes the greatest, Nouveau the least.
func (s *sorting) key(i int, n node) (k key) {
	o, columns := &s.orders[i], &s.columns[i]
	switch o.By {
	case Score:
		k.number = finite(n.score())
	case Numbers:
		if k.number, _ = columns[0].Number(n.doc()); s.nouveau {
			k.number, _ = columns[0].Least(n.doc())
		}
	case Texts:
		text, ok := columns[0].Text(n.doc())
		if s.nouveau && o.Field != idField {
			text, ok = columns[0].First(n.doc())
		}
		k.text, k.null = text, !ok
	case Distance:
		lon, there := columns[0].Number(n.doc())
		lat, also := columns[1].Number(n.doc())
		if k.number = 180 * o.unit; there && also {
			k.number = o.from.degrees(point{lon, lat}) * o.unit
		}
	}
	return k
}

// finite is a score as exact as Lucene's, so that the same are equal. Boosts may make more
// of it than a number can be.
func finite(score float64) float64 {
	if score != score {
		return 0
	}
	return float64(float32(max(min(score, math.MaxFloat32), -math.MaxFloat32)))
}

// compare compares keys in the order.
func (s *sorting) compare(a, b []key) int {
	for i := range s.orders {
		if c := a[i].compare(b[i]); c != 0 {
			if s.orders[i].Descending {
				return -c
			}
			return c
		}
	}
	return 0
}

// values are keys as a row shows them. Last is Lucene's number of the document, which
// is nobody's business, or for Nouveau the id. They are not the index's.
func (s *sorting) values(keys []key, id string) []any {
	values := make([]any, len(keys), len(keys)+1)
	byID := false
	for i, k := range keys {
		o := &s.orders[i]
		values[i] = o.value(k)
		if !s.nouveau {
			continue
		}
		switch byID = o.Field == idField; {
		case byID:
			values[i] = ID(strings.Clone(k.text))
		case o.By == Score:
			values[i] = float32(k.number)
		case o.By == Place:
			values[i] = nil
		}
	}
	switch {
	case !s.nouveau:
		return append(values, 0)
	case !byID:
		return append(values, ID(strings.Clone(id)))
	}
	return values
}
