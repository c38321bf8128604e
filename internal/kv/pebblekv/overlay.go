package pebblekv

import (
	"bytes"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// overlay holds a transaction's own writes: the last state of each key, and
// what has to be done to the stored row before a new one is put.
//
// A key's writes are folded into one entry because Pebble's single deletes
// remove exactly one put: a key put twice in one batch, or put over a stored
// row that the transaction had deleted, would come back when it is deleted
// once. An entry therefore says how the stored row goes (base) and what is put
// after that.
type overlay struct {
	entries []entry
	byHash  map[uint64]int // of a key: the index of the last entry with that hash
	sorted  []int          // indexes of entries in the order of keys; lags behind
	bytes   int            // keys and values, as Limits.Txn counts them
	room    room           // holds copies of keys and values
}

type entry struct {
	key, value []byte
	hash       uint64 // of the key
	other      int    // the index of another entry with that hash, -1 for none
	put        bool   // the key exists after this transaction
	base       base
}

// base says how the stored row of a key is removed.
type base uint8

const (
	baseKept    base = iota // not at all: a put replaces it
	baseDeleted             // by a tombstone
	baseOnce                // by a single delete
)

// find returns the index of key's entry, -1 for none.
func (o *overlay) find(key []byte, hash uint64) int {
	i, ok := o.byHash[hash]
	if !ok {
		return -1
	}
	for ; i >= 0 && !bytes.Equal(o.entries[i].key, key); i = o.entries[i].other {
	}
	return i
}

// entry returns the entry of key, with a new one if there is none; known says
// whether there was.
func (o *overlay) entry(key []byte) (e *entry, known bool) {
	hash := hashOf(key)
	if i := o.find(key, hash); i >= 0 {
		return &o.entries[i], true
	}
	if o.byHash == nil {
		o.byHash = make(map[uint64]int)
	}
	other, ok := o.byHash[hash]
	if !ok {
		other = -1
	}
	o.byHash[hash] = len(o.entries)
	o.entries = append(o.entries, entry{key: o.room.keep(key), hash: hash, other: other})
	o.bytes += len(key)
	return &o.entries[len(o.entries)-1], false
}

// get returns the value that the transaction put under key; written reports
// whether it wrote key at all, exists whether the key is there after that.
func (o *overlay) get(key []byte) (value []byte, exists, written bool) {
	i := o.find(key, hashOf(key))
	if i < 0 {
		return nil, false, false
	}
	e := &o.entries[i]
	return e.value, e.put, true
}

func (o *overlay) put(key, value []byte) {
	e, _ := o.entry(key)
	o.bytes += len(value) - len(e.value)
	e.value = o.room.keep(value)
	e.put = true
}

func (o *overlay) delete(key []byte) {
	e, _ := o.entry(key)
	o.clear(e)
	e.base = baseDeleted
}

func (o *overlay) deleteOnce(key []byte) {
	e, known := o.entry(key)
	if !known {
		e.base = baseOnce
	}
	// Else the one put was this transaction's own, which is taken back and
	// leaves the stored row to what was decided about it before.
	o.clear(e)
}

func (o *overlay) clear(e *entry) {
	o.bytes -= len(e.value)
	e.value, e.put = nil, false
}

// order returns the indexes of all entries in the order of their keys. The slice
// is replaced, not changed, when keys are added.
func (o *overlay) order() []int {
	old := len(o.sorted)
	if old == len(o.entries) {
		return o.sorted
	}
	byKey := func(a, b int) int { return bytes.Compare(o.entries[a].key, o.entries[b].key) }
	fresh := make([]int, 0, len(o.entries)-old)
	for i := old; i < len(o.entries); i++ {
		fresh = append(fresh, i)
	}
	slices.SortFunc(fresh, byKey)
	o.sorted = mergeSorted(o.sorted, fresh, byKey)
	return o.sorted
}

// mergeSorted merges two sorted slices without common elements into a new one.
func mergeSorted(a, b []int, compare func(a, b int) int) []int {
	if len(a) == 0 {
		return b
	}
	out := make([]int, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if compare(a[0], b[0]) < 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// appendTo adds the writes to batch.
func (o *overlay) appendTo(batch *pebble.Batch) error {
	for i := range o.entries {
		if err := o.entries[i].appendTo(batch); err != nil {
			return err
		}
	}
	return nil
}

func (e *entry) appendTo(batch *pebble.Batch) (err error) {
	key := e.key
	switch e.base {
	case baseDeleted:
		err = batch.Delete(key, nil)
	case baseOnce:
		err = batch.SingleDelete(key, nil)
	}
	if err == nil && e.put {
		err = batch.Set(key, e.value, nil)
	}
	return err
}
