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
	Database  uint64 // its number, which is never used again
	Tenant    string // the tenant whose index it is; "" for the database's
	Name      string // of the database, for the log
	Design    string // the first design document that has the index, for the log
	Signature string // of the index, and whose it is: the same for equal sources of one tenant only
}

// scriptOf returns the script of an index.
func scriptOf(d *store.Database, x *index.Index) Script {
	world := x.Signature
	if x.Tenant != "" {
		world += "/" + string(x.Tenant) // tenants with equal indexes share no state
	}
	return Script{Def: Of(x), Database: d.Number(), Tenant: string(x.Tenant), Name: d.Name(), Design: string(x.DesignIn(d)), Signature: world}
}

// Result is what a function gave for one document.
type Result struct {
	Geometries [][]byte // JSON: what st_index was called with
	Err        error    // what the function threw, or the limit that it met
	Stopped    bool     // it had to be stopped
}
