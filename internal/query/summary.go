package query

import (
	"bytes"
	"iter"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/selector"
)

// maxGroups bounds the groups of one query, which are held in memory.
const maxGroups = 100_000

// summary is what count and group make of the matching documents.
type summary struct {
	req    *Request
	count  int
	groups map[string]*group // by the encoded values
	key    []byte
}

// group is the documents with the same values in the fields of by.
type group struct {
	key    [][]byte // JSON; of values that compare equal, the least text
	values []computation
}

// computation takes the values of a field, one by one; nil for documents
// without it, or when no field is named.
type computation interface {
	add(v []byte)
	appendJSON(dst []byte) []byte
}

// computations are the words of compute.
func computations() map[string]func() computation {
	return map[string]func() computation{
		"$count": func() computation { return new(tally) },
		"$sum":   func() computation { return new(sum) },
		"$avg":   func() computation { return new(average) },
		"$min":   func() computation { return &extreme{sign: -1} },
		"$max":   func() computation { return &extreme{sign: 1} },
	}
}

func newSummary(req *Request) *summary {
	return &summary{req: req, groups: map[string]*group{}}
}

// cost is how many steps of a budget add takes.
func (s *summary) cost(d *selector.Doc) int {
	if s.req.Group == nil {
		return 1
	}
	return (len(s.req.Group.By) + len(s.req.Group.Compute)) * (1 + len(d.Body)>>6)
}

// add counts a matching document.
func (s *summary) add(d *selector.Doc) error {
	s.count++
	g := s.req.Group
	if g == nil {
		return nil
	}
	values := make([][]byte, len(g.By))
	s.key = s.key[:0]
	for i, p := range g.By {
		if values[i] = d.Lookup(p); values[i] == nil {
			values[i] = []byte("null")
		}
		var err error
		if s.key, err = keyspace.AppendCollated(s.key, values[i]); err != nil {
			return err
		}
	}
	into := s.groups[string(s.key)]
	if into == nil {
		if len(s.groups) == maxGroups {
			return badGroup("There are more than %d groups.", maxGroups)
		}
		into = &group{key: make([][]byte, len(values))}
		for _, c := range g.Compute {
			into.values = append(into.values, computations()[c.Op]())
		}
		s.groups[string(s.key)] = into
	}
	for i, v := range values {
		if into.key[i] == nil || bytes.Compare(v, into.key[i]) < 0 {
			into.key[i] = bytes.Clone(v)
		}
	}
	for i, c := range g.Compute {
		if c.Path == nil {
			into.values[i].add([]byte("true"))
		} else if v := d.Lookup(c.Path); v != nil {
			into.values[i].add(v)
		}
	}
	return nil
}

// Count returns how many documents matched, for a request that asks for that.
func (q *Query) Count() int { return q.summary.count }

// Groups returns what the documents amount to, for a request that asks for that, in
// the order of their keys: the values of the fields of by and those of compute, in
// their order and as JSON.
func (q *Query) Groups() iter.Seq2[[][]byte, [][]byte] {
	return func(yield func(key, values [][]byte) bool) {
		s := q.summary
		keys := slices.Sorted(maps.Keys(s.groups))
		keys = keys[min(s.req.Skip, len(keys)):]
		if s.req.limited {
			keys = keys[:min(s.req.Limit, len(keys))]
		}
		for _, k := range keys {
			g := s.groups[k]
			values := make([][]byte, len(g.values))
			for i, v := range g.values {
				values[i] = v.appendJSON(nil)
			}
			if !yield(g.key, values) {
				return
			}
		}
	}
}

// Summarizes reports whether the answer is a count or groups, not documents.
func (r *Request) Summarizes() bool { return r.Count || r.Group != nil }

// tally is $count.
type tally int64

func (t *tally) add([]byte) { *t++ }

func (t *tally) appendJSON(dst []byte) []byte { return strconv.AppendInt(dst, int64(*t), 10) }

// sum is $sum: exact for whole numbers, otherwise a double with the errors of
// rounding carried along. What is not a number does not count.
type sum struct {
	whole      big.Int
	float      float64
	correction float64
	floats     bool
	numbers    int64
}

func (s *sum) add(v []byte) {
	if jsonscan.KindOf(v) != jsonscan.Number {
		return
	}
	s.numbers++
	if isWhole(v) {
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			s.whole.Add(&s.whole, big.NewInt(n))
			return
		}
		if len(v) <= 400 { // reading more of them takes more than linear time
			if n, ok := new(big.Int).SetString(string(v), 10); ok {
				s.whole.Add(&s.whole, n)
				return
			}
		}
	}
	f, _ := strconv.ParseFloat(string(v), 64) // out of range is infinite, and shown as null
	s.floats = true
	t := s.float + f
	if math.Abs(s.float) >= math.Abs(f) {
		s.correction += (s.float - t) + f
	} else {
		s.correction += (f - t) + s.float
	}
	s.float = t
}

// total returns the sum as a double.
func (s *sum) total() float64 {
	whole, _ := new(big.Float).SetInt(&s.whole).Float64()
	if math.IsInf(s.float, 0) || math.IsNaN(s.correction) {
		return s.float
	}
	return whole + s.float + s.correction
}

func (s *sum) appendJSON(dst []byte) []byte {
	if !s.floats {
		return s.whole.Append(dst, 10)
	}
	return appendFloat(dst, s.total())
}

func appendFloat(dst []byte, f float64) []byte {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// average is $avg, null when there is no number.
type average struct{ sum }

func (a *average) appendJSON(dst []byte) []byte {
	if a.numbers == 0 {
		return append(dst, "null"...)
	}
	return appendFloat(dst, a.total()/float64(a.numbers))
}

// extreme is $min or $max in the order of values, null when there is none.
type extreme struct {
	sign int
	best []byte
}

func (x *extreme) add(v []byte) {
	c := 0
	if x.best != nil {
		if c = keyspace.CompareJSON(v, x.best) * x.sign; c == 0 {
			c = bytes.Compare(x.best, v)
		}
	}
	if x.best == nil || c > 0 {
		x.best = bytes.Clone(v)
	}
}

func (x *extreme) appendJSON(dst []byte) []byte {
	if x.best == nil {
		return append(dst, "null"...)
	}
	return append(dst, x.best...)
}
