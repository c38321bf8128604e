package view

import (
	"context"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/store"
)

// Functions runs the functions of views. An error means that there are no
// results at all: the context ended, the machinery is down, or the function was
// given up (*index.Broken). What a single
// document or group of rows came to is in its result.
type Functions interface {
	// Map runs the map function of s over documents (JSON).
	Map(ctx context.Context, s Script, docs [][]byte) ([]index.Mapped, error)
	// Reduce runs the reduce function of s over groups of rows.
	Reduce(ctx context.Context, s Script, groups []Rows) ([]Reduction, error)
	// Rereduce runs the same function over values that it gave before: each
	// of values is a JSON array of them.
	Rereduce(ctx context.Context, s Script, values [][]byte) ([]Reduction, error)
}

// Script names the functions of one view and where they belong.
type Script struct {
	*Def
	index.FunctionScope
}

func scriptOf(d *store.Database, x *index.Index) Script {
	return Script{Of(x), index.ScopeOf(d, x)}
}

// Rows is a group of rows as a reduce function takes them.
type Rows struct {
	Keys   []byte // JSON: an array of [key, id]
	Values []byte // JSON: an array of as many values
}

// Reduction is the value that a reduce function gave.
type Reduction struct {
	Value []byte // JSON
	Err   error  // what the function threw, which counts as null
	Limit bool   // Err is a limit that it met, which counts as an error
}
