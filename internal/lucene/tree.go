package lucene

// Node is a query: *Term, *Phrase, *Prefix, *Wildcard, *Fuzzy, *Regexp, *Range, *All
// or *Boolean. Boosts are 1 unless the query says otherwise.
type Node interface {
	// String returns the query in a form in which trees can be told apart.
	String() string
	boost(float64)
}

// Term is a bare term: text as it was written, escapes resolved, not analyzed. If
// Number reads it, it means a number. An analyzer may make several terms of it, of
// which any may match.
type Term struct {
	Field, Text string
	Boost       float64
}

// Phrase is text in quotation marks, not analyzed. Its terms follow each other but for
// Slop moves.
type Phrase struct {
	Field, Text string
	Slop        int
	Boost       float64
}

// Prefix matches the terms that begin with Text, which is in lower case (but see
// Options.Exact) and is not analyzed.
type Prefix struct {
	Field, Text string
	Boost       float64
}

// Wildcard matches the terms of a pattern, which is in lower case and is not analyzed.
type Wildcard struct {
	Field   string
	Pattern []Piece
	Boost   float64
}

// Piece is a part of a pattern.
type Piece struct {
	Kind PieceKind
	Text string // of a Literal, never empty
}

// PieceKind is what a Piece stands for.
type PieceKind uint8

// The kinds of pieces: a text, one character, any number of characters.
const (
	Literal PieceKind = iota
	AnyChar
	AnyText
)

// Fuzzy matches the terms that at most Edits insertions, deletions, substitutions and
// transpositions make of Text, which is in lower case and is not analyzed.
type Fuzzy struct {
	Field, Text string
	Edits       int // 0 to 2
	Boost       float64
}

// Regexp matches the terms that match an expression of Lucene's syntax as a whole. It
// is in lower case; escapes are left in it.
type Regexp struct {
	Field, Expr string
	Boost       float64
}

// Range matches the terms or numbers between two ends; an end that is nil is open. It is
// a range of numbers if Numbers says so, else of terms, whose ends are in lower case and
// are not analyzed.
type Range struct {
	Field                  string
	Min, Max               *string
	IncludeMin, IncludeMax bool
	Boost                  float64
}

// All matches every document.
type All struct{ Boost float64 }

// Boolean matches what all its clauses with Must, none of those with MustNot, and, if
// there is none with Must, at least one with Should match. Without a clause other than
// MustNot it matches nothing.
type Boolean struct {
	Clauses []Clause
	Boost   float64
}

// Clause is a part of a Boolean.
type Clause struct {
	Occur Occur
	Node  Node
}

// Occur says what a clause is to its Boolean.
type Occur uint8

// The occurrences of clauses.
const (
	Should Occur = iota
	Must
	MustNot
)

func (n *Term) boost(b float64)     { n.Boost = b }
func (n *Phrase) boost(b float64)   { n.Boost = b }
func (n *Prefix) boost(b float64)   { n.Boost = b }
func (n *Wildcard) boost(b float64) { n.Boost = b }
func (n *Fuzzy) boost(b float64)    { n.Boost = b }
func (n *Regexp) boost(b float64)   { n.Boost = b }
func (n *Range) boost(b float64)    { n.Boost = b }
func (n *All) boost(b float64)      { n.Boost = b }
func (n *Boolean) boost(b float64)  { n.Boost = b }
