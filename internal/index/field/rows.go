package field

import (
	"bytes"
	"context"
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

// maxTuple is how many bytes of the encoded values a key holds. Longer ones are
// cut: rows of the same beginning then lie in no order, and whoever reads them
// compares the documents, as it does anyway.
const maxTuple = 1000

// maxElements is how many different elements of one array have rows. A document
// with more of them has one row after all others, which every query reads.
const maxElements = 1000

// overflow begins the tuple of a document with too many elements; no encoded
// value begins with it.
const overflow = 0xff

// missing is the encoding of a column that the document lacks: below all values.
const missing = 0x01

// The first two bytes of a row's value: its version and its flags.
const (
	rowVersion   = 1
	rowLacking   = 2      // the version of a row whose document lacks a column
	flagPartial  = 1 << 0 // the values are not the document's: an element, or cut
	flagOverflow = 1 << 1
)

// values are what a document holds in the fields of one index; nil where there
// is nothing.
type values [][]byte

// wanted is a set of fields to be taken out of documents, in one pass.
type wanted struct {
	names []string // of members of the document
	paths []*selector.Path
	slot  []int // of names, by path; -1 for a reserved member

	places map[string]int // of names
	added  map[string]int // positions of paths
}

func newWanted() *wanted { return &wanted{places: map[string]int{}, added: map[string]int{}} }

// add adds a path and returns its position.
func (w *wanted) add(p *selector.Path) int {
	if i, ok := w.added[p.String()]; ok {
		return i
	}
	slot := -1
	if name := p.Segments()[0]; name == "" || name[0] != '_' {
		known := false
		if slot, known = w.places[name]; !known {
			slot = len(w.names)
			w.names, w.places[name] = append(w.names, name), slot
		}
	}
	w.added[p.String()] = len(w.paths)
	w.paths, w.slot = append(w.paths, p), append(w.slot, slot)
	return len(w.paths) - 1
}

// fewNames is how many names are compared one by one.
const fewNames = 16

// place returns the place of a quoted name among names, -1 if it is not wanted.
func (w *wanted) place(quoted []byte) int {
	if len(w.names) <= fewNames {
		return slices.IndexFunc(w.names, func(n string) bool { return jsonscan.NameIs(quoted, n) })
	}
	var room [64]byte
	if i, ok := w.places[string(jsonscan.Text(room[:0], quoted))]; ok {
		return i
	}
	return -1
}

// take fills dst, one value per path, from a document; tops is scratch.
func (w *wanted) take(dst, tops values, rev *store.Revision) (values, values) {
	tops = slices.Grow(tops[:0], len(w.names))[:len(w.names)]
	clear(tops)
	missing := len(w.names)
	for m := jsonscan.MembersOf(rev.Body); missing > 0; {
		name, v, ok := m.Next()
		if !ok {
			break
		}
		if i := w.place(name); i >= 0 && tops[i] == nil {
			tops[i] = v
			missing--
		}
	}
	dst = dst[:0]
	for i, p := range w.paths {
		if w.slot[i] < 0 {
			dst = append(dst, reserved(rev, p))
			continue
		}
		dst = append(dst, selector.Descend(tops[w.slot[i]], p.Segments()[1:]))
	}
	return dst, tops
}

// reserved returns a member that is not in the body.
func reserved(rev *store.Revision, p *selector.Path) []byte {
	doc := selector.Doc{ID: string(rev.ID), Rev: rev.Rev.String(), Body: rev.Body}
	return doc.Lookup(p)
}

// extractor makes the rows of one index out of values taken.
type extractor struct {
	*Def
	number      uint64
	partitioned bool
	building    bool
	positions   []int // of the values: the columns' and after them the included fields'
}

func newExtractor(x *index.Index, w *wanted) extractor {
	e := extractor{Def: Of(x), number: x.Number, partitioned: x.Partitioned, building: x.State == index.Building}
	for _, c := range e.Columns {
		e.positions = append(e.positions, w.add(c.Path))
	}
	for _, p := range e.Include {
		e.positions = append(e.positions, w.add(p))
	}
	return e
}

// columns are the positions of the columns' values.
func (e *extractor) columns() []int { return e.positions[:len(e.Columns)] }

// holds reports whether a document with these values is in the index; nil is none.
func (e *extractor) holds(ctx context.Context, rev *store.Revision, vs values) (bool, error) {
	if rev == nil || !e.has(vs) {
		return false, nil
	}
	return e.passes(ctx, rev)
}

// has reports whether a document with these values has the columns that it must have.
func (e *extractor) has(vs values) bool {
	for column, i := range e.columns() {
		if vs[i] == nil && !e.Optional(column) {
			return false
		}
	}
	return true
}

// version is the version of the document's rows.
func (e *extractor) version(vs values) byte {
	if slices.ContainsFunc(e.columns(), func(i int) bool { return vs[i] == nil }) {
		return rowLacking
	}
	return rowVersion
}

// passes reports whether a document passes the filter. That takes time in
// proportion to its size (see Parse), and has no other bound: whether a row is
// there must depend on nothing but the document.
func (e *extractor) passes(ctx context.Context, rev *store.Revision) (bool, error) {
	if e.Partial == nil {
		return true, nil
	}
	d := selector.Doc{ID: string(rev.ID), Body: rev.Body}
	if e.Partial.Uses("_rev") {
		d.Rev = rev.Rev.String()
	}
	return e.Partial.Match(&d, selector.NewBudget(ctx, 0))
}

// same reports whether two documents that are in the index have the same rows.
func (e *extractor) same(a, b values) bool {
	return !slices.ContainsFunc(e.positions, func(i int) bool { return !bytes.Equal(a[i], b[i]) })
}

// rows appends the rows of a document that is in the index.
func (e *extractor) rows(dst []index.Row, db uint64, id document.ID, vs values) ([]index.Row, error) {
	at := e.Elements()
	if at < 0 || jsonscan.KindOf(vs[e.positions[at]]) != jsonscan.Array {
		tuple, err := e.encode(vs, 0, len(e.Columns))
		if err != nil {
			return dst, err
		}
		whole := cutTuple(tuple)
		return append(dst, index.Row{Key: e.key(db, id, whole), Value: e.value(vs, len(whole) < len(tuple))}), nil
	}
	array := vs[e.positions[at]]
	s, err := e.surround(vs, at)
	if err != nil {
		return dst, err
	}
	if e.Optional(at) && jsonscan.Len(array) == 0 {
		tuple, err := s.tuple(e.Def, nil) // as if the array were not there
		return append(dst, index.Row{Key: e.key(db, id, tuple), Value: []byte{rowLacking, flagPartial}}), err
	}
	return e.elementRows(dst, db, id, vs, s)
}

// elementRows appends a row for each different element of an array.
func (e *extractor) elementRows(dst []index.Row, db uint64, id document.ID, vs values, s surrounded) ([]index.Row, error) {
	seen := map[string]bool{}
	for it := jsonscan.ElementsOf(vs[e.positions[s.at]]); ; {
		element, ok := it.Next()
		if !ok {
			return dst, nil
		}
		tuple, err := s.tuple(e.Def, element)
		if err != nil {
			return dst, err
		}
		if seen[string(tuple)] {
			continue
		}
		if len(seen) == maxElements {
			dst = dst[:len(dst)-len(seen)]
			return append(dst, index.Row{Key: e.key(db, id, []byte{overflow}), Value: []byte{e.version(vs), flagPartial | flagOverflow}}), nil
		}
		seen[string(tuple)] = true
		dst = append(dst, index.Row{Key: e.key(db, id, tuple), Value: []byte{e.version(vs), flagPartial}})
	}
}

// surrounded is what surrounds the elements of one column in their tuples. It
// is encoded once: for each element it would make a write take the product of an
// array's length and the length of the values beside it.
type surrounded struct {
	at            int // the column
	before, after []byte
}

func (e *extractor) surround(vs values, at int) (s surrounded, err error) {
	s.at = at
	if s.before, err = e.encode(vs, 0, at); err != nil {
		return s, err
	}
	s.after, err = e.encode(vs, at+1, len(e.Columns))
	s.before, s.after = cutTuple(s.before), cutTuple(s.after)
	return s, err
}

// tuple encodes the columns' values with an element, or nil for none, in its place.
func (s *surrounded) tuple(d *Def, element []byte) ([]byte, error) {
	tuple := append(make([]byte, 0, len(s.before)+len(s.after)+64), s.before...)
	tuple, err := d.AppendValue(tuple, s.at, element)
	if err != nil {
		return nil, err
	}
	return cutTuple(append(tuple, s.after...)), nil
}

// encode encodes the values of columns, up to the one that makes a tuple too long.
func (e *extractor) encode(vs values, from, to int) (tuple []byte, err error) {
	for i := from; i < to && len(tuple) <= maxTuple && err == nil; i++ {
		tuple, err = e.AppendValue(tuple, i, vs[e.positions[i]])
	}
	return tuple, err
}

func cutTuple(tuple []byte) []byte { return tuple[:min(len(tuple), maxTuple)] }

// AppendValue appends the encoding of a value of a column, nil for none: byte
// order is the order of the column, and no encoding is the beginning of another.
func (d *Def) AppendValue(dst []byte, column int, v []byte) (_ []byte, err error) {
	at := len(dst)
	switch c := &d.Columns[column]; {
	case v == nil:
		dst = append(dst, missing)
	case c.id:
		dst, err = keyspace.AppendRaw(dst, v)
	default:
		dst, err = keyspace.AppendCollated(dst, v)
	}
	if d.inverted(column) {
		for i := at; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst, err
}

// inverted reports whether a column runs against the first one: an index whose
// columns all descend is one that ascends, read backward.
func (d *Def) inverted(column int) bool { return d.Columns[column].Desc != d.Columns[0].Desc }

func (e *extractor) key(db uint64, id document.ID, tuple []byte) []byte {
	partition := ""
	if e.partitioned {
		partition = string(id.Partition())
	}
	return keyspace.FieldRow.Key(db, keyspace.U(e.number), keyspace.T(partition), keyspace.T(string(tuple)), keyspace.T(string(id)))
}

// value packs the columns' values and the included fields.
func (e *extractor) value(vs values, cut bool) []byte {
	n := 2
	for _, i := range e.positions {
		n += len(vs[i]) + 2
	}
	w := append(make(packed.Writer, 0, n), e.version(vs), 0)
	if cut {
		w[1] = flagPartial
	}
	for _, i := range e.positions {
		w.Bytes(vs[i])
	}
	return w
}

// Rows is index.Transactional's.
func (Kind) Rows(db uint64, x *index.Index) index.RowsOf {
	w := newWanted()
	e := newExtractor(x, w)
	var vs, tops values
	return func(dst []index.Row, rev *store.Revision) ([]index.Row, error) {
		vs, tops = w.take(vs, tops, rev)
		if in, err := e.holds(context.Background(), rev, vs); !in || err != nil {
			return dst, err
		}
		return e.rows(dst, db, rev.ID, vs)
	}
}

// Document is index.Transactional's.
func (Kind) Document(key []byte) (document.ID, error) {
	_, parts, err := keyspace.FieldRow.Decode(key)
	if err != nil {
		return "", err
	}
	return document.ID(parts[3].String()), nil
}
