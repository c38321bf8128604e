// Package geojs runs the functions of geo indexes as package mapjs runs functions.
//
// Begin reading at Functions, which is what the package geo asks for.
package geojs

import (
	"context"

	"github.com/sectional/sectional/internal/index/geo"
	"github.com/sectional/sectional/internal/index/mapjs"
)

// Functions implements geo.Functions over a runner of functions.
type Functions struct{ runner *mapjs.Runner }

var _ geo.Functions = (*Functions)(nil)

// New makes Functions.
func New(runner *mapjs.Runner) *Functions { return &Functions{runner} }

// Geometries is geo.Functions's.
func (f *Functions) Geometries(ctx context.Context, s geo.Script, docs [][]byte) ([]geo.Result, error) {
	all, err := f.runner.Run(ctx, mapjs.Function{FunctionScope: s.FunctionScope, Lib: s.Lib, Source: s.Index, Emits: "st_index"}, docs)
	if err != nil {
		return nil, err
	}
	results := make([]geo.Result, len(all))
	for i, r := range all {
		results[i] = geo.Result{Err: r.Err, Stopped: r.Stopped}
		for _, row := range r.Rows {
			results[i].Geometries = append(results[i].Geometries, row.Key)
		}
	}
	return results, nil
}
