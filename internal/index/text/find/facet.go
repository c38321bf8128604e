package find

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/index/text/segment"
)

// counting counts the values of a field over the documents found.
type counting struct {
	work   *work
	field  string
	column *segment.Column
	counts map[string]int
	values []string // used again
}

func (w *work) counting(fields []string) (all []*counting) {
	for _, f := range fields {
		all = append(all, &counting{work: w, field: f, column: w.index.Column(f), counts: map[string]int{}})
	}
	return all
}

func (c *counting) take(n node) error {
	c.values = c.column.FacetTexts(c.values[:0], n.doc())
	for i, v := range c.values {
		if i > 0 && slices.Contains(c.values[:i], v) {
			continue
		}
		if c.counts[v]++; c.counts[v] > 1 {
			continue
		}
		if err := c.work.keep(valueBytes + len(v)); err != nil {
			return err
		}
	}
	return c.work.spend(1 + len(c.values))
}

// facet returns the counts, the highest first.
func (c *counting) facet() Facet {
	f := Facet{Field: c.field}
	for v, n := range c.counts {
		f.Counts = append(f.Counts, Count{strings.Clone(v), n})
	}
	slices.SortFunc(f.Counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Documents, a.Documents), strings.Compare(a.Value, b.Value))
	})
	return f
}

// ranging counts the numbers of a field that are in ranges.
type ranging struct {
	work      *work
	facet     Facet
	intervals []segment.Interval
	column    *segment.Column
	values    []float64 // used again
}

func (w *work) ranging(asked []Ranges) (all []*ranging, err error) {
	for _, r := range asked {
		to := &ranging{work: w, facet: Facet{Field: r.Field}, column: w.index.Column(r.Field)}
		for _, b := range r.Buckets {
			interval, err := parseBucket(b.Range)
			if err != nil {
				return nil, err
			}
			to.intervals = append(to.intervals, interval)
			to.facet.Counts = append(to.facet.Counts, Count{Value: b.Label})
		}
		all = append(all, to)
	}
	return all, nil
}

func (r *ranging) take(n node) error {
	r.values = r.column.FacetNumbers(r.values[:0], n.doc())
	if len(r.values) == 0 {
		return nil
	}
	for i, of := range r.intervals {
		if slices.ContainsFunc(r.values, of.Holds) {
			r.facet.Counts[i].Documents++
		}
	}
	return r.work.spend(len(r.values) * len(r.intervals))
}

// narrowing leaves the documents that have one of the values in each of some fields.
type narrowing struct {
	node
	work    *work
	filters []filter
	values  []string // used again
}

type filter struct {
	column *segment.Column
	values []string
}

// narrow makes the node of a drilldown. It does not change scores.
func (w *work) narrow(n node, drilldown []Values) node {
	if len(drilldown) == 0 {
		return n
	}
	to := &narrowing{node: n, work: w}
	for _, d := range drilldown {
		to.filters = append(to.filters, filter{w.index.Column(d.Field), d.Values})
	}
	return to
}

func (n *narrowing) start() error {
	if err := n.node.start(); err != nil {
		return err
	}
	return n.settle()
}

func (n *narrowing) next() error {
	if err := n.node.next(); err != nil {
		return err
	}
	return n.settle()
}

func (n *narrowing) advance(to uint64) error {
	if err := n.node.advance(to); err != nil {
		return err
	}
	return n.settle()
}

func (n *narrowing) settle() error {
	for n.doc() != none && !n.holds() {
		if err := n.work.spend(1 + len(n.filters)); err != nil {
			return err
		}
		if err := n.node.next(); err != nil {
			return err
		}
	}
	return nil
}

func (n *narrowing) holds() bool {
	for i := range n.filters {
		f := &n.filters[i]
		n.values = f.column.FacetTexts(n.values[:0], n.doc())
		if !slices.ContainsFunc(n.values, func(v string) bool { return slices.Contains(f.values, v) }) {
			return false
		}
	}
	return true
}
