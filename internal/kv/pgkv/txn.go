package pgkv

import (
	"bytes"
	"errors"
	"slices"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// txn is one run of an Update closure: its snapshot, its writes, and the keys that its
// commit depends on. longKeys is above it, and holds keys and values to their limits.
type txn struct {
	reader
	own    map[string]*kv.Written
	bytes  int             // keys and values of own, as Limits.Txn counts them
	known  map[string]bool // keys that were read: whether the snapshot has them
	locked map[string]bool // keys that were read for update
}

var _ kv.Txn = (*txn)(nil)

// written returns a copy of what the transaction put under key, nil for nothing,
// and reports whether it wrote the key.
func (t *txn) written(key []byte) (value []byte, ok bool) {
	w := t.own[string(key)]
	if w == nil || !w.Put {
		return nil, w != nil
	}
	return append([]byte{}, w.Value...), true
}

// Get implements kv.Snapshot.
func (t *txn) Get(key []byte) ([]byte, error) { return t.get(key, false) }

func (t *txn) get(key []byte, locked bool) ([]byte, error) {
	value, ok := t.written(key)
	err := t.check()
	if !ok && err == nil {
		value, err = t.reader.Get(key)
	}
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	t.note(key, value != nil, locked)
	if value == nil {
		return nil, kv.ErrNotFound
	}
	return value, nil
}

// note remembers whether the snapshot has key, and that the commit depends on it if it
// does. What the transaction has written itself tells nothing of the snapshot.
func (t *txn) note(key []byte, there, locked bool) {
	if t.own[string(key)] == nil {
		if t.known == nil {
			t.known = make(map[string]bool)
		}
		t.known[string(key)] = there
	}
	if locked {
		if t.locked == nil {
			t.locked = make(map[string]bool)
		}
		t.locked[string(key)] = true
	}
}

// GetForUpdate implements kv.Txn.
func (t *txn) GetForUpdate(key []byte) ([]byte, error) { return t.get(key, true) }

// GetMany implements kv.Snapshot.
func (t *txn) GetMany(keys [][]byte) ([][]byte, error) {
	values, _, err := t.read(keys, len(keys), nil)
	return values, err
}

// GetManyForUpdate implements kv.Txn.
func (t *txn) GetManyForUpdate(keys [][]byte) ([][]byte, error) {
	values, _, err := t.read(keys, 0, nil)
	return values, err
}

// Read implements kv.Snapshot.
func (t *txn) Read(r kv.Reads) (kv.Found, error) {
	plain := len(r.Keys)
	values, walks, err := t.read(slices.Concat(r.Keys, r.ForUpdate), plain, r.Walks)
	if err != nil {
		return kv.Found{}, err
	}
	f := kv.Found{Values: values[:plain:plain], ForUpdate: values[plain:]}
	for i, it := range walks {
		f.Walks = append(f.Walks, kv.Merge(it, t.within(r.Walks[i].Range), r.Walks[i].Reverse))
	}
	return f, nil
}

// read reads keys, all but the first plain of them for update, and the first pages of walks,
// of which it leaves out what the transaction has written.
func (t *txn) read(keys [][]byte, plain int, walks []kv.Walk) ([][]byte, []*iterator, error) {
	values := make([][]byte, len(keys))
	var missing [][]byte
	var at []int
	for i, key := range keys {
		var ok bool
		if values[i], ok = t.written(key); !ok {
			missing, at = append(missing, key), append(at, i)
		}
	}
	stored, its, err := t.together(missing, walks)
	if err != nil {
		return nil, nil, err
	}
	for i, value := range stored {
		values[at[i]] = value
	}
	for i, key := range keys {
		t.note(key, values[i] != nil, i >= plain)
	}
	return values, its, nil
}

// Iterate implements kv.Snapshot.
func (t *txn) Iterate(r kv.Range, o kv.IterOptions) (kv.Iterator, error) {
	base, err := t.reader.Iterate(r, o)
	if err != nil {
		return nil, err
	}
	return kv.Merge(base, t.within(r), o.Reverse), nil
}

// within returns copies of the writes of keys in r, in ascending order.
func (t *txn) within(r kv.Range) (out []kv.Written) {
	for _, w := range t.own {
		if r.Contains(w.Key) {
			out = append(out, *w)
		}
	}
	slices.SortFunc(out, func(a, b kv.Written) int { return bytes.Compare(a.Key, b.Key) })
	return out
}

// Put implements kv.Txn.
func (t *txn) Put(key, value []byte) error {
	return t.write(key, kv.Written{Value: append([]byte{}, value...), Put: true})
}

// Delete implements kv.Txn.
func (t *txn) Delete(key []byte) error { return t.write(key, kv.Written{}) }

// DeleteOnce implements kv.Txn.
func (t *txn) DeleteOnce(key []byte) error { return t.Delete(key) }

// write notes a write and checks the limits.
func (t *txn) write(key []byte, now kv.Written) error {
	if len(key) == 0 {
		return dberr.New(dberr.Internal, "", "an empty key was written")
	}
	if err := t.check(); err != nil {
		return err
	}
	before := t.own[string(key)]
	if before == nil {
		if t.own == nil {
			t.own = make(map[string]*kv.Written)
		}
		before = &kv.Written{Key: bytes.Clone(key)}
		t.own[string(key)] = before
		t.bytes += len(key)
	}
	t.bytes += len(now.Value) - len(before.Value)
	before.Value, before.Put = now.Value, now.Put
	if t.bytes > maxTxn {
		return dberr.New(dberr.TooLarge, "", "The transaction writes more than %d bytes.", maxTxn)
	}
	return nil
}
