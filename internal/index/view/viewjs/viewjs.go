// Package viewjs runs the JavaScript functions of views: maps as package mapjs does,
// reductions in the interpreter.
//
// Begin reading at Functions, which is what the package view asks for.
package viewjs

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index/mapjs"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/script"
)

// Functions implements view.Functions over a runner of functions.
type Functions struct{ runner *mapjs.Runner }

var _ view.Functions = (*Functions)(nil)

// New makes Functions.
func New(runner *mapjs.Runner) *Functions { return &Functions{runner} }

// worldOf returns where the functions of a view belong.
func worldOf(s view.Script) mapjs.World {
	return mapjs.World{Database: s.Database, Tenant: s.Tenant, Name: s.Name, Design: s.Design, Signature: s.Signature, Lib: s.Lib}
}

// Map is view.Functions's.
func (f *Functions) Map(ctx context.Context, s view.Script, docs [][]byte) ([]view.Mapped, error) {
	all, err := f.runner.Run(ctx, mapjs.Function{World: worldOf(s), Source: s.Map}, docs)
	if err != nil {
		return nil, err
	}
	results := make([]view.Mapped, len(all))
	for i, r := range all {
		results[i] = view.Mapped{Err: r.Err, Stopped: r.Stopped}
		if len(r.Rows) > 0 {
			results[i].Rows = make([]view.Emitted, len(r.Rows))
		}
		for j, row := range r.Rows {
			results[i].Rows[j] = view.Emitted{Key: row.Key, Value: row.Value}
		}
	}
	return results, nil
}

// Reduce is view.Functions's.
func (f *Functions) Reduce(ctx context.Context, s view.Script, groups []view.Rows) ([]view.Reduction, error) {
	all := make([]script.Group, len(groups))
	for i, g := range groups {
		all[i] = script.Group(g)
	}
	w := worldOf(s)
	return reductions(f.runner.Pool().Reduce(ctx, w.Realm("r", s.Reduce), 0, all))
}

// Rereduce is view.Functions's.
func (f *Functions) Rereduce(ctx context.Context, s view.Script, values [][]byte) ([]view.Reduction, error) {
	w := worldOf(s)
	return reductions(f.runner.Pool().Rereduce(ctx, w.Realm("r", s.Reduce), 0, values))
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
