package view

import (
	"slices"

	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/keyspace"
)

// ranker is _top_N and _bottom_N: the N largest or smallest values, in the order
// of collation, each once.
type ranker struct {
	n   int
	top bool
}

// ranking holds the best values so far, the best first.
type ranking struct {
	ranker
	best [][]byte
}

func (r ranker) begin() fold { return &ranking{ranker: r} }

func (ranker) value(_ uint64, state []byte) []byte { return state[1:] }

func (r *ranking) compare(a, b []byte) int {
	if r.top {
		return keyspace.CompareJSON(b, a)
	}
	return keyspace.CompareJSON(a, b)
}

func (r *ranking) add(v []byte) {
	if len(r.best) == r.n && r.compare(v, r.best[r.n-1]) >= 0 {
		return
	}
	i, found := slices.BinarySearchFunc(r.best, v, r.compare)
	if found {
		return
	}
	if len(r.best) == r.n {
		r.best = r.best[:r.n-1]
	}
	r.best = slices.Insert(r.best, i, v)
}

func (r *ranking) row(row *Row) { r.add(row.Value) }

func (r *ranking) state(s []byte) {
	for it := jsonscan.ElementsOf(s[1:]); ; {
		v, ok := it.Next()
		if !ok {
			return
		}
		r.add(v)
	}
}

func (r *ranking) end() []byte {
	b := []byte{tagValue, '['}
	for i, v := range r.best {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}
