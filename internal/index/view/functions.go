package view

import (
	"context"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/store"
)

// Functions runs the functions of views. An error means that there are no
// results at all: the context ended, the machinery is down, or the function was
// given up (*index.Broken). What a single
// document or group of rows came to stands in its result.
type Functions interface {
	// Map runs the map function of s over documents (JSON).
	Map(ctx context.Context, s Script, docs [][]byte) ([]Mapped, error)
	// Reduce runs the reduce function of s over groups of rows.
	Reduce(ctx context.Context, s Script, groups []Rows) ([]Reduction, error)
	// Rereduce runs the same function over values that it gave before: each
	// of values is a JSON array of them.
	Rereduce(ctx context.Context, s Script, values [][]byte) ([]Reduction, error)
}

// Script names the functions of one view and where they belong.
type Script struct {
	*Def
	Database  uint64 // its number, which is never used again
	Tenant    string // the tenant whose view it is; "" for the database's
	Name      string // of the database, for the log
	Design    string // the first design document that has the view, for the log
	Signature string // of the index, and whose it is: the same for equal sources of one tenant only
}

// scriptOf returns the script of an index.
func scriptOf(d *store.Database, x *index.Index) Script {
	world := x.Signature
	if x.Tenant != "" {
		world += "/" + string(x.Tenant) // tenants with equal views share no state
	}
	return Script{Def: Of(x), Database: d.Number(), Tenant: string(x.Tenant), Name: d.Name(), Design: string(x.DesignIn(d)), Signature: world}
}

// Emitted is what one call of emit gave: compact JSON.
type Emitted struct{ Key, Value []byte }

// Mapped is what a map function gave for one document: what it emitted, or why
// it has no rows.
type Mapped struct {
	Rows []Emitted
	Err  error // what the function threw, or the limit that it met
	// Stopped says that it had to be stopped: documents for which it does
	// are counted, and too many break the index.
	Stopped bool
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
