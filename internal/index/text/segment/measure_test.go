package segment

import (
	"math"
	"math/rand/v2"
	"testing"
)

// measured says of every text that it is measured.
func (m *model) measured() {
	for _, group := range m.groups {
		for i := range group {
			for j := range group[i].Fields {
				group[i].Fields[j].Measured = true
			}
		}
	}
}

// compareMeasures holds what a reader says of a whole field against its documents.
func compareMeasures(t *testing.T, reader *Reader, docs []Document, numbers []uint64) {
	t.Helper()
	for _, field := range []string{"t", "u", "n", "m", "nothing"} {
		var with, terms uint64
		var numbered, found, counted bool
		column := reader.Column(field)
		for at, d := range docs {
			n, least, first, facets := 0, math.Inf(1), "", false
			for _, f := range d.Fields {
				if f.Name != field {
					continue
				}
				if n += len(f.Tokens); !f.Index {
					n -= len(f.Tokens)
				}
				found = found || f.Index && len(f.Tokens) > 0
				if f.Number != nil && f.Index {
					numbered, least = true, min(least, *f.Number)
				}
				if f.Number == nil && f.Facet {
					if counted = true; !facets || f.Text < first {
						first, facets = f.Text, true
					}
				}
			}
			if n > 0 {
				with++
			}
			terms += uint64(n)
			if got, ok := column.Least(numbers[at]); ok != !math.IsInf(least, 0) || ok && got != least {
				t.Errorf("%s of %s: the least is %v %v, want %v", field, d.ID, got, ok, least)
			}
			if got, ok := column.First(numbers[at]); ok != facets || got != first {
				t.Errorf("%s of %s: the first is %q %v, want %q", field, d.ID, got, ok, first)
			}
		}
		for range 2 { // the second time from what is kept
			if a, b := reader.Measure(field); a != with || b != terms {
				t.Errorf("%s: %d documents with %d terms, want %d with %d", field, a, b, with, terms)
			}
		}
		if a, b, c := reader.Indexed(field); a != numbered || b != found || c != counted {
			t.Errorf("%s: %v %v %v, want %v %v %v", field, a, b, c, numbered, found, counted)
		}
	}
}

// TestMeasures: the lengths of fields, and what they hold, are those of the documents that
// are read, also of a partition, and after a merge.
func TestMeasures(t *testing.T) {
	for seed := range uint64(20) {
		m := randomModel(rand.New(rand.NewPCG(seed, 2)))
		m.measured()
		sources := m.build(t)
		for ok := true; ok; {
			for _, partition := range []string{"", "p0", "p1", "nowhere"} {
				docs, numbers := m.read(partition)
				compareMeasures(t, must[*Reader](t)(NewReader(sources, partition)), docs, numbers)
			}
			if len(sources) == 1 || t.Failed() {
				break
			}
			sources, ok = m.merge(t, sources)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
