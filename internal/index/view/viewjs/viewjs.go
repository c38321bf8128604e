// Package viewjs runs the JavaScript functions of views: maps as package mapjs does,
// reductions in the interpreter.
//
// Begin reading at Functions, which is what the package view asks for.
package viewjs

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/mapjs"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/script"
)

// Functions implements view.Functions over a runner of functions.
type Functions struct{ runner *mapjs.Runner }

var _ view.Functions = (*Functions)(nil)

// New makes Functions.
func New(runner *mapjs.Runner) *Functions { return &Functions{runner} }

// Map is view.Functions's.
func (f *Functions) Map(ctx context.Context, s view.Script, docs [][]byte) ([]index.Mapped, error) {
	return f.runner.Run(ctx, mapjs.Function{FunctionScope: s.FunctionScope, Lib: s.Lib, Source: s.Map}, docs)
}

// Reduce is view.Functions's.
func (f *Functions) Reduce(ctx context.Context, s view.Script, groups []view.Rows) ([]view.Reduction, error) {
	all := make([]script.Group, len(groups))
	for i, g := range groups {
		all[i] = script.Group(g)
	}
	return reductions(f.runner.Pool().Reduce(ctx, mapjs.Realm(s.FunctionScope, s.Lib, "r", s.Reduce), 0, all))
}

// Rereduce is view.Functions's.
func (f *Functions) Rereduce(ctx context.Context, s view.Script, values [][]byte) ([]view.Reduction, error) {
	return reductions(f.runner.Pool().Rereduce(ctx, mapjs.Realm(s.FunctionScope, s.Lib, "r", s.Reduce), 0, values))
}

func reductions(rs []script.Reduction, err error) ([]view.Reduction, error) {
	all := make([]view.Reduction, len(rs))
	for i, r := range rs {
		all[i] = view.Reduction{Value: r.Value, Err: r.Err, Limit: isLimit(r.Err)}
	}
	return all, err
}

// isLimit reports whether a function met a limit, rather than to throw something.
func isLimit(err error) bool {
	var e *dberr.Error
	return errors.As(err, &e) && e.Code == "os_process_error" && e.Cause == nil
}
