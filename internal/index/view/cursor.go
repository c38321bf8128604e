package view

import (
	"bytes"
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// edit is a change of a row or node that is about to be written.
type edit struct {
	position []byte
	value    []byte
	gone     bool // it is to be deleted
	fresh    bool // it was not there before
}

func byPosition(a, b edit) int { return bytes.Compare(a.position, b.position) }

// search returns the position of the first edit at or after a position.
func search(edits []edit, position []byte) int {
	i, _ := slices.BinarySearchFunc(edits, position, func(e edit, p []byte) int { return bytes.Compare(e.position, p) })
	return i
}

// cursor walks the entries of one level in the order of their positions, as they
// will be after edits.
type cursor struct {
	it     kv.Iterator
	prefix []byte
	buf    []byte
	edits  []edit
	i      int  // of edits: the next one
	stored bool // the iterator is on an entry that was not passed
	here   *edit
}

// cursor opens a cursor. It is closed by close.
func (l *layout) cursor(v kv.Snapshot, level int, edits []edit) (*cursor, error) {
	prefix := l.prefix(level)
	it, err := v.Iterate(kv.Prefix(prefix), kv.IterOptions{})
	return &cursor{it: it, prefix: prefix, edits: edits}, err
}

func (c *cursor) close() { c.it.Close() }

// seek goes to the first entry at or after position, which next will return.
func (c *cursor) seek(position []byte) {
	c.buf = append(append(c.buf[:0], c.prefix...), position...)
	c.stored = c.it.Seek(c.buf)
	c.i = search(c.edits, position)
}

// next returns the position of the next entry, nil at the end. It is valid until the
// cursor moves.
func (c *cursor) next() (position []byte, err error) {
	for {
		if c.here == nil && c.buf == nil { // the first move of a cursor that was never told to seek
			c.seek(nil)
		}
		var e *edit
		if c.i < len(c.edits) {
			e = &c.edits[c.i]
		}
		if !c.stored && e == nil {
			return nil, c.it.Err()
		}
		order := 1
		if c.stored {
			if order = -1; e != nil {
				order = bytes.Compare(c.it.Key()[len(c.prefix):], e.position)
			}
		}
		if order < 0 {
			c.here = nil
			return c.it.Key()[len(c.prefix):], nil
		}
		c.i++
		if order == 0 {
			c.stored = c.it.Next()
		}
		if !e.gone {
			c.here = e
			return e.position, nil
		}
	}
}

// value returns the value of the entry that next gave.
func (c *cursor) value() ([]byte, error) {
	if c.here != nil {
		return c.here.value, nil
	}
	return c.it.Value()
}

// pass goes past the entry that next returned.
func (c *cursor) pass() {
	if c.here == nil {
		c.stored = c.it.Next()
	}
	c.here = nil
}

// add adds an entry of a level to a group.
func (l *layout) add(g *group, d *Def, level int, position []byte, value func() ([]byte, error)) error {
	if level > 0 {
		b, err := value()
		if err != nil {
			return err
		}
		n, err := unpackNode(b)
		if err == nil {
			g.node(n)
			if g.runs != nil {
				err = g.runs.node(n)
			}
		}
		return err
	}
	r := &g.scratch
	if _, counts := d.reducer.(counter); !counts || g.runs != nil {
		b, err := value()
		if err == nil {
			*r, err = l.open(d, position, b)
		}
		if err != nil {
			return err
		}
	}
	g.row(r)
	if g.runs != nil {
		g.runs.row(position, r)
	}
	return nil
}

// open reads a row, with its id where the reducer looks at it.
func (l *layout) open(d *Def, position, value []byte) (r Row, err error) {
	if r.Key, r.Value, err = unpackRow(value); err == nil && d.Custom() {
		r.ID, err = l.idOf(position)
	}
	return r, err
}

// idOf returns the document of a position.
func (l *layout) idOf(position []byte) (document.ID, error) {
	_, parts, err := keyspace.ViewRow.Decode(l.key(0, position))
	if err != nil {
		return "", err
	}
	return document.ID(parts[3].String()), nil
}
