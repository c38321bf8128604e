package find

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/lucene"
)

// union makes the node of the terms of a range that match.
func (w *work) union(field string, of segment.Terms, boost float64, match func(term string) bool) (node, error) {
	docs := w.index.NewSet()
	if err := docs.AddMatching(field, of, match, w.spend); err != nil {
		return nil, err
	}
	return w.constant(docs, boost), nil
}

// every matches all terms.
func every(string) bool { return true }

// termsBetween makes the node of a range of terms.
func (w *work) termsBetween(q *lucene.Range) (node, error) {
	if w.nouveau {
		q = w.folded(q)
	}
	var of segment.Terms
	if q.Min != nil {
		if of.From = []byte(*q.Min); !q.IncludeMin {
			of.From = append(of.From, 0)
		}
	}
	if q.Max != nil {
		if of.Before = []byte(*q.Max); q.IncludeMax {
			of.Before = append(of.Before, 0)
		}
	}
	return w.union(q.Field, of, q.Boost, every)
}

// Bounds of a fuzzy term: how many terms it may stand for, as in Lucene, and how many
// characters it may have.
const (
	maxVariants   = 50
	maxFuzzyRunes = 100
)

// variant is a term that is like the one that was asked for.
type variant struct {
	text  string
	boost float64
}

// fuzzy makes the node of the terms that are most like one.
func (w *work) fuzzy(q *lucene.Fuzzy) (node, error) {
	length := utf8.RuneCountInString(q.Text)
	if length > maxFuzzyRunes {
		return nil, dberr.New(dberr.Invalid, "bad_request", "A fuzzy term has at most %d characters.", maxFuzzyRunes)
	}
	if q.Edits == 0 {
		return w.term(q.Field, q.Text, q.Boost)
	}
	variants, err := w.variants(q)
	if err != nil {
		return nil, err
	}
	var any []node
	most := uint64(0)
	for _, v := range variants {
		n, err := w.term(q.Field, v.text, v.boost)
		if err != nil {
			return nil, err
		}
		most = max(most, n.cost())
		if any = append(any, n); len(any) == maxVariants {
			break
		}
	}
	for _, n := range any {
		if n := n.(*term); w.nouveau {
			w.weighed(n, most) // rare misspellings are not worth more
		}
	}
	return group(nil, any, nil, q.Boost, false), nil
}

// variants returns the terms that are like one, the likest first.
func (w *work) variants(q *lucene.Fuzzy) (all []variant, err error) {
	terms, err := w.index.Fuzzy(q.Field, q.Text, q.Edits, w.spend)
	if err != nil {
		return nil, err
	}
	for {
		term, ok, err := terms.Next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if err := w.step(); err != nil {
			return nil, err
		}
		if boost := likeness(q.Text, term, q.Edits); boost > 0 {
			all = append(all, variant{term, boost})
		}
	}
	slices.SortFunc(all, func(a, b variant) int {
		return cmp.Or(cmp.Compare(b.boost, a.boost), strings.Compare(a.text, b.text))
	})
	return slices.CompactFunc(all, func(a, b variant) bool { return a.text == b.text }), nil
}

// likeness is one for the same term, less the more of the shorter of the two has to
// be edited, and 0 if that is all of it or takes too many edits.
func likeness(a, b string, edits int) float64 {
	x, y := []rune(a), []rune(b)
	distance := editDistance(x, y)
	if distance > edits {
		return 0
	}
	if distance == 0 {
		return 1
	}
	return 1 - float64(distance)/float64(min(len(x), len(y)))
}

// editDistance counts the insertions, deletions, substitutions and transpositions of
// neighbours that make one text of another.
func editDistance(a, b []rune) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, above, twoAbove := rows[i%3], rows[(i+2)%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], twoAbove[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
