package view

import (
	"bytes"

	"github.com/sectional/sectional/internal/dberr"
)

// reducer is a reduce function. A reduction on its way is a fold; what a node
// keeps of one is its state: a tag and the reducer's own bytes.
type reducer interface {
	// begin begins a reduction of nothing.
	begin() fold
	// value returns the value of a state that is no failure, as JSON.
	value(count uint64, state []byte) []byte
}

// fold is a reduction on its way. Rows and states come in the order of their
// positions.
type fold interface {
	row(r *Row) // which is the caller's; what its members refer to is not
	// state adds the reduction of a span: a state that is no failure.
	state(s []byte)
	// end returns the state of all so far.
	end() []byte
}

// The tags of states.
const (
	tagValue   = 0
	tagFailure = 1 // the reduction failed: code, 0, reason. It is in the row
	tagRefusal = 2 // the same, and refuses the whole query, as CouchDB does
)

// failure makes the state of a reduction that failed.
func failure(tag byte, code, reason string) []byte {
	return append(append(append([]byte{tag}, code...), 0), reason...)
}

// failed reports whether a state is a failure.
func failed(state []byte) bool { return len(state) > 0 && state[0] != tagValue }

// failureOf returns the error that a failure stands for.
func failureOf(state []byte) *dberr.Error {
	code, reason, _ := bytes.Cut(state[1:], []byte{0})
	return &dberr.Error{Op: "view.reduce", Kind: dberr.Internal, Code: string(code), Reason: string(reason)}
}

// valued makes the state of a reduction that did not fail.
func valued(b []byte) []byte { return append([]byte{tagValue}, b...) }

const (
	spreadBits = 4 // one row in 16 begins a span
	wideBits   = 8 // one in 256, where states are large
)

// reducerOf returns the reducer of a definition, and how many bits of a hash begin
// a span of level 1: one row in 16, in 256 where states are large. A view without a
// reduce function has a reducer that keeps nothing: nodes count rows in any case.
func reducerOf(d *Def) (r reducer, first uint, ok bool) {
	switch {
	case d.Reduce == "" || d.Reduce == "_count":
		return counter{}, spreadBits, true
	case d.Custom():
		return custom{}, spreadBits, true
	}
	switch d.Reduce {
	case "_sum":
		return summer{}, spreadBits, true
	case "_stats":
		return statistician{}, spreadBits, true
	case "_approx_count_distinct":
		return distinguisher{}, wideBits, true
	case "_first":
		return chooser{last: false}, spreadBits, true
	case "_last":
		return chooser{last: true}, spreadBits, true
	}
	n, top, ok := ranked(d.Reduce)
	if !ok {
		return nil, 0, false
	}
	first = spreadBits
	if n > 10 {
		first = wideBits
	}
	return ranker{n, top}, first, true
}

// group is a reduction of rows and nodes, with their count.
type group struct {
	count uint64
	fold  fold
	bad   []byte // the first failure; what follows is not looked at
	runs  *runs  // of a node that is being made; nil where they are not kept

	scratch Row // the row that is being added
}

func newGroup(r reducer) *group { return &group{fold: r.begin()} }

func (g *group) row(r *Row) {
	g.count++
	if g.bad == nil {
		g.fold.row(r)
	}
}

func (g *group) node(n node) {
	g.count += n.count
	switch {
	case n.count == 0 || g.bad != nil:
	case failed(n.state):
		g.bad = n.state
	default:
		g.fold.state(n.state)
	}
}

// end returns the node of all rows so far.
func (g *group) end() node {
	n := node{count: g.count, runs: g.runs.end(), state: g.bad}
	if g.bad == nil && g.count > 0 {
		n.state = g.fold.end()
	}
	return n
}

// counter is _count, and no reduce function at all: the count of rows is kept
// beside every state.
type counter struct{}

func (c counter) begin() fold { return c }

func (counter) row(*Row)     {}
func (counter) state([]byte) {}
func (counter) end() []byte  { return nil }

func (counter) value(count uint64, _ []byte) []byte { return whole(int64(count)).append(nil) }

// chooser is _first and _last: the value of the row that comes first or last.
type chooser struct{ last bool }

type chosen struct {
	chooser
	is []byte
}

func (c chooser) begin() fold { return &chosen{chooser: c} }

func (chooser) value(_ uint64, state []byte) []byte { return state[1:] }

func (c *chosen) choose(v []byte) {
	if c.is == nil || c.last {
		c.is = v
	}
}

func (c *chosen) row(r *Row)     { c.choose(r.Value) }
func (c *chosen) state(s []byte) { c.choose(s[1:]) }
func (c *chosen) end() []byte    { return valued(c.is) }
