package find

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	index "github.com/blevesearch/bleve_index_api"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/lucene"
)

// union makes the node of the terms with a prefix that match.
func (w *work) union(field, prefix string, boost float64, match func(term string) bool) (node, error) {
	terms, err := w.index.FieldDictPrefix(field, []byte(prefix))
	if err != nil {
		return nil, err
	}
	return w.gather(field, terms, boost, func(term string) (take, more bool) { return match(term), true })
}

// termsBetween makes the node of a range of terms.
func (w *work) termsBetween(q *lucene.Range) (node, error) {
	var from []byte
	var low, high string
	if q.Min != nil {
		from, low = []byte(*q.Min), *q.Min
	}
	if q.Max != nil {
		high = *q.Max
	}
	terms, err := w.index.FieldDictRange(q.Field, from, nil)
	if err != nil {
		return nil, err
	}
	return w.gather(q.Field, terms, q.Boost, func(term string) (take, more bool) {
		if q.Max != nil && (term > high || term == high && !q.IncludeMax) {
			return false, false
		}
		return q.Min == nil || term > low || q.IncludeMin, true
	})
}

// together is how many terms are added to a set at a time.
const together = 256

// gather makes the node of the documents of the terms that are to be taken, until
// there should be no more.
func (w *work) gather(field string, terms index.FieldDict, boost float64, take func(term string) (take, more bool)) (node, error) {
	defer terms.Close()
	docs := w.index.NewSet()
	var taken [][]byte
	for {
		entry, err := terms.Next()
		if err != nil {
			return nil, err
		}
		good, more := false, entry != nil
		if more {
			if err := w.spend(1 + int(entry.Count)/8); err != nil {
				return nil, err
			}
			good, more = take(entry.Term)
		}
		if good {
			taken = append(taken, []byte(entry.Term))
		}
		if !more || len(taken) == together {
			if err := docs.AddTerms(field, taken); err != nil {
				return nil, err
			}
			taken = taken[:0]
		}
		if !more {
			return w.constant(docs, boost), nil
		}
	}
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
	for _, v := range variants {
		n, err := w.term(q.Field, v.text, v.boost)
		if err != nil {
			return nil, err
		}
		if any = append(any, n); len(any) == maxVariants {
			break
		}
	}
	return group(nil, any, nil, q.Boost, false), nil
}

// variants returns the terms that are like one, the likest first.
func (w *work) variants(q *lucene.Fuzzy) (all []variant, err error) {
	terms, _, err := w.index.FieldDictFuzzyAutomaton(q.Field, q.Text, q.Edits, "")
	if err != nil {
		return nil, err
	}
	defer terms.Close()
	for {
		entry, err := terms.Next()
		if err != nil {
			return nil, err
		}
		if entry == nil {
			break
		}
		if err := w.step(); err != nil {
			return nil, err
		}
		if boost := likeness(q.Text, entry.Term, q.Edits); boost > 0 {
			all = append(all, variant{entry.Term, boost})
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
