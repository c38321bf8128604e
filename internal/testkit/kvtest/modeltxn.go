package kvtest

import (
	"context"
	"sync"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// modelSnapshot reads one tree: that of the moment when it is read first.
type modelSnapshot struct {
	ctx   context.Context
	m     *Model
	begun time.Time
	once  sync.Once
	start uint64 // the last commit in it
	rows  *tree
	base  *tree // rows as they were at first
}

// take takes the snapshot, at its first use.
func (s *modelSnapshot) take() {
	s.once.Do(func() {
		s.m.mu.Lock()
		defer s.m.mu.Unlock()
		s.start, s.rows, s.base = s.m.mu.n, s.m.mu.rows, s.m.mu.rows
	})
}

// check reports whether the snapshot can still be read.
func (s *modelSnapshot) check() error {
	s.take()
	if s.m.now().Sub(s.begun) > s.m.limits.Age {
		return dberr.New(dberr.SnapshotTooOld, "", "The snapshot is older than %v.", s.m.limits.Age)
	}
	return s.ctx.Err()
}

// Get implements kv.Snapshot.
func (s *modelSnapshot) Get(key []byte) ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	r, ok := s.rows.get(string(key))
	if !ok {
		return nil, kv.ErrNotFound
	}
	return append([]byte{}, r.value...), nil
}

// GetMany implements kv.Snapshot.
func (s *modelSnapshot) GetMany(keys [][]byte) ([][]byte, error) { return kv.GetEach(keys, s.Get) }

// Read implements kv.Snapshot.
func (s *modelSnapshot) Read(r kv.Reads) (kv.Found, error) { return kv.ReadEach(s, r) }

// Iterate implements kv.Snapshot.
func (s *modelSnapshot) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return &modelIterator{s: s, rows: s.rows, start: string(r.Start), end: text(r.End), reverse: o.Reverse}, nil
}

// modelTxn is one run of a closure; rows is its own tree.
type modelTxn struct {
	modelSnapshot
	run     uint64
	bytes   int
	locked  map[string]bool
	written map[string]bool
}

var _ kv.Txn = (*modelTxn)(nil)

// idle reports whether all that t does to a key is to delete it though it is absent.
func (t *modelTxn) idle(key string) bool {
	_, before := t.base.get(key)
	_, after := t.rows.get(key)
	return !before && !after && !t.locked[key]
}

// GetForUpdate implements kv.Txn.
func (t *modelTxn) GetForUpdate(key []byte) ([]byte, error) {
	t.locked[string(key)] = true
	return t.Get(key)
}

// GetManyForUpdate implements kv.Txn.
func (t *modelTxn) GetManyForUpdate(keys [][]byte) ([][]byte, error) {
	return kv.GetEach(keys, t.GetForUpdate)
}

// Read implements kv.Snapshot.
func (t *modelTxn) Read(r kv.Reads) (kv.Found, error) { return kv.ReadEach(t, r) }

// Put implements kv.Txn.
func (t *modelTxn) Put(key, value []byte) error {
	if len(value) > t.m.limits.Value {
		return dberr.New(dberr.TooLarge, "", "The value has %d bytes; %d are allowed.", len(value), t.m.limits.Value)
	}
	if err := t.write(key, len(value)); err != nil {
		return err
	}
	r, _ := t.rows.get(string(key))
	if r.puts == 0 || r.txn != t.run {
		r.puts++
	}
	r.key, r.value, r.txn = string(key), append([]byte{}, value...), t.run
	t.rows = t.rows.with(r)
	return nil
}

// Delete implements kv.Txn.
func (t *modelTxn) Delete(key []byte) error {
	if err := t.write(key, 0); err != nil {
		return err
	}
	end := string(key) + "\x00"
	t.rows = t.rows.without(string(key), &end)
	return nil
}

// DeleteOnce implements kv.Txn.
func (t *modelTxn) DeleteOnce(key []byte) error {
	t.take()
	if r, _ := t.rows.get(string(key)); r.puts != 1 {
		return dberr.New(dberr.Internal, "", "key %q is deleted once, but was put %d times", key, r.puts)
	}
	return t.Delete(key)
}

// write notes a write of key with a value of size bytes and checks the limits.
// The bytes of a key written again count again: the smallest limit may.
func (t *modelTxn) write(key []byte, size int) error {
	if err := t.check(); err != nil {
		return err
	}
	switch limit := t.m.limits.Key; {
	case len(key) == 0:
		return dberr.New(dberr.Internal, "", "an empty key was written")
	case len(key) > limit:
		return dberr.New(dberr.TooLarge, "", "The key has %d bytes; %d are allowed.", len(key), limit)
	}
	if t.bytes += len(key) + size; t.bytes > t.m.limits.Txn {
		return dberr.New(dberr.TooLarge, "", "The transaction writes more than %d bytes.", t.m.limits.Txn)
	}
	t.written[string(key)] = true
	return nil
}

// modelIterator looks each move up in the tree anew.
type modelIterator struct {
	s         *modelSnapshot
	rows      *tree
	start     string
	end       *string
	reverse   bool
	begun, on bool
	cur       row
	err       error
}

// Next implements kv.Iterator.
func (it *modelIterator) Next() bool {
	switch {
	case it.begun && !it.on:
		return false
	case it.begun && it.reverse:
		return it.move(it.rows.before(&it.cur.key))
	case it.begun:
		return it.move(it.rows.ceil(it.cur.key + "\x00"))
	case it.reverse:
		return it.move(it.rows.before(it.end))
	}
	return it.move(it.rows.ceil(it.start))
}

// Seek implements kv.Iterator.
func (it *modelIterator) Seek(key []byte) bool {
	if !it.reverse {
		return it.move(it.rows.ceil(max(it.start, string(key))))
	}
	after := string(key) + "\x00"
	if it.end != nil {
		after = min(after, *it.end)
	}
	return it.move(it.rows.before(&after))
}

// move makes r the current row if there is one within the range.
func (it *modelIterator) move(r row, ok bool) bool {
	it.begun, it.on = true, false
	if it.err == nil {
		it.err = it.s.check()
	}
	if it.err != nil || !ok || r.key < it.start || it.end != nil && r.key >= *it.end {
		return false
	}
	it.cur, it.on = r, true
	return true
}

// Key implements kv.Iterator.
func (it *modelIterator) Key() []byte { return []byte(it.cur.key) }

// Value implements kv.Iterator.
func (it *modelIterator) Value() ([]byte, error) { return append([]byte{}, it.cur.value...), nil }

// Borrow implements kv.Iterator.
func (it *modelIterator) Borrow() ([]byte, error) { return []byte(it.cur.value), nil }

// Err implements kv.Iterator.
func (it *modelIterator) Err() error { return it.err }

// Close implements kv.Iterator.
func (it *modelIterator) Close() error { return nil }
