package view

import (
	"bytes"
	"context"
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// Draft is one partition of a view whose index is still being built: the rows of
// the partition's documents as they were at one moment, made in memory. Since
// nodes depend on the rows of their partition alone, it is what the index will
// hold for the partition, byte for byte, and is read in the same way.
type Draft struct {
	index     *index.Index
	partition document.Partition
	rows      *memory
}

// Draft makes a draft of index x, a partitioned one, of all documents of a partition.
func (k *Kind) Draft(ctx context.Context, d *store.Database, x *index.Index, p document.Partition, docs []index.Change) (*Draft, error) {
	w, rows := k.work(d, x), &memory{}
	w.table = rows
	all, _, err := w.rows(ctx, docs)
	if err != nil {
		return nil, err
	}
	b, err := w.batch(ctx, all, true)
	if err != nil {
		return nil, err
	}
	if err := rows.write(ctx, b); err != nil {
		return nil, err
	}
	return &Draft{x, p, rows}, w.finish(ctx)
}

// Reader reads the draft in place of its index; r decides what may be seen.
func (d *Draft) Reader(r *store.Reader) (*Reader, error) {
	v := newReader(r, d.index, d.partition)
	v.v = d.rows
	top, err := v.highest()
	v.top = top
	return v, err
}

// memory is a table in memory. It is written to when nobody reads it.
type memory struct{ rows []index.Row }

var (
	_ table       = (*memory)(nil)
	_ kv.Snapshot = (*memory)(nil)
)

func (m *memory) view(_ context.Context, fn func(kv.Snapshot) error) error { return fn(m) }

// write adds the rows of a batch that replaces none.
func (m *memory) write(_ context.Context, b *batch) error {
	m.rows = append(m.rows, b.puts...)
	slices.SortFunc(m.rows, func(a, b index.Row) int { return bytes.Compare(a.Key, b.Key) })
	return nil
}

// at returns the position of the first row at or after a key.
func (m *memory) at(key []byte) int {
	i, _ := slices.BinarySearchFunc(m.rows, key, func(r index.Row, key []byte) int { return bytes.Compare(r.Key, key) })
	return i
}

// Get is kv.Snapshot's.
func (m *memory) Get(key []byte) ([]byte, error) {
	if i := m.at(key); i < len(m.rows) && bytes.Equal(m.rows[i].Key, key) {
		return bytes.Clone(m.rows[i].Value), nil
	}
	return nil, kv.ErrNotFound
}

// GetMany is kv.Snapshot's.
func (m *memory) GetMany(keys [][]byte) ([][]byte, error) { return kv.GetEach(keys, m.Get) }

// Read is kv.Snapshot's.
func (m *memory) Read(r kv.Reads) (kv.Found, error) { return kv.ReadEach(m, r) }

// Iterate is kv.Snapshot's.
func (m *memory) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	from, to := m.at(r.Start), len(m.rows)
	if r.End != nil {
		to = max(from, m.at(r.End))
	}
	it := &memoryIterator{rows: m.rows[from:to], reverse: o.Reverse, i: -1}
	if o.Reverse {
		it.i = len(it.rows)
	}
	return it, nil
}

// memoryIterator walks rows in memory.
type memoryIterator struct {
	rows    []index.Row
	i       int
	reverse bool
}

func (it *memoryIterator) positioned() bool { return 0 <= it.i && it.i < len(it.rows) }

func (it *memoryIterator) Next() bool {
	if it.reverse {
		it.i = max(it.i-1, -1)
	} else {
		it.i = min(it.i+1, len(it.rows))
	}
	return it.positioned()
}

func (it *memoryIterator) Seek(key []byte) bool {
	i, found := slices.BinarySearchFunc(it.rows, key, func(r index.Row, key []byte) int { return bytes.Compare(r.Key, key) })
	if it.i = i; it.reverse && !found {
		it.i--
	}
	return it.positioned()
}

func (it *memoryIterator) Key() []byte             { return it.rows[it.i].Key }
func (it *memoryIterator) Value() ([]byte, error)  { return bytes.Clone(it.rows[it.i].Value), nil }
func (it *memoryIterator) Borrow() ([]byte, error) { return it.rows[it.i].Value, nil }
func (it *memoryIterator) Err() error              { return nil }
func (it *memoryIterator) Close() error            { return nil }
