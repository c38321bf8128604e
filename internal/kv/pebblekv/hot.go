package pebblekv

import (
	"bytes"
	"sync"
)

// hot remembers rows that commits read for update and wrote: the counters and
// queues that every commit of a database moves, and documents that change again
// and again. The next commit reads them for update too, while they lie in
// memtables and many young tables, where a search costs most.
//
// An entry is always the last write of its key, for whoever writes the key in a
// commit replaces or drops it. It is the key's value in a state if its commit is
// not after that state.
type hot struct {
	sync.Mutex
	rows map[string]hotRow
}

type hotRow struct {
	value []byte // never changed
	n     uint64 // the commit that wrote it
}

// Bounds of what is remembered, 4 MB at worst. When there are too many rows all
// are dropped: those that matter are back with the next commit.
const (
	maxHotRows  = 4096
	maxHotBytes = 1 << 10 // key and value of one
)

// get returns the value of key in the state that commit n left, if it is
// remembered. The caller must not change it.
func (h *hot) get(key []byte, n uint64) (value []byte, ok bool) {
	h.Lock()
	row, ok := h.rows[string(key)]
	h.Unlock()
	if !ok || row.n > n {
		return nil, false
	}
	return row.value, true
}

// wrote takes over what commit n wrote; hashes are those of its keys. It is
// called with the commit mutex held, before a transaction can begin on what the
// commit left. Two keys of one hash make it remember a row too many.
func (h *hot) wrote(t *txn, n uint64, hashes []uint64) {
	h.Lock()
	defer h.Unlock()
	for i := range t.own.entries {
		e := &t.own.entries[i]
		_, known := h.rows[string(e.key)]
		if !known && !t.there[hashes[i]] {
			continue
		}
		if !e.put || len(e.key)+len(e.value) > maxHotBytes {
			delete(h.rows, string(e.key))
			continue
		}
		if !known && len(h.rows) >= maxHotRows {
			clear(h.rows)
		}
		h.rows[string(e.key)] = hotRow{value: bytes.Clone(e.value), n: n} // a transaction's own is a part of much else
	}
}

// forget drops everything.
func (h *hot) forget() {
	h.Lock()
	defer h.Unlock()
	clear(h.rows)
}
