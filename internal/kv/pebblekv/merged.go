package pebblekv

import (
	"bytes"
	"sort"

	"github.com/sectional/sectional/internal/kv"
)

// merged walks a state overlaid with the writes that the transaction had made
// when the walk began.
//
// Both sides are kept on their next key in the direction of travel; the nearer
// one is current. On equal keys the overlay wins and both move on.
type merged struct {
	base    *iterator
	entries []entry // own writes in the range, in the order of travel

	baseOK  bool // base is on a key
	next    int  // where it is in entries
	started bool
	onOwn   bool // the current key is the overlay's
	onBase  bool // base is on the current key
}

var _ kv.Iterator = (*merged)(nil)

// newMerged takes over base. The entries are copied, so that later writes of
// the transaction do not move what is being walked.
func newMerged(base *iterator, own *overlay, r kv.Range, reverse bool) kv.Iterator {
	entries := own.within(r)
	if len(entries) == 0 {
		return base
	}
	if reverse {
		for i, j := 0, len(entries)-1; i < j; i, j = i+1, j-1 {
			entries[i], entries[j] = entries[j], entries[i]
		}
	}
	return &merged{base: base, entries: entries}
}

// within returns copies of the entries with keys in r, in ascending order.
func (o *overlay) within(r kv.Range) []entry {
	order := o.order()
	from := sort.Search(len(order), func(i int) bool { return bytes.Compare(o.entries[order[i]].key, r.Start) >= 0 })
	to := len(order)
	if r.End != nil {
		to = sort.Search(len(order), func(i int) bool { return bytes.Compare(o.entries[order[i]].key, r.End) >= 0 })
	}
	if from >= to {
		return nil
	}
	out := make([]entry, 0, to-from)
	for _, i := range order[from:to] {
		out = append(out, o.entries[i])
	}
	return out
}

// Next implements kv.Iterator.
func (m *merged) Next() bool {
	switch {
	case !m.started:
		m.started = true
		m.baseOK = m.base.Next()
	case m.base.err != nil || !m.onOwn && !m.onBase:
		return false
	default:
		m.leave()
	}
	return m.settle()
}

// leave moves both sides off the current key.
func (m *merged) leave() {
	if m.onOwn {
		m.next++
	}
	if m.onBase {
		m.baseOK = m.base.Next()
	}
}

// Seek implements kv.Iterator.
func (m *merged) Seek(key []byte) bool {
	m.started = true
	m.baseOK = m.base.Seek(key)
	m.next = sort.Search(len(m.entries), func(i int) bool {
		if m.base.reverse {
			return bytes.Compare(m.entries[i].key, key) <= 0
		}
		return bytes.Compare(m.entries[i].key, key) >= 0
	})
	return m.settle()
}

// settle finds the current key among the two sides and skips rows that the
// transaction deleted.
func (m *merged) settle() bool {
	for {
		m.onOwn, m.onBase = false, false
		if m.base.Err() != nil {
			return false
		}
		order := m.compare()
		m.onOwn, m.onBase = order <= 0 && m.next < len(m.entries), order >= 0 && m.baseOK
		if !m.onOwn {
			return m.onBase
		}
		if m.entries[m.next].put {
			return true
		}
		m.leave()
	}
}

// compare says which side comes first in the direction of travel: negative for
// the overlay, positive for the state, zero for both or neither.
func (m *merged) compare() int {
	own, base := m.next < len(m.entries), m.baseOK
	switch {
	case !own && !base:
		return 0
	case !base:
		return -1
	case !own:
		return 1
	}
	c := bytes.Compare(m.entries[m.next].key, m.base.Key())
	if m.base.reverse {
		c = -c
	}
	return c
}

// Key implements kv.Iterator.
func (m *merged) Key() []byte {
	if m.onOwn {
		return m.entries[m.next].key
	}
	return m.base.Key()
}

// Value implements kv.Iterator.
func (m *merged) Value() ([]byte, error) {
	if m.onOwn {
		return append([]byte{}, m.entries[m.next].value...), nil
	}
	return m.base.Value()
}

// Borrow implements kv.Iterator.
func (m *merged) Borrow() ([]byte, error) {
	if m.onOwn {
		return m.entries[m.next].value, nil
	}
	return m.base.Borrow()
}

// Err implements kv.Iterator.
func (m *merged) Err() error { return m.base.Err() }

// Close implements kv.Iterator.
func (m *merged) Close() error { return m.base.Close() }
