package lists

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/document"
	textfind "github.com/sectional/sectional/internal/index/text/find"
)

// nouveauValue is a value that a hit is sorted by, with its type in Java.
type nouveauValue struct {
	Type  string `json:"@type"`
	Value any    `json:"value"`
}

// nouveauOrder are the values that a hit is sorted by. Its id is the one that is shown.
func nouveauOrder(values []any, id document.ID) []nouveauValue {
	typed := make([]nouveauValue, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case float32:
			typed[i] = nouveauValue{"float", v}
		case float64:
			typed[i] = nouveauValue{"double", v}
		case string:
			typed[i] = nouveauValue{"string", v}
		case textfind.ID:
			typed[i] = nouveauValue{"string", string(id)}
		default:
			typed[i] = nouveauValue{"null", nil}
		}
	}
	return typed
}

// nouveauPieces takes an answer of Nouveau's apart.
func (a *searchAnswer) nouveauPieces(rows func(before string, rows []textfind.Row, behind string)) {
	head := couchhttp.AppendCount(nil, `{"total_hits":`, a.result.Total)
	head = append(head, `,"total_hits_relation":"EQUAL_TO","bookmark":`...)
	head = couchhttp.AppendString(head, a.result.Bookmark)
	head = couchhttp.AppendCount(head, `,"update_latency":`, uint64(max(a.nouveau.latency.Milliseconds(), 0)))
	tail := a.facets([]byte("\r\n]"), `,"counts":`, a.nouveau.Counts != nil, a.result.Counts)
	tail = a.facets(tail, `,"ranges":`, a.nouveau.Ranges != nil, a.result.Ranges)
	rows(string(head)+`,"hits":[`, a.result.Rows, string(tail)+"}")
}

// facets appends the leading counts of each field, or null if they were not asked for.
func (a *searchAnswer) facets(b []byte, member string, asked bool, facets []textfind.Facet) []byte {
	b = append(b, member...)
	if !asked {
		return append(b, "null"...)
	}
	for i := range facets {
		facets[i].Counts = leading(facets[i].Counts, a.nouveau.topN)
	}
	return appendFacets(append(b, '{'), facets)
}

// leading are the n counts that are the highest.
func leading(counts []textfind.Count, n int) []textfind.Count {
	slices.SortFunc(counts, func(a, b textfind.Count) int {
		return cmp.Or(cmp.Compare(b.Documents, a.Documents), strings.Compare(a.Value, b.Value))
	})
	return counts[:min(n, len(counts))]
}
