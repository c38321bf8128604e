package view

import (
	"bytes"

	"github.com/sectional/sectional/internal/packed"
)

// A node of a view with a reduce function keeps, beside the reduction of its span, those of
// the runs of equal keys that the span consists of, as long as they are few. Groups begin and
// end where keys change, so that a span which several of them share need not be taken apart:
// a hundred groups of thirty rows are a dozen nodes, not three thousand rows.

// run is the reduction of rows of a span that follow each other and have equal keys.
type run struct {
	first, last []byte // the keys of the first and of the last row, as JSON: equal keys may be written differently
	count       uint64
	state       []byte
}

const (
	// lowRuns and highRuns are how many runs a node of level 1, and of those above, keeps at most. A span of level 1 has
	// 16 rows, of which it saves reading some.
	lowRuns, highRuns = 8, 64
	// runBytes is what the runs of a node take at most.
	runBytes = 4 << 10
)

// keepsRuns reports whether nodes keep the runs of their spans: states are small, and made without calling a function.
func (d *Def) keepsRuns() bool {
	return d.Reduce != "" && !d.Custom() && d.small
}

// pack makes what a node has of a run.
func (r *run) pack(w *packed.Writer) {
	w.Bytes(r.first)
	if bytes.Equal(r.first, r.last) {
		w.Bytes(nil)
	} else {
		w.Bytes(r.last)
	}
	w.Uint(r.count)
	w.Bytes(r.state)
}

// unpackRun is the reverse of pack. It refers to what is read.
func unpackRun(u *packed.Reader) (r run) {
	r.first, r.last = u.Bytes(), u.Bytes()
	if len(r.last) == 0 {
		r.last = r.first
	}
	r.count, r.state = u.Uint(), u.Bytes()
	return r
}

// runs gathers the runs of a node that is being made.
type runs struct {
	*work
	max   int
	list  []run
	bytes int
	over  bool // there are too many, or one failed

	fold   fold // of the last run, if rows are added
	prefix []byte
}

// newNode begins a node of a level.
func (w *work) newNode(level int) *group {
	g := newGroup(w.reducer)
	if w.runs {
		g.runs = &runs{work: w, max: highRuns}
		if level == 1 {
			g.runs.max = lowRuns
		}
	}
	return g
}

// row adds a row. Those of one run have positions that begin with partition and key.
func (rs *runs) row(position []byte, r *Row) {
	if rs.over {
		return
	}
	if rs.prefix == nil || !bytes.HasPrefix(position, rs.prefix) {
		rs.close()
		rs.begin(run{first: r.Key})
		rs.prefix, rs.fold = keyOf(position), rs.reducer.begin()
	}
	if rs.over {
		return
	}
	last := &rs.list[len(rs.list)-1]
	last.last = r.Key
	last.count++
	rs.fold.row(r)
}

// keyOf returns what the positions of all rows with the key of one begin with: a text part ends with these bytes, and
// holds them nowhere else.
func keyOf(position []byte) []byte {
	head := len(headOf(position))
	return bytes.Clone(position[:head+bytes.Index(position[head:], []byte{0, 1})+2])
}

// begin begins a run.
func (rs *runs) begin(r run) {
	rs.list = append(rs.list, r)
	rs.bytes += len(r.first) + len(r.state)
	rs.bound()
}

// close ends the run to which rows were added.
func (rs *runs) close() {
	if rs.fold == nil || rs.over {
		return
	}
	last := &rs.list[len(rs.list)-1]
	last.state = rs.fold.end()
	rs.fold = nil
	rs.bytes += len(last.state)
	rs.over = rs.over || failed(last.state)
	rs.bound()
}

// bound gives up when it is too much.
func (rs *runs) bound() {
	if len(rs.list) > rs.max || rs.bytes > runBytes {
		rs.over = true
	}
	if rs.over {
		rs.list = nil
	}
}

// node adds a node of the level beneath.
func (rs *runs) node(n node) error {
	if n.count == 0 || rs.over {
		return nil
	}
	if rs.over = n.runs == nil; rs.over {
		rs.list = nil
		return nil
	}
	u := packed.Read(n.runs)
	for first := true; len(u.Rest()) > 0 && !rs.over; first = false {
		r := unpackRun(&u)
		if first && len(rs.list) > 0 {
			if joined, err := rs.join(&rs.list[len(rs.list)-1], &r); joined || err != nil {
				if err != nil {
					return err
				}
				continue
			}
		}
		rs.begin(r)
	}
	return u.Err()
}

// join adds a run to the one before it if they have equal keys.
func (rs *runs) join(a, b *run) (bool, error) {
	if same, err := rs.equalKeys(a.last, b.first); !same || err != nil {
		return false, err
	}
	f := rs.reducer.begin()
	f.state(a.state)
	f.state(b.state)
	rs.bytes -= len(a.state)
	a.last, a.count, a.state = b.last, a.count+b.count, f.end()
	rs.bytes += len(a.state)
	rs.over = failed(a.state)
	rs.bound()
	return true, nil
}

// equalKeys reports whether two keys are equal in the order of rows.
func (l *layout) equalKeys(a, b []byte) (bool, error) {
	if bytes.Equal(a, b) {
		return true, nil
	}
	x, err := l.collate(nil, a)
	if err != nil {
		return false, err
	}
	y, err := l.collate(nil, b)
	return bytes.Equal(x, y), err
}

// end returns the runs as a node has them; nil for none.
func (rs *runs) end() []byte {
	if rs == nil {
		return nil
	}
	if rs.close(); len(rs.list) == 0 {
		return nil
	}
	var w packed.Writer
	for i := range rs.list {
		rs.list[i].pack(&w)
	}
	return w
}
