// Package text owns full-text indexes: what design documents define of them, and what
// index functions give for documents.
//
// Begin reading at Functions. The segments that indexes consist of are package segment's,
// queries are package find's; package textjs runs the functions.
package text

import "context"

// Functions runs index functions. An error means that there are no results at all: the
// context ended, the machinery is down, or the function was given up (*index.Broken).
// What a single document came to stands in its result.
type Functions interface {
	// Index runs the index function of s over documents (JSON).
	Index(ctx context.Context, s Script, docs [][]byte) ([]Result, error)
}

// Def is a definition of a text index.
type Def struct {
	Index string // the source of the index function
	Lib   []byte // views.lib, which index functions may require; nil for none
}

// Script names an index function and where it belongs.
type Script struct {
	*Def
	Database  uint64 // its number, which is never used again
	Tenant    string // the tenant whose index it is; "" for the database's
	Name      string // of the database, for the log
	Design    string // the first design document that has the index, for the log
	Signature string // of the index, and whose it is: the same for equal sources of one tenant only
}

// Indexed is what one call of index gave.
type Indexed struct {
	Name                string
	Value               any     // string, float64 or bool
	Boost               float64 // 0 counts as 1
	Index, Store, Facet bool
	// Whole says that a text is one term, whatever the analyzer.
	Whole bool
}

// Result is what an index function gave for one document, or why it has nothing.
type Result struct {
	Fields []Indexed
	Err    error // what the function threw, or the limit that it met
	// Stopped says that it had to be stopped: documents for which it does are
	// counted, and too many break the index.
	Stopped bool
}
