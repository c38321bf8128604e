// Package mapjs runs JavaScript functions of design documents that emit something for
// each document: maps of views, index functions of other kinds. It owns the choice
// between compiled functions, which run in the server itself, and the interpreter in
// child processes, for the rest. It promises that the choice can't be seen in the
// results.
//
// Begin reading at Runner. What a kind of index makes of what was emitted is its own
// business: it has a package beside it that asks this one.
package mapjs

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/script/compiled"
)

// Runner runs functions over a pool of interpreters.
type Runner struct {
	pool  *script.Pool
	known struct {
		sync.Mutex
		maps map[name]*compiled.Map // nil: not to be compiled
	}
}

// name tells compiled functions apart.
type name struct{ emits, source string }

// New makes a Runner. The pool stays the caller's, who closes it.
func New(pool *script.Pool) *Runner {
	r := &Runner{pool: pool}
	r.known.maps = map[name]*compiled.Map{}
	return r
}

// Pool is where functions run that are not compiled.
func (r *Runner) Pool() *script.Pool { return r.pool }

// Function is a function that emits.
type Function struct {
	index.FunctionScope
	Lib    []byte // views.lib, which it may require; nil for none
	Source string
	Emits  string // what it calls to emit; "" for emit. One of another name takes four arguments
}

// maxMaps is how many compiled functions are remembered before all are
// forgotten: more than design documents in use ever have.
const maxMaps = 1000

// Compiled returns a function compiled, nil if it can't be.
func (r *Runner) Compiled(source, emits string) *compiled.Map {
	if emits == "" {
		emits = "emit"
	}
	r.known.Lock()
	defer r.known.Unlock()
	m, ok := r.known.maps[name{emits, source}]
	if !ok {
		if len(r.known.maps) >= maxMaps {
			clear(r.known.maps)
		}
		m, _ = compiled.CompileFor(source, emits)
		r.known.maps[name{emits, source}] = m
	}
	return m
}

// Run runs a function over documents (JSON). An error means that there are no results
// at all: the context ended, the machinery is down, or the function was given up
// (*index.Broken).
func (r *Runner) Run(ctx context.Context, f Function, docs [][]byte) ([]index.Mapped, error) {
	results := make([]index.Mapped, len(docs))
	left, at := docs, []int(nil)
	if m := r.Compiled(f.Source, f.Emits); m != nil {
		var err error
		if left, at, err = runCompiled(ctx, m, docs, results); err != nil {
			return nil, err
		}
	}
	if len(left) == 0 {
		return results, nil
	}
	mapped, err := r.pool.Map(ctx, f.realm(), left)
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
		results[n] = index.Mapped{Rows: make([]index.Emitted, len(m[0].Rows)), Err: m[0].Err, Stopped: script.Stopped(m[0].Err)}
		for j, row := range m[0].Rows {
			results[n].Rows[j] = index.Emitted(row)
		}
	}
	return results, nil
}

// runCompiled runs a compiled function, and returns the documents that it hands over to
// the interpreter, and which ones they are.
func runCompiled(ctx context.Context, m *compiled.Map, docs [][]byte, results []index.Mapped) (left [][]byte, at []int, err error) {
	machine := m.NewMachine()
	var rows []compiled.Row
	for i, doc := range docs {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		var err error
		rows, err = machine.Run(ctx, doc, rows[:0])
		if errors.Is(err, compiled.ErrInterpret) {
			left, at = append(left, doc), append(at, i)
			continue
		}
		if thrown := (*compiled.Exception)(nil); err != nil && !errors.As(err, &thrown) {
			return nil, nil, err
		}
		results[i].Err = err
		results[i].Rows = emitted(rows)
	}
	return left, at, nil
}

// emitted returns rows as indexes take them.
func emitted(rows []compiled.Row) []index.Emitted {
	if len(rows) == 0 {
		return nil
	}
	all := make([]index.Emitted, len(rows))
	for i, row := range rows {
		all[i] = index.Emitted(row)
	}
	return all
}

func (f *Function) realm() script.Realm {
	realm := Realm(f.FunctionScope, f.Lib, "m"+f.Emits, f.Source)
	realm.Emits = f.Emits
	return realm
}

// Realm returns the world of one function as interpreters know it; role tells it from
// others of the same index.
func Realm(w index.FunctionScope, lib []byte, role, function string) script.Realm {
	database := strconv.FormatUint(w.Database, 10)
	if w.Tenant != "" {
		database += "/" + w.Tenant
	}
	return script.Realm{
		Database: database, Tenant: w.Tenant != "", Design: "_view", Version: role + w.Signature,
		Named:    script.Named{Database: w.Name, Design: w.Design},
		Document: document(lib), Functions: []string{function},
	}
}

// document is what require reads.
func document(lib []byte) []byte {
	if lib == nil {
		return []byte("{}")
	}
	return append(append([]byte(`{"views":{"lib":`), lib...), "}}"...)
}
