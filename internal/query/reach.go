package query

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/index/field"
)

// origin is a range in values: those of the columns in front, and an interval
// of the next one.
type origin struct {
	values   [][]byte
	last     *interval
	overflow bool
}

// maxRanges bounds the product of the values of several columns.
const maxRanges = 1000

// reachOf returns the rows of an index that the conjuncts ask for; false if
// documents may be missing from the index. Fields of sort count as demanded.
func reachOf(d *field.Def, all []conjunct, sort []SortField) (reach, bool, error) {
	total := reach{equal: len(d.Columns), ranged: true, width: len(d.Columns), partial: d.Partial != nil, repeats: d.Elements() >= 0}
	for i := range all {
		columns, ok := columnsFor(d, &all[i], sort)
		if !ok {
			return reach{}, false, nil
		}
		if slices.ContainsFunc(columns, func(c column) bool { return len(c.set) == 0 }) {
			continue // nothing matches
		}
		if err := total.add(d, columns); err != nil {
			return reach{}, false, err
		}
	}
	if total.repeats && len(total.ranges) > 0 {
		total.ranges = append(total.ranges, Range{field.Overflow(), []fmt.Stringer{&origin{overflow: true}}})
	}
	total.ranges = mergeRanges(total.ranges)
	one := project(all)
	columns, _ := columnsFor(d, &one, sort)
	for i := range columns {
		total.sets = append(total.sets, columns[i].set)
	}
	if total.equal == 0 && len(total.sets) > 0 && !total.sets[0].restricts() {
		total.ranged = false // the alternatives leave nothing out together
	}
	return total, true, nil
}

// column is what a conjunct says of a column of an index.
type column struct {
	set           // the values that it may have
	optional bool // or none: then set is everything
	absent   bool // it has none; set means nothing then
}

// columnsFor returns what a conjunct says of each column; false if documents that it
// means may be missing from the index.
func columnsFor(d *field.Def, c *conjunct, sort []SortField) ([]column, bool) {
	columns := make([]column, len(d.Columns))
	for i := range d.Columns {
		var ok bool
		if columns[i], ok = columnFor(d, i, c, sort); !ok {
			return nil, false
		}
	}
	return columns, true
}

func columnFor(d *field.Def, i int, c *conjunct, sort []SortField) (column, bool) {
	col := &d.Columns[i]
	path := col.Path.String()
	x := c.demands(path)
	switch {
	case x != nil && !col.Elements:
		return column{set: x.whole}, true
	case x != nil:
		if rows, ok := x.elements(orderOf(path)); ok {
			return column{set: rows}, true
		}
	case !col.Elements && (path == "_id" || path == "_rev" || sorts(sort, path)):
		return column{set: everything()}, true
	case c.by[path] != nil && d.Optional(i):
		return column{set: everything(), absent: true}, true
	}
	return column{set: everything(), optional: true}, d.Optional(i)
}

// sorts reports whether a sort names a field.
func sorts(sort []SortField, path string) bool {
	return slices.ContainsFunc(sort, func(s SortField) bool { return s.Path.String() == path })
}

// add adds the ranges of one conjunct.
func (t *reach) add(d *field.Def, columns []column) (err error) {
	prefixes := []prefix{{}}
	equal := 0
	for ; equal < len(columns); equal++ {
		if columns[equal].absent {
			if prefixes, err = extend(d, prefixes, equal, [][]byte{nil}); err != nil {
				return err
			}
			continue
		}
		points, kinds, ok := columns[equal].split(orderOf(d.Columns[equal].Path.String()))
		if !ok || len(points)*len(prefixes) > maxRanges {
			break
		}
		for _, p := range prefixes {
			if err := t.addIntervals(d, p, equal, kinds); err != nil {
				return err
			}
		}
		if prefixes, err = extend(d, prefixes, equal, points); err != nil {
			return err
		}
	}
	ranged := equal < len(columns) && columns[equal].restricts()
	if equal < t.equal {
		t.equal, t.ranged = equal, ranged
	} else if equal == t.equal {
		t.ranged = t.ranged && ranged
	}
	for _, p := range prefixes {
		// Where documents may lack the column, those that have it are a range.
		if equal == len(columns) || columns[equal].everything() && (columns[equal].optional || !d.Optional(equal)) {
			t.ranges = append(t.ranges, Range{field.Equal(p.tuple), []fmt.Stringer{&origin{values: p.values}}})
			continue
		}
		if err := t.addIntervals(d, p, equal, columns[equal].set); err != nil {
			return err
		}
	}
	return nil
}

// prefix is the values of the leading columns, encoded and as JSON.
type prefix struct {
	tuple  []byte
	values [][]byte
}

func extend(d *field.Def, prefixes []prefix, column int, points [][]byte) (out []prefix, err error) {
	for _, p := range prefixes {
		for _, v := range points {
			next := prefix{values: append(p.values[:len(p.values):len(p.values)], v)}
			if next.tuple, err = d.AppendValue(bytes.Clone(p.tuple), column, v); err != nil {
				return nil, err
			}
			out = append(out, next)
		}
	}
	return out, nil
}

// addIntervals adds the ranges of one prefix and a set of the next column. A
// set of too many intervals is read as one.
func (t *reach) addIntervals(d *field.Def, p prefix, column int, s set) error {
	if len(s) > maxRanges {
		s = set{{low: s[0].low, high: s[len(s)-1].high}}
	}
	for i := range s {
		span, err := d.Span(p.tuple, column, s[i].low, s[i].high)
		if err != nil {
			return err
		}
		if !span.Empty() {
			t.ranges = append(t.ranges, Range{span, []fmt.Stringer{&origin{values: p.values, last: &s[i]}}})
		}
	}
	return nil
}

// mergeRanges puts ranges into the order of the index and joins those that
// overlap, so that no row is read twice.
func mergeRanges(all []Range) []Range {
	slices.SortStableFunc(all, func(a, b Range) int { return bytes.Compare(a.From, b.From) })
	var out []Range
	for _, r := range all {
		n := len(out)
		if n == 0 || out[n-1].To != nil && bytes.Compare(out[n-1].To, r.From) <= 0 {
			out = append(out, r)
			continue
		}
		last := &out[n-1]
		if r.To == nil || last.To != nil && bytes.Compare(last.To, r.To) < 0 {
			last.To = r.To
		}
		last.from = append(last.from, r.from...)
	}
	return out
}

// spansOf returns the spans of ranges.
func spansOf(ranges []Range) []field.Span {
	spans := make([]field.Span, len(ranges))
	for i := range ranges {
		spans[i] = ranges[i].Span
	}
	return spans
}

// String returns one origin of a range.
func (o *origin) String() string {
	if o.overflow {
		return "arrays with too many elements"
	}
	var parts []string
	for _, v := range o.values {
		if v == nil {
			v = []byte("missing")
		}
		parts = append(parts, string(v))
	}
	if o.last != nil {
		parts = append(parts, o.last.String())
	} else if len(parts) == 0 {
		return "everything"
	}
	return strings.Join(parts, " ")
}

// String returns an interval as it is written in mathematics.
func (i *interval) String() string {
	text := "["
	if i.low.Exclusive || i.low.Value == nil {
		text = "("
	}
	text += string(i.low.Value) + ", " + string(i.high.Value)
	if i.high.Exclusive || i.high.Value == nil {
		return text + ")"
	}
	return text + "]"
}
