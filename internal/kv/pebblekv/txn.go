package pebblekv

import (
	"slices"

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

// GetMany implements kv.Snapshot.
func (t *txn) GetMany(keys [][]byte) ([][]byte, error) {
	values := make([][]byte, len(keys))
	stored := slices.DeleteFunc(all(len(keys)), func(i int) bool {
		value, written := t.written(keys[i])
		values[i] = value
		return written
	})
	return values, t.fill(values, keys, stored)
}

// written returns a copy of what the transaction put under key, nil for nothing,
// and reports whether it wrote the key.
func (t *txn) written(key []byte) (value []byte, ok bool) {
	value, exists, ok := t.own.get(key)
	if !exists {
		return nil, ok
	}
	return append([]byte{}, value...), ok
}

// GetForUpdate implements kv.Txn.
func (t *txn) GetForUpdate(key []byte) ([]byte, error) {
	hash := hashOf(key)
	t.locked = append(t.locked, hash)
	if _, _, written := t.own.get(key); written {
		return t.Get(key)
	}
	value := t.remembered(key)
	if value != nil {
		if err := t.age.check(); err != nil {
			return nil, err
		}
	} else {
		var err error
		if value, err = t.snapshot.Get(key); err != nil {
			return nil, err
		}
	}
	t.exists(hash)
	return value, nil
}

// remembered returns a copy of key's value as an earlier commit left it, nil if it
// is not remembered.
func (t *txn) remembered(key []byte) []byte {
	value, ok := t.e.commit.hot.get(key, t.state.n)
	if !ok {
		return nil
	}
	return append([]byte{}, value...)
}

// exists notes that a key read for update is there.
func (t *txn) exists(hash uint64) {
	if t.there == nil {
		t.there = make(map[uint64]bool)
	}
	t.there[hash] = true
}

// GetManyForUpdate implements kv.Txn.
func (t *txn) GetManyForUpdate(keys [][]byte) ([][]byte, error) {
	values := make([][]byte, len(keys))
	first := len(t.locked)
	for _, key := range keys {
		t.locked = append(t.locked, hashOf(key))
	}
	hashes := t.locked[first:]
	stored := slices.DeleteFunc(all(len(keys)), func(i int) (known bool) {
		if values[i], known = t.written(keys[i]); !known {
			values[i] = t.remembered(keys[i])
		}
		return known || values[i] != nil
	})
	err := t.fill(values, keys, stored)
	for i, hash := range hashes {
		if values[i] != nil {
			t.exists(hash)
		}
	}
	return values, err
}

// end releases what the transaction reads from.
func (t *txn) end() { t.e.states.end(t.state) }

// Iterate implements kv.Snapshot.
func (t *txn) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	base, err := t.iterate(r, o)
	if err != nil {
		return nil, err
	}
	return kv.Merge(base, t.own.within(r), o.Reverse), nil
}

// Read implements kv.Snapshot.
func (t *txn) Read(r kv.Reads) (kv.Found, error) { return kv.ReadEach(t, r) }

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
