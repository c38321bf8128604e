package pebblekv

import (
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// txn is one run of an Update closure: the state it began with, its writes, and
// the hashes of the keys its commit depends on.
type txn struct {
	snapshot
	e      *Engine
	own    overlay
	locked []uint64        // keys read for update
	there  map[uint64]bool // those of them that exist
}

var _ kv.Txn = (*txn)(nil)

// Get implements kv.Snapshot.
func (t *txn) Get(key []byte) ([]byte, error) {
	value, exists, written := t.own.get(key)
	if !written {
		return t.snapshot.Get(key)
	}
	if err := t.age.check(); err != nil {
		return nil, err
	}
	if !exists {
		return nil, kv.ErrNotFound
	}
	return append([]byte{}, value...), nil
}

// GetForUpdate implements kv.Txn.
func (t *txn) GetForUpdate(key []byte) ([]byte, error) {
	hash := hashOf(key)
	t.locked = append(t.locked, hash)
	if _, _, written := t.own.get(key); written {
		return t.Get(key)
	}
	value, ok := t.e.commit.hot.get(key, t.state.n)
	if ok {
		if err := t.age.check(); err != nil {
			return nil, err
		}
		value = append([]byte{}, value...)
	} else {
		var err error
		if value, err = t.snapshot.Get(key); err != nil {
			return nil, err
		}
	}
	if t.there == nil {
		t.there = make(map[uint64]bool)
	}
	t.there[hash] = true
	return value, nil
}

// end releases what the transaction reads from.
func (t *txn) end() { t.e.states.end(t.state) }

// Iterate implements kv.Snapshot.
func (t *txn) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	base, err := t.iterate(r, o)
	if err != nil {
		return nil, err
	}
	return newMerged(base, &t.own, r, o.Reverse), nil
}

// Put implements kv.Txn.
func (t *txn) Put(key, value []byte) error {
	if len(value) > t.e.limits.Value {
		return dberr.New(dberr.TooLarge, "", "The value has %d bytes; %d are allowed.", len(value), t.e.limits.Value)
	}
	return t.write(key, func() { t.own.put(key, value) })
}

// Delete implements kv.Txn.
func (t *txn) Delete(key []byte) error {
	return t.write(key, func() { t.own.delete(key) })
}

// DeleteOnce implements kv.Txn.
func (t *txn) DeleteOnce(key []byte) error {
	return t.write(key, func() { t.own.deleteOnce(key) })
}

// write checks the key, applies a write to the overlay and checks its size.
func (t *txn) write(key []byte, apply func()) error {
	switch limit := t.e.limits.Key; {
	case len(key) == 0:
		return dberr.New(dberr.Internal, "", "an empty key was written")
	case len(key) > limit:
		return dberr.New(dberr.TooLarge, "", "The key has %d bytes; %d are allowed.", len(key), limit)
	}
	if err := t.age.check(); err != nil {
		return err
	}
	apply()
	if limit := t.e.limits.Txn; t.own.bytes > limit {
		return dberr.New(dberr.TooLarge, "", "The transaction writes more than %d bytes.", limit)
	}
	return nil
}

// keys returns the hashes of the keys written.
func (t *txn) keys() []uint64 {
	out := make([]uint64, len(t.own.entries))
	for i := range t.own.entries {
		out[i] = t.own.entries[i].hash
	}
	return out
}
