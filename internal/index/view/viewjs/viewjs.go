// Package viewjs runs the JavaScript functions of views: it owns the choice
// between compiled map functions, which run in the server itself, and the
// interpreter in child processes, for the rest. It promises that the choice can't
// be seen in the results.
//
// Begin reading at Functions, which is what the package view asks for.
package viewjs

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/script/compiled"
)

// Functions implements view.Functions over a pool of interpreters.
type Functions struct {
	pool  *script.Pool
	known struct {
		sync.Mutex
		maps map[string]*compiled.Map // by source; nil: not to be compiled
	}
}

var _ view.Functions = (*Functions)(nil)

// New makes Functions. The pool stays the caller's, who closes it.
func New(pool *script.Pool) *Functions {
	f := &Functions{pool: pool}
	f.known.maps = map[string]*compiled.Map{}
	return f
}

// manyMaps is how many compiled functions are remembered before all are
// forgotten: more than design documents in use ever have.
const manyMaps = 1000

// compiled returns a map function compiled, nil if it can't be.
func (f *Functions) compiled(source string) *compiled.Map {
	f.known.Lock()
	defer f.known.Unlock()
	m, ok := f.known.maps[source]
	if !ok {
		if len(f.known.maps) >= manyMaps {
			clear(f.known.maps)
		}
		m, _ = compiled.Compile(source)
		f.known.maps[source] = m
	}
	return m
}

// Map is view.Functions's.
func (f *Functions) Map(ctx context.Context, s view.Script, docs [][]byte) ([]view.Mapped, error) {
	results := make([]view.Mapped, len(docs))
	left, at := docs, []int(nil)
	if m := f.compiled(s.Map); m != nil {
		left = nil
		machine := m.NewMachine()
		var rows []compiled.Row
		for i, doc := range docs {
			if i%64 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			var err error
			rows, err = machine.Run(doc, rows[:0])
			if errors.Is(err, compiled.ErrInterpret) {
				left, at = append(left, doc), append(at, i)
				continue
			}
			results[i].Err = err
			for _, r := range rows {
				results[i].Rows = append(results[i].Rows, view.Emitted(r))
			}
		}
	}
	if len(left) == 0 {
		return results, nil
	}
	mapped, err := f.pool.Map(ctx, realm(s, "m", s.Map), left)
	if given := (*script.GivenUp)(nil); errors.As(err, &given) {
		return nil, &index.Broken{Err: given.Err}
	}
	if err != nil {
		return nil, err
	}
	for i, m := range mapped {
		n := i
		if at != nil {
			n = at[i]
		}
		results[n] = view.Mapped{Rows: make([]view.Emitted, len(m[0].Rows)), Err: m[0].Err, Stopped: script.Stopped(m[0].Err)}
		for j, r := range m[0].Rows {
			results[n].Rows[j] = view.Emitted(r)
		}
	}
	return results, nil
}

// realm returns the world that a view's functions live in: one of its own for each
// definition, so that no function sees what another left behind.
func realm(s view.Script, role, function string) script.Realm {
	database := strconv.FormatUint(s.Database, 10)
	if s.Tenant != "" {
		database += "/" + s.Tenant
	}
	return script.Realm{
		Database: database, Tenant: s.Tenant != "", Design: "_view", Version: role + s.Signature,
		Named:    script.Named{Database: s.Name, Design: s.Design},
		Document: document(s), Functions: []string{function},
	}
}

// document is what require reads.
func document(s view.Script) []byte {
	if s.Lib == nil {
		return []byte("{}")
	}
	return append(append([]byte(`{"views":{"lib":`), s.Lib...), "}}"...)
}

// Reduce is view.Functions's.
func (f *Functions) Reduce(ctx context.Context, s view.Script, groups []view.Rows) ([]view.Reduction, error) {
	all := make([]script.Group, len(groups))
	for i, g := range groups {
		all[i] = script.Group(g)
	}
	return reductions(f.pool.Reduce(ctx, realm(s, "r", s.Reduce), 0, all))
}

// Rereduce is view.Functions's.
func (f *Functions) Rereduce(ctx context.Context, s view.Script, values [][]byte) ([]view.Reduction, error) {
	return reductions(f.pool.Rereduce(ctx, realm(s, "r", s.Reduce), 0, values))
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
