package geo

import (
	"context"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/store"
)

// Functions runs the functions of geo indexes. An error means that there are no results
// at all: the context ended, the machinery is down, or the function was given up
// (*index.Broken).
type Functions interface {
	// Geometries runs the function of s over documents (JSON).
	Geometries(ctx context.Context, s Script, docs [][]byte) ([]Result, error)
}

// Script names the function of one index and where it belongs.
type Script struct {
	*Def
	index.FunctionScope
}

func scriptOf(d *store.Database, x *index.Index) Script {
	return Script{Of(x), index.ScopeOf(d, x)}
}

// Result is what a function gave for one document.
type Result struct {
	Geometries [][]byte // JSON: what st_index was called with
	Err        error    // what the function threw, or the limit that it met
	Stopped    bool     // it had to be stopped
}
