package view

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
)

// rowVersion is the format of this package's values.
const rowVersion = 1

var errRow = errors.New("view: a row that can't be read")

// Row is a row of a view.
type Row struct {
	ID    document.ID
	Key   []byte // JSON, as it was emitted
	Value []byte // JSON
	// At is where the row stands, for Span.Behind. It is nil within rows that
	// belong together: equal keys of one document, when reading backward.
	At []byte
}

// stored is a row with its place.
type stored struct {
	key    []byte // encoded
	number uint64 // among the document's rows with this key
	place  []byte
	value  []byte
}

// packRow makes the value of a row.
func packRow(key, value []byte) []byte {
	b := append(make([]byte, 0, len(key)+len(value)+6), rowVersion)
	b = binary.AppendUvarint(b, uint64(len(key)))
	return append(append(b, key...), value...)
}

// unpackRow is the reverse of packRow. It refers to b.
func unpackRow(b []byte) (key, value []byte, err error) {
	if len(b) == 0 || b[0] != rowVersion {
		return nil, nil, errRow
	}
	n, w := binary.Uvarint(b[1:])
	if w <= 0 || uint64(len(b)-1-w) < n {
		return nil, nil, errRow
	}
	b = b[1+w:]
	return b[:n:n], b[n:], nil
}

// rowsOf makes the rows of a document out of what a map function emitted for it.
// Of equal keys, those with the smaller value come first: in raw order, which is
// CouchDB's there. ok is false if a row can't be stored.
func (l *layout) rowsOf(d *Def, id document.ID, emitted []Emitted) (rows []stored, ok bool) {
	type sorted struct{ key, value []byte }
	order := make([]sorted, len(emitted))
	at := make([]int, len(emitted))
	for i, e := range emitted {
		var err error
		if order[i].key, err = d.collate(nil, e.Key); err != nil {
			return nil, false
		}
		at[i] = i
	}
	if len(emitted) > 1 {
		for i, e := range emitted {
			order[i].value, _ = keyspace.AppendRaw(nil, e.Value) // a value that is none is found below
		}
		slices.SortStableFunc(at, func(a, b int) int {
			if c := bytes.Compare(order[a].key, order[b].key); c != 0 {
				return c
			}
			return bytes.Compare(order[a].value, order[b].value)
		})
	}
	number := uint64(0)
	for n, i := range at {
		if n > 0 && bytes.Equal(order[i].key, order[at[n-1]].key) {
			number++
		} else {
			number = 0
		}
		r := stored{key: order[i].key, number: number, value: packRow(emitted[i].Key, emitted[i].Value)}
		r.place = l.place(l.partition(id), r.key, id, number)
		if len(r.place) > maxPlace || len(r.value) > maxRow {
			return nil, false
		}
		rows = append(rows, r)
	}
	return rows, true
}

// mark tells a row from others at its place.
type mark [16]byte

func markOf(value []byte) (m mark) {
	sum := sha256.Sum256(value)
	copy(m[:], sum[:])
	return m
}

// packBack makes the value of a document's back-row: what is needed to know its
// rows' places, and their marks.
func packBack(rows []stored) []byte {
	b := []byte{rowVersion}
	for _, r := range rows {
		b = binary.AppendUvarint(b, uint64(len(r.key)))
		b = append(b, r.key...)
		b = binary.AppendUvarint(b, r.number)
		m := markOf(r.value)
		b = append(b, m[:]...)
	}
	return b
}

// old is a row as a back-row tells of it.
type old struct {
	place []byte
	mark  mark
}

// unpackBack is the reverse of packBack.
func (l *layout) unpackBack(id document.ID, b []byte) (olds []old, err error) {
	if len(b) == 0 || b[0] != rowVersion {
		return nil, errRow
	}
	for b = b[1:]; len(b) > 0; {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > uint64(len(b)-w) {
			return nil, errRow
		}
		key := b[w : w+int(n)]
		b = b[w+int(n):]
		number, w := binary.Uvarint(b)
		if w <= 0 || len(b)-w < len(mark{}) {
			return nil, errRow
		}
		o := old{place: l.place(l.partition(id), key, id, number)}
		copy(o.mark[:], b[w:])
		b = b[w+len(o.mark):]
		olds = append(olds, o)
	}
	return olds, nil
}

// node is the value of a node.
type node struct {
	count uint64
	state []byte // of the reduction; nil for none
}

func (n node) pack() []byte {
	b := append(make([]byte, 0, len(n.state)+11), rowVersion)
	return append(binary.AppendUvarint(b, n.count), n.state...)
}

func unpackNode(b []byte) (n node, err error) {
	if len(b) == 0 || b[0] != rowVersion {
		return n, errRow
	}
	count, w := binary.Uvarint(b[1:])
	if w <= 0 {
		return n, errRow
	}
	return node{count, b[1+w:]}, nil
}
