package view

import (
	"bytes"
	"iter"
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
)

// Rows walks the rows of a span in its direction.
func (v *Reader) Rows(s Span) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		if s.Empty() {
			return
		}
		w := v.rowsWalk(s)
		it, err := v.v.Iterate(w.Range, w.IterOptions)
		if err != nil {
			yield(Row{}, err)
			return
		}
		defer it.Close()
		walk := v.ascend
		if s.descending {
			walk = v.descend
		}
		err = walk(it, s, func(r Row) bool { return yield(r, nil) })
		if err == nil {
			err = it.Err()
		}
		if err != nil {
			yield(Row{}, err)
		}
	}
}

// read reads the row that an iterator is on. shown is false for rows that
// may not be seen.
func (v *Reader) read(it kv.Iterator) (r Row, shown bool, err error) {
	v.Read.Rows++
	r.At = bytes.Clone(it.Key()[len(v.rows):])
	if r.ID, err = v.idOf(r.At); err != nil {
		return r, false, err
	}
	if v.hide && !v.r.Sees(r.ID) {
		return r, false, nil
	}
	value, err := it.Value()
	if err != nil {
		return r, false, err
	}
	v.size += len(value)
	r.Key, r.Value, err = unpackRow(value)
	return r, err == nil, err
}

func (v *Reader) ascend(it kv.Iterator, _ Span, yield func(Row) bool) error {
	for it.Next() {
		r, shown, err := v.read(it)
		if err != nil {
			return err
		}
		if shown && !yield(r) {
			return nil
		}
	}
	return nil
}

// descend walks backward, but forward within equal keys of one document, as
// CouchDB does.
func (v *Reader) descend(it kv.Iterator, s Span, yield func(Row) bool) error {
	var together []Row // backward
	var prefix []byte  // of the positions of the rows together
	flush := func() bool {
		slices.Reverse(together)
		for i := range together {
			if i < s.drop {
				continue
			}
			r := together[i]
			if r.At = nil; i == len(together)-1 {
				r.At = together[0].At
			}
			if !yield(r) {
				return false
			}
		}
		together, s.drop = together[:0], 0
		return true
	}
	for it.Next() {
		r, shown, err := v.read(it)
		if err != nil {
			return err
		}
		if !shown {
			continue
		}
		if len(together) > 0 && !bytes.HasPrefix(r.At, prefix) && !flush() {
			return nil
		}
		if len(together) == 0 {
			prefix = v.samePosition(r.At)
		}
		together = append(together, r)
	}
	if err := it.Err(); err != nil {
		return err
	}
	flush()
	return nil
}

// samePosition is what the positions of a document's rows with one key begin with: all
// but the number, which is a length and so many bytes.
func (v *Reader) samePosition(position []byte) []byte {
	parts, err := v.parts(position)
	if err != nil {
		return position
	}
	return v.idPosition(document.Partition(parts[1].String()), []byte(parts[2].String()), document.ID(parts[3].String()))
}
