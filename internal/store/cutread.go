package store

import (
	"bytes"

	"github.com/sectional/sectional/internal/kv"
)

// wholeSnapshot is a snapshot in which cut rows are whole.
type wholeSnapshot struct {
	s kv.Snapshot
	// txn is told of each cut row that is read; nil: nobody is.
	txn *wholeTxn
}

// versionedSnapshot is one of an engine that numbers its states.
type versionedSnapshot struct {
	wholeSnapshot
	kv.Versioned
}

// entries returns the snapshot, or transaction, in which rows are as they are stored.
func entries(v kv.Snapshot) kv.Snapshot {
	switch v := v.(type) {
	case *wholeSnapshot:
		return v.s
	case *versionedSnapshot:
		return v.s
	case *wholeTxn:
		return v.s
	}
	return v
}

// whole returns the value of a row that is stored with a value.
func (s *wholeSnapshot) whole(key, value []byte) ([]byte, error) {
	if !isCut(key, value) {
		return value, nil
	}
	c, err := decodeCut(value)
	if err != nil {
		return nil, err
	}
	if s.txn != nil {
		s.txn.meet(key, c)
	}
	pieces, err := s.s.GetMany(c.keys(key))
	if err != nil {
		return nil, err
	}
	return c.join(pieces)
}

// wholeAll is whole for several rows, in place; those that are absent stay so.
func (s *wholeSnapshot) wholeAll(keys, values [][]byte) (err error) {
	for i := 0; i < len(values) && err == nil; i++ {
		values[i], err = s.whole(keys[i], values[i])
	}
	return err
}

// Get implements kv.Snapshot.
func (s *wholeSnapshot) Get(key []byte) ([]byte, error) {
	value, err := s.s.Get(key)
	if err != nil {
		return nil, err
	}
	return s.whole(key, value)
}

// GetMany implements kv.Snapshot.
func (s *wholeSnapshot) GetMany(keys [][]byte) ([][]byte, error) {
	values, err := s.s.GetMany(keys)
	if err == nil {
		err = s.wholeAll(keys, values)
	}
	return values, err
}

// Iterate implements kv.Snapshot.
func (s *wholeSnapshot) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	it, err := s.s.Iterate(r, o)
	if err != nil {
		return nil, err
	}
	return &wholeIterator{it, s}, nil
}

// Read implements kv.Snapshot.
func (s *wholeSnapshot) Read(r kv.Reads) (kv.Found, error) {
	f, err := s.s.Read(r)
	if err != nil {
		return f, err
	}
	for i, it := range f.Walks {
		f.Walks[i] = &wholeIterator{it, s}
	}
	if err = s.wholeAll(r.Keys, f.Values); err == nil {
		err = s.wholeAll(r.ForUpdate, f.ForUpdate)
	}
	if err != nil {
		f.Close()
	}
	return f, err
}

// wholeIterator gives cut rows whole.
type wholeIterator struct {
	kv.Iterator
	s *wholeSnapshot
}

// Value implements kv.Iterator.
func (it *wholeIterator) Value() ([]byte, error) {
	value, err := it.Iterator.Value()
	if err != nil || !isCut(it.Key(), value) {
		return value, err
	}
	return it.s.whole(bytes.Clone(it.Key()), value)
}

// Borrow implements kv.Iterator.
func (it *wholeIterator) Borrow() ([]byte, error) {
	value, err := it.Iterator.Borrow()
	if err != nil || !isCut(it.Key(), value) {
		return value, err
	}
	return it.s.whole(bytes.Clone(it.Key()), value)
}
