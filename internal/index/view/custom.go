package view

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// custom is a reduce function in JavaScript. Its folds only gather: what has been
// gathered by many of them is reduced at once (see Kind.settle).
type custom struct{}

// groupedRows is what a fold of a custom reducer holds: ranges of rows and states of
// spans between them, in their order.
type groupedRows struct {
	parts  []groupedPart
	result []byte
	size   int
}

type groupedPart struct {
	rows  Rows // arrays that are still open; nil for a state
	state []byte
}

func (custom) begin() fold { return &groupedRows{} }

func (custom) value(_ uint64, state []byte) []byte { return state[1:] }

func (g *groupedRows) row(r *Row) {
	if n := len(g.parts); n == 0 || g.parts[n-1].state != nil {
		g.parts = append(g.parts, groupedPart{rows: Rows{Keys: []byte{'['}, Values: []byte{'['}}})
	} else {
		p := &g.parts[n-1].rows
		p.Keys, p.Values = append(p.Keys, ','), append(p.Values, ',')
	}
	p := &g.parts[len(g.parts)-1].rows
	p.Keys = append(append(append(p.Keys, '['), r.Key...), ',')
	p.Keys = append(jsonscan.AppendQuoted(p.Keys, string(r.ID)), ']')
	p.Values = append(p.Values, r.Value...)
	g.size += len(r.Key) + len(r.Value) + len(r.ID)
}

func (g *groupedRows) state(s []byte) {
	g.parts = append(g.parts, groupedPart{state: s})
	g.size += len(s)
}

func (g *groupedRows) end() []byte { return g.result }

// reduceGroups works out the reductions of groups of a custom reducer, all of them in
// two calls at most; others need none. always says that every group goes through
// the function as a rereduction at the end, as it does in a cluster.
func (k *Kind) reduceGroups(ctx context.Context, s Script, groups []*group, always bool) error {
	if !s.Custom() {
		return nil
	}
	if err := k.reduceRowGroups(ctx, s, groups); err != nil {
		return err
	}
	var folds []*group
	var values [][]byte
	for _, g := range groups {
		f := g.fold.(*groupedRows)
		if g.bad != nil || len(f.parts) == 0 {
			continue
		}
		if len(f.parts) == 1 && !always {
			f.result = f.parts[0].state
			continue
		}
		list := []byte{'['}
		for i := range f.parts {
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, f.parts[i].state[1:]...)
		}
		folds, values = append(folds, g), append(values, append(list, ']'))
	}
	if len(values) == 0 {
		return nil
	}
	results, err := k.functions.Rereduce(ctx, s, values)
	if err != nil {
		return err
	}
	for i, r := range results {
		folds[i].take(outcome(r, len(values[i])), func(state []byte) { folds[i].fold.(*groupedRows).result = state })
	}
	return nil
}

// reduceRowGroups makes states of all ranges of rows.
func (k *Kind) reduceRowGroups(ctx context.Context, s Script, groups []*group) error {
	type position struct {
		g    *group
		part int
	}
	var runs []Rows
	var positions []position
	for _, g := range groups {
		if g.bad != nil {
			continue
		}
		for i, p := range g.fold.(*groupedRows).parts {
			if p.state == nil {
				runs = append(runs, Rows{append(p.rows.Keys, ']'), append(p.rows.Values, ']')})
				positions = append(positions, position{g, i})
			}
		}
	}
	if len(runs) == 0 {
		return nil
	}
	results, err := k.functions.Reduce(ctx, s, runs)
	if err != nil {
		return err
	}
	for i, r := range results {
		p := positions[i]
		p.g.take(outcome(r, len(runs[i].Keys)+len(runs[i].Values)), func(state []byte) {
			p.g.fold.(*groupedRows).parts[p.part] = groupedPart{state: state}
		})
	}
	return nil
}

// take keeps a state, or remembers that the group failed.
func (g *group) take(state []byte, keep func([]byte)) {
	switch {
	case !failed(state):
		keep(state)
	case g.bad == nil:
		g.bad = state
	}
}

const (
	// overflowLength and overflowRatio are CouchDB's bounds for what a reduce
	// function may give back: as long as this, and more than the second part of
	// what it was given.
	overflowLength = 5000
	overflowRatio  = 2
)

// sentence returns an error's reason without the code before it, which is beside it in the answer.
func sentence(err error) string {
	var e *dberr.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return err.Error()
}

// outcome makes a state of what a reduce function gave for so many bytes. What
// throws counts as null, as in CouchDB.
func outcome(r Reduction, given int) []byte {
	switch {
	case r.Limit:
		return failure(tagFailure, "os_process_error", sentence(r.Err))
	case r.Err != nil || len(r.Value) == 0:
		return valued([]byte("null"))
	case len(r.Value) > overflowLength && len(r.Value)*overflowRatio > given:
		return failure(tagFailure, "reduce_overflow_error", "Reduce output must shrink more rapidly: "+
			string(whole(int64(given)).append(nil))+" bytes in, "+string(whole(int64(len(r.Value))).append(nil))+" bytes out.")
	}
	return valued(r.Value)
}
