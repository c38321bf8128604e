package view

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/packed"
)

// rowVersion is the format of this package's values.
const rowVersion = 1

// Row is a row of a view.
type Row struct {
	ID    document.ID
	Key   []byte // JSON, as it was emitted
	Value []byte // JSON
	// At is where the row is, for Span.Behind. It is nil within rows that
	// belong together: equal keys of one document, when reading backward.
	At []byte
}

// stored is a row with its position.
type stored struct {
	key      []byte // encoded
	number   uint64 // among the document's rows with this key
	position []byte
	value    []byte
}

// packRow makes the value of a row.
func packRow(key, value []byte) []byte {
	w := append(make(packed.Writer, 0, len(key)+len(value)+6), rowVersion)
	w.Bytes(key)
	w.Raw(value)
	return w
}

// unpackRow is the reverse of packRow. It refers to b.
func unpackRow(b []byte) (key, value []byte, err error) {
	r := packed.ReadVersion(b, rowVersion)
	key = r.Bytes()
	return key, r.Rest(), r.Err()
}

// rowsOf makes the rows of a document out of what a map function emitted for it.
// Of equal keys, those with the smaller value come first: in raw order, which is
// CouchDB's there. ok is false if a row can't be stored.
func (l *layout) rowsOf(id document.ID, emitted []index.Emitted) (rows []stored, ok bool) {
	type sorted struct{ key, value []byte }
	order := make([]sorted, len(emitted))
	at := make([]int, len(emitted))
	for i, e := range emitted {
		var err error
		if order[i].key, err = l.collate(nil, e.Key); err != nil {
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
		r.position = l.position(l.partition(id), r.key, id, number)
		if len(r.position) > l.max.position || len(r.value) > l.max.row {
			return nil, false
		}
		rows = append(rows, r)
	}
	return rows, true
}

// digest tells a row from others at its position.
type digest [16]byte

func digestOf(value []byte) (m digest) {
	sum := sha256.Sum256(value)
	copy(m[:], sum[:])
	return m
}

// packBack makes the value of a document's back-row: what is needed to know its
// rows' positions, and their digests.
func packBack(rows []stored) []byte {
	w := packed.Writer{rowVersion}
	for _, r := range rows {
		w.Bytes(r.key)
		w.Uint(r.number)
		m := digestOf(r.value)
		w.Raw(m[:])
	}
	return w
}

// old is a row as a back-row has it.
type old struct {
	position []byte
	digest   digest
}

// unpackBack is the reverse of packBack.
func (l *layout) unpackBack(id document.ID, b []byte) (olds []old, err error) {
	r := packed.ReadVersion(b, rowVersion)
	for len(r.Rest()) > 0 {
		key, number := r.Bytes(), r.Uint()
		o := old{position: l.position(l.partition(id), key, id, number)}
		copy(o.digest[:], r.Take(uint64(len(o.digest))))
		olds = append(olds, o)
	}
	return olds, r.Done()
}

// node is the value of a node.
type node struct {
	count uint64
	runs  []byte // of equal keys, packed (run); nil where they are not kept
	state []byte // of the reduction; nil for none
}

// nodeRuns is the version of nodes with runs; others are of the first.
const nodeRuns = 2

func (n node) pack() []byte {
	w := append(make(packed.Writer, 0, len(n.runs)+len(n.state)+14), rowVersion)
	w.Uint(n.count)
	if n.runs != nil {
		w[0] = nodeRuns
		w.Bytes(n.runs)
	}
	w.Raw(n.state)
	return w
}

// unpackNode is the reverse of pack. It refers to b.
func unpackNode(b []byte) (n node, err error) {
	r, version := packed.ReadUpTo(b, nodeRuns)
	n.count = r.Uint()
	if version == nodeRuns {
		n.runs = r.Bytes()
	}
	n.state = r.Rest()
	return n, r.Err()
}
