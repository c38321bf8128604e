package text

import (
	"context"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/store"
)

// Functions runs index functions. An error means that there are no results at all: the
// context ended, the machinery is down, or the function was given up (*index.Broken).
// What a single document came to is in its result.
type Functions interface {
	// Index runs the index function of s over documents (JSON).
	Index(ctx context.Context, s Script, docs [][]byte) ([]Result, error)
}

// Script names an index function and where it belongs.
type Script struct {
	*Def
	index.FunctionScope
}

func scriptOf(d *store.Database, x *index.Index) Script {
	return Script{Of(x), index.ScopeOf(d, x)}
}

// Indexed is what one call of index gave.
type Indexed struct {
	Name                string
	Value               any     // string, float64, bool, or []float32: a vector, as segment.Vector makes it
	Boost               float64 // 0 counts as 1
	Index, Store, Facet bool
	// Whole says that a text is one term, whatever the analyzer.
	Whole bool
	// Measured says that scores rest on the length of the field.
	Measured bool
	// Similarity is that of a vector.
	Similarity segment.Similarity
}

// Result is what an index function gave for one document, or why it has nothing.
type Result struct {
	Fields []Indexed
	Err    error // what the function threw, or the limit that it met
	// Stopped says that it had to be stopped: documents for which it does are
	// counted, and too many break the index.
	Stopped bool
}
