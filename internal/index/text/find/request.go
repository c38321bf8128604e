package find

import (
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/lucene"
)

// Request is what is asked of an index.
type Request struct {
	Query     lucene.Node // nil if only Nearest is asked for
	Analyzers Analyzers
	Nearest   *Nearest // nil if no vectors are
	// Limit is how many rows are returned at most, of each group if there are groups.
	Limit int
	// Bookmark is where the rows begin: after those of the answer that it is of. Empty:
	// with the first.
	Bookmark string
	// Sort is the order of the rows; none is by score, the best first.
	Sort []Order
	// Counts are fields whose values are counted, Ranges those whose numbers are.
	Counts []string
	Ranges []Ranges
	// Drilldown leaves only documents that have one of the values in each of the fields.
	Drilldown []Values
	Group     *Grouping
	Highlight *Highlighting
	// Fields are those that rows have, of those that are stored; nil is all.
	Fields []string
	// Marks says that each row has a bookmark of its own.
	Marks bool
	// Nouveau says that the request is one of Nouveau's: scores are BM25's, and what a
	// field means follows from its values. Locale is how its query writes numbers.
	Nouveau bool
	Locale  string
}

// Ranges are ranges of the numbers of a field.
type Ranges struct {
	Field   string
	Buckets []Bucket
}

// Bucket is a range with a name, such as "[0 TO 100]".
type Bucket struct{ Label, Range string }

// Values are values of a field, of which a document has to have one.
type Values struct {
	Field  string
	Values []string
}

// Grouping gathers rows by the value of a field.
type Grouping struct {
	Field string
	Limit int     // of groups
	Sort  []Order // of groups, each by its first row in that order
}

// Highlighting marks what was found in stored fields.
type Highlighting struct {
	Fields    []string
	Pre, Post string // what is put around a word
	Number    int    // of fragments
	Size      int    // of fragments, in characters; 0 is 100
}

// Result is an answer.
type Result struct {
	Total    uint64 // documents found
	Bookmark string
	Rows     []Row
	Counts   []Facet // as asked for
	Ranges   []Facet
	Groups   []Group
}

// Row is a document found.
type Row struct {
	ID string
	// Order are the values that it is sorted by: numbers, strings, nil where there is none.
	// In a request of Nouveau's a score is a float32, and an id an ID.
	Order []any
	// Fields are those that are stored, in the order of their names: each a string, a
	// float64, or a slice of them if it has several.
	Fields     []Stored
	Highlights []Marked
	Mark       string // a bookmark: what comes after this row
}

// ID is the id of a row that it is sorted by.
type ID string

// Stored is a field of a row.
type Stored struct {
	Name  string
	Value any
}

// Marked are the fragments of a field in which words are marked.
type Marked struct {
	Field     string
	Fragments []string
}

// Facet says how many of the documents found have which values of a field.
type Facet struct {
	Field  string
	Counts []Count
}

// Count is a value, or a range, and how many documents have it.
type Count struct {
	Value     string
	Documents int
}

// Group are the rows of one value of a field.
type Group struct {
	By    *string // nil: the documents without one
	Total uint64
	Rows  []Row
}

// bad makes an error of a request.
func bad(reason string, args ...any) error {
	return dberr.New(dberr.Invalid, "bad_request", reason, args...)
}
