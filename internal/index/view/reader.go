package view

import (
	"bytes"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// Reader reads a view index, or one partition of it, at one snapshot.
type Reader struct {
	layout
	*Def
	x   *index.Index
	r   *store.Reader
	v   kv.Snapshot
	top int // the highest level with nodes that may be used
	// Read counts what was read.
	Read struct{ Rows, Nodes int }
	size int  // bytes of the rows read
	hide bool // rows of documents that may not be seen lie among the others
	gone bool // no row may be seen: the partition is being dropped

	partition document.Partition
	walks     []levelWalk // by level, opened when needed
	from      []byte      // where reading began: levels are walked from there, unless something before it is asked for
	chunk     []byte      // where own puts what it copies
}

// levelWalk walks a level.
type levelWalk struct {
	kv.Iterator
	from []byte // where it begins
}

// chunkBytes is how much memory own takes at a time.
const chunkBytes = 4 << 10

// own copies a value borrowed from an iterator: reductions keep some of them. The
// copies lie side by side, for most are a few bytes.
func (v *Reader) own(borrowed []byte, err error) ([]byte, error) {
	if err != nil || len(borrowed) > chunkBytes/4 {
		return bytes.Clone(borrowed), err
	}
	if len(v.chunk)+len(borrowed) > cap(v.chunk) {
		v.chunk = make([]byte, 0, chunkBytes)
	}
	at := len(v.chunk)
	v.chunk = append(v.chunk, borrowed...)
	return v.chunk[at:len(v.chunk):len(v.chunk)], nil
}

// Close ends the reader, before its snapshot ends.
func (v *Reader) Close() {
	for _, w := range v.walks {
		if w.Iterator != nil {
			w.Close()
		}
	}
	v.walks = nil
	if v.usesNodes(v.x) {
		v.hint().note(v.x)
	}
}

// iterator returns the iterator over a level, for positions from at on. Whoever walks a level has it to
// himself: a walk leaves it only for levels beneath.
func (v *Reader) iterator(level int, at []byte) (kv.Iterator, error) {
	for len(v.walks) <= level {
		v.walks = append(v.walks, levelWalk{})
	}
	w := &v.walks[level]
	if w.Iterator != nil && bytes.Compare(at, w.from) >= 0 {
		return w.Iterator, nil
	}
	if w.Iterator != nil {
		w.Close()
		w.Iterator = nil
	}
	from := v.from
	if from == nil {
		from, v.from = at, at
	} else if bytes.Compare(at, from) < 0 {
		from = v.head(v.partition)
	}
	walk := v.levelWalk(level, from)
	it, err := v.v.Iterate(walk.Range, walk.IterOptions)
	if err == nil {
		*w = levelWalk{it, from}
	}
	return it, err
}

// NewReader reads index x at r's snapshot; p is "" for a global index. While the
// index is being built, its nodes are not looked at.
func NewReader(r *store.Reader, x *index.Index, p document.Partition) (*Reader, error) {
	v := newReader(r, x, p)
	if !v.usesNodes(x) {
		return v, nil
	}
	top, err := x.Memo.Get(v.v, func() (any, error) { return v.highest() })
	if err == nil {
		v.top = top.(int)
	}
	return v, err
}

// usesNodes reports whether the nodes of an index may be looked at.
func (v *Reader) usesNodes(x *index.Index) bool {
	return x.State == index.Readable && !(v.hide && !x.Partitioned)
}

func newReader(r *store.Reader, x *index.Index, p document.Partition) *Reader {
	v := &Reader{layout: layoutOf(r.Database(), x), Def: Of(x), x: x, r: r, v: r.Snapshot(), hide: r.Hides(), partition: p}
	v.gone = v.hide && p != "" && !r.Sees(document.ID(p+":"))
	return v
}

// highest finds the highest level with nodes.
func (v *Reader) highest() (int, error) {
	w := v.highestWalk()
	it, err := v.v.Iterate(w.Range, w.IterOptions)
	if err != nil {
		return 0, err
	}
	defer it.Close()
	if !it.Next() {
		return 0, it.Err()
	}
	_, parts, err := keyspace.ViewNode.Decode(it.Key())
	if err != nil {
		return 0, err
	}
	return int(parts[2].Num()), nil
}

// sees reports whether the row at a position may be shown.
func (v *Reader) sees(position []byte) (bool, error) {
	if !v.hide {
		return true, nil
	}
	id, err := v.idOf(position)
	return v.r.Sees(id), err
}

// visitor is what cover shows the parts of a span to.
type visitor interface {
	// node is a node within the span, which ends at end. whole says that it was taken as it is;
	// else its children are shown. more is false to end the walk.
	node(n node, end []byte) (whole, more bool, err error)
	// row is a row within the span; its value is read by value. more is false
	// to end the walk.
	row(position []byte, value func() ([]byte, error)) (more bool, err error)
}

// cover shows a span, from a to b, as the fewest nodes and rows that make it, in
// their order.
func (v *Reader) cover(a, b []byte, to visitor) error {
	if bytes.Compare(a, b) >= 0 {
		return nil
	}
	_, err := v.coverLevel(v.top, a, b, to)
	return err
}

func (v *Reader) coverLevel(level int, a, b []byte, to visitor) (more bool, err error) {
	if bytes.Compare(a, b) >= 0 {
		return true, nil
	}
	if level == 0 {
		return v.coverRows(a, b, to)
	}
	prefix := v.prefix(level)
	it, err := v.iterator(level, a)
	if err != nil {
		return false, err
	}
	var last, spare []byte // where the span of the node that was read last begins, and memory for the next
	var held node
	for ok := it.Seek(v.key(level, a)); ok; ok = it.Next() {
		if bytes.Compare(it.Key()[len(prefix):], b) > 0 { // a node at b ends the span before it
			break
		}
		position := append(spare[:0], it.Key()[len(prefix):]...)
		if last == nil {
			more, err = v.coverLevel(level-1, a, position, to)
		} else {
			more, err = v.coverNode(level, last, position, held, to)
		}
		if err != nil || !more {
			return more, err
		}
		v.Read.Nodes++
		value, err := v.own(it.Borrow())
		if err != nil {
			return false, err
		}
		if held, err = unpackNode(value); err != nil {
			return false, err
		}
		last, spare = position, last
	}
	if err := it.Err(); err != nil {
		return false, err
	}
	switch {
	case last == nil:
		return v.coverLevel(level-1, a, b, to)
	case bytes.Equal(b, after(headOf(last))): // the last node ends with its partition
		return v.coverNode(level, last, b, held, to)
	}
	return v.coverLevel(level-1, last, b, to)
}

// coverNode shows a node, or the children of its span.
func (v *Reader) coverNode(level int, from, end []byte, n node, to visitor) (more bool, err error) {
	if whole, more, err := to.node(n, end); whole || !more || err != nil {
		return more, err
	}
	return v.coverLevel(level-1, from, end, to)
}

func (v *Reader) coverRows(a, b []byte, to visitor) (more bool, err error) {
	it, err := v.iterator(0, a)
	if err != nil {
		return false, err
	}
	value := func() ([]byte, error) { return v.own(it.Borrow()) }
	for ok := it.Seek(v.key(0, a)); ok; ok = it.Next() {
		position := it.Key()[len(v.rows):]
		if bytes.Compare(position, b) >= 0 {
			break
		}
		v.Read.Rows++
		if seen, err := v.sees(position); err != nil {
			return false, err
		} else if !seen {
			continue
		}
		if more, err := to.row(position, value); err != nil || !more {
			return false, err
		}
	}
	return true, it.Err()
}

// counting counts rows.
type counting struct{ n uint64 }

func (c *counting) node(n node, _ []byte) (whole, more bool, err error) {
	c.n += n.count
	return true, true, nil
}

func (c *counting) row([]byte, func() ([]byte, error)) (bool, error) {
	c.n++
	return true, nil
}

// Count counts the rows of a span.
func (v *Reader) Count(s Span) (uint64, error) {
	var c counting
	err := v.cover(s.from, s.to, &c)
	return c.n, err
}

// finding looks for the row with a number of rows before it.
type finding struct {
	before   uint64
	position []byte
}

func (f *finding) node(n node, _ []byte) (whole, more bool, err error) {
	if n.count <= f.before {
		f.before -= n.count
		return true, true, nil
	}
	return false, true, nil
}

func (f *finding) row(position []byte, _ func() ([]byte, error)) (bool, error) {
	if f.before == 0 {
		f.position = bytes.Clone(position)
		return false, nil
	}
	f.before--
	return true, nil
}

// Skip returns what is left of a span after its first n rows.
func (v *Reader) Skip(s Span, n uint64) (Span, error) {
	if n == 0 || s.Empty() {
		return s, nil
	}
	if s.descending {
		return v.skipBack(s, n)
	}
	f := finding{before: n}
	if err := v.cover(s.from, s.to, &f); err != nil {
		return s, err
	}
	s.from = f.position
	if f.position == nil {
		s.from = s.to
	}
	return s, nil
}

// skipBack is Skip for a span that is read backward: rows of a document with
// equal keys stay together and in their order.
func (v *Reader) skipBack(s Span, n uint64) (Span, error) {
	all, err := v.Count(s)
	if err != nil || n >= all {
		s.to = s.from
		return s, err
	}
	f := finding{before: all - 1 - n}
	if err := v.cover(s.from, s.to, &f); err != nil {
		return s, err
	}
	parts, err := v.parts(f.position)
	if err != nil {
		return s, err
	}
	end := after(v.idPosition(document.Partition(parts[1].String()), []byte(parts[2].String()), document.ID(parts[3].String())))
	behind, err := v.Count(Span{from: f.position, to: end})
	if err != nil {
		return s, err
	}
	s.to, s.drop = end, int(behind)-1
	return s, nil
}

// parts takes a position apart: index, partition, key, id, number.
func (v *Reader) parts(position []byte) ([]keyspace.Part, error) {
	_, parts, err := keyspace.ViewRow.Decode(v.key(0, position))
	return parts, err
}
