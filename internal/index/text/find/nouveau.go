package find

import (
	"math"
	std "regexp"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/lucene"
)

// What Nouveau's queries have of their own: a field is one of numbers, of texts that are
// terms as they are, or of words, and what a query means by it follows from that.

// ParseNouveau parses a query of an index of Nouveau's whose fields have these analyzers.
// The error is of dberr.Invalid.
func ParseNouveau(query string, a Analyzers) (lucene.Node, error) {
	tree, err := lucene.ParseStandard(query, lucene.Options{
		Dropped: func(field, text string) bool { return len(a.For(field).Analyze([]byte(text))) == 0 },
		Exact:   func(field string) bool { return keepsCase(a, field) },
	})
	if err != nil {
		return nil, dberr.New(dberr.Invalid, "bad_request", "%s", err.Error())
	}
	return tree, nil
}

// keepsCase reports whether the analyzer of a field leaves the case of letters.
func keepsCase(a Analyzers, field string) bool {
	tokens := a.For(field).Analyze([]byte("Zq"))
	return len(tokens) == 1 && string(tokens[0].Term) == "Zq"
}

// idField is the field of ids.
const idField = "_id"

var nouveauOrder = std.MustCompile(`^([-+])?([.\w]+)(?:<(\w+)>)?$`)

// ParseNouveauOrder reads an element of a sort of Nouveau's, such as "-price" or
// "name<string>".
func ParseNouveauOrder(text string) (Order, error) {
	if text == "relevance" {
		return Order{By: Score, Descending: true}, nil
	}
	m := nouveauOrder.FindStringSubmatch(text)
	if m == nil {
		return Order{}, bad("%s is not a valid sort parameter", text)
	}
	o := Order{By: Typed, Field: m[2], Descending: m[1] == "-"}
	switch m[3] {
	case "":
	case "string":
		o.By = Texts
	case "double":
		o.By = Numbers
	default:
		return o, bad("%s is not a valid sort type", m[3])
	}
	if o.Field == idField {
		o.By = Texts
	}
	return o, nil
}

// typed returns orders in which those by a field are by what the field has.
func (w *work) typed(orders []Order) ([]Order, error) {
	if !w.nouveau {
		return orders, nil
	}
	all := make([]Order, len(orders))
	for i, o := range orders {
		if o.By == Typed {
			switch f := w.field(o.Field); {
			case f.numbered:
				o.By = Numbers
			case f.counted:
				o.By = Texts
			case f.found:
				return nil, bad("can't sort on field %s", o.Field)
			default:
				o.By = Place // no document has it
			}
		}
		all[i] = o
	}
	return all, nil
}

// countable refuses counts of fields that are not of texts, and ranges of those that are
// not of numbers.
func (w *work) countable(req *Request) error {
	if !w.nouveau {
		return nil
	}
	for _, name := range req.Counts {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		switch f := w.field(name); {
		case f.counted:
		case f.numbered:
			return wrongValues(name, "SORTED_NUMERIC", "SORTED, SORTED_SET")
		case f.found:
			return wrongValues(name, "NONE", "SORTED, SORTED_SET")
		}
	}
	for _, r := range req.Ranges {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		switch f := w.field(r.Field); {
		case f.numbered:
		case f.counted:
			return wrongValues(r.Field, "SORTED_SET", "NUMERIC, SORTED_NUMERIC")
		case f.found:
			return wrongValues(r.Field, "NONE", "NUMERIC, SORTED_NUMERIC")
		}
	}
	return nil
}

// wrongValues has the words of Lucene.
func wrongValues(field, is, want string) error {
	return bad("unexpected docvalues type %s for field '%s' (expected one of [%s]). Re-index with correct docvalues type.", is, field, want)
}

// ofNumbers makes the node of a query of a field of numbers; ok is false for other
// fields. Patterns and words that are like one find nothing there.
func (w *work) ofNumbers(query lucene.Node) (n node, ok bool, err error) {
	field, boost := "", 1.0
	low, high := (*string)(nil), (*string)(nil)
	of := segment.Interval{IncludeMin: true, IncludeMax: true}
	switch q := query.(type) {
	case *lucene.Term:
		field, boost, low, high = q.Field, q.Boost, &q.Text, &q.Text
	case *lucene.Phrase:
		field, boost, low, high = q.Field, q.Boost, &q.Text, &q.Text
	case *lucene.Range:
		field, boost, low, high = q.Field, q.Boost, q.Min, q.Max
		of.IncludeMin, of.IncludeMax = q.IncludeMin, q.IncludeMax
	case *lucene.Prefix:
		return nothing{}, w.field(q.Field).numbered, nil
	case *lucene.Wildcard:
		return nothing{}, w.field(q.Field).numbered, nil
	case *lucene.Regexp:
		return nothing{}, w.field(q.Field).numbered, nil
	case *lucene.Fuzzy:
		return nothing{}, w.field(q.Field).numbered, nil
	default:
		return nil, false, nil
	}
	if !w.field(field).numbered {
		return nil, false, nil
	}
	if of.Min, err = w.bound(low, -1); err == nil {
		of.Max, err = w.bound(high, 1)
	}
	if err != nil {
		return nil, false, err
	}
	return w.constant(w.between(field, of), boost), true, nil
}

// folded is a range of terms whose ends are in the case that the field has.
func (w *work) folded(q *lucene.Range) *lucene.Range {
	if keepsCase(w.analyzers, q.Field) {
		return q
	}
	of := *q
	for _, end := range []**string{&of.Min, &of.Max} {
		if *end != nil {
			text := strings.ToLower(**end)
			*end = &text
		}
	}
	return &of
}

// JSONNumbers is the locale of numbers that are written as in JSON.
const JSONNumbers = "json"

// bound reads an end of a range of numbers, infinite in a direction if it is open.
func (w *work) bound(text *string, direction int) (float64, error) {
	if text == nil {
		return math.Inf(direction), nil
	}
	f, ok := lucene.LocalNumber(*text, w.locale)
	if w.locale == JSONNumbers {
		f, ok = lucene.Number(*text)
	}
	if !ok {
		return 0, bad("Could not parse the number: %s", *text)
	}
	return f, nil
}
