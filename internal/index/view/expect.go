package view

import (
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// Where each read is a round trip, what a query will read is guessed and comes with its first
// read (store.Reader.Expect): of each level the nodes, and the rows, from where the query
// begins. How many levels there are, and how large rows are, is what the last query saw
// (index.Index.Hint). A guess that is wrong costs what was read in vain, or a trip more.

// Expected is what a query is going to read of an index.
type Expected struct {
	Spans  []Span  // what is left of it, or
	Ranges []Range // what it asks for
	Rows   int     // how many rows it wants at most
	Groups bool    // it wants reductions
	Counts bool    // it wants to know how many rows there are
}

const (
	expectedNodes = 32       // of each level
	expectedRows  = 128      // of a span, if as many are small
	expectedBytes = 64 << 10 // of the rows of a span
	expectedSpans = 64       // that are read ahead
	unknownRows   = 32       // as long as nobody has read any
)

// Expect says what is about to be read of an index by NewReader with the same arguments.
func Expect(r *store.Reader, x *index.Index, p document.Partition, e Expected) {
	if !r.Database().Limits().Distant {
		return
	}
	v := newReader(r, x, p)
	for _, one := range e.Ranges {
		s, err := v.Span(one)
		if err != nil {
			return // who reads it is told
		}
		e.Spans = append(e.Spans, s)
	}
	hint := hintOf(x)
	var walks []kv.Walk
	if v.usesNodes(x) {
		walks = append(walks, v.highestWalk())
		if e.Counts {
			walks = append(walks, v.levelWalk(hint.top, v.Whole().from))
		}
	} else {
		hint.top = 0
	}
	for i, s := range e.Spans {
		if i == expectedSpans {
			break
		}
		walks = append(walks, v.expected(s, e, hint, len(e.Spans))...)
	}
	r.Expect(kv.Reads{Walks: walks})
}

// expected returns the walks of one span of several.
func (v *Reader) expected(s Span, e Expected, h hint, of int) (walks []kv.Walk) {
	if s.Empty() {
		return nil
	}
	rows := h.rows(of)
	switch {
	case !e.Groups:
		w := v.rowsWalk(s)
		w.Want = min(rows, e.Rows+1)
		return []kv.Walk{w}
	case s.descending:
		w := v.rowsWalk(s)
		w.Want = rows
		return []kv.Walk{w}
	}
	for level := h.top; level > 0; level-- {
		walks = append(walks, v.levelWalk(level, s.from))
	}
	return append(walks, v.levelWalk(0, s.from))
}

// rowsWalk is the walk over the rows of a span.
func (v *Reader) rowsWalk(s Span) kv.Walk {
	return kv.Walk{Range: kv.Range{Start: v.key(0, s.from), End: v.key(0, s.to)}, IterOptions: kv.IterOptions{Reverse: s.descending}}
}

// levelWalk is the walk over a level from a position on.
func (v *Reader) levelWalk(level int, from []byte) kv.Walk {
	return kv.Walk{Range: kv.Range{Start: v.key(level, from), End: v.key(level, after(v.head(v.partition)))},
		IterOptions: kv.IterOptions{Want: expectedNodes}}
}

// highestWalk is the walk whose first row is a node of the highest level.
func (v *Reader) highestWalk() kv.Walk {
	return kv.Walk{Range: kv.Prefix(keyspace.ViewNode.Key(v.db, keyspace.U(v.index))), IterOptions: kv.IterOptions{Reverse: true, Want: 1}}
}

// hint is what a reader saw: the highest level, and how large rows are.
type hint struct{ top, bytes int }

func hintOf(x *index.Index) hint {
	n := x.Hint.Load()
	return hint{int(n & 0xff), int(n >> 8)}
}

// hint is what the reader saw.
func (v *Reader) hint() hint {
	h := hint{v.top, hintOf(v.x).bytes}
	if v.Read.Rows > 0 {
		h.bytes = max(1, v.size/v.Read.Rows)
	}
	return h
}

// note keeps a hint for the readers after this one.
func (h hint) note(x *index.Index) {
	if n := uint64(h.bytes)<<8 | uint64(h.top&0xff); n != x.Hint.Load() {
		x.Hint.Store(n)
	}
}

// rows is how many rows to read ahead of each of several spans.
func (h hint) rows(of int) int {
	most := unknownRows
	if h.bytes > 0 {
		most = min(expectedRows, expectedBytes/h.bytes)
	}
	return max(1, most/of)
}
