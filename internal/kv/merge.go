package kv

import (
	"bytes"
	"slices"
	"sort"
)

// Written is one key as a transaction has left it: put, or deleted.
type Written struct {
	Key, Value []byte
	Put        bool
}

// Merge returns an iterator over the rows of base overlaid with what a transaction has
// written. own are its writes in the range of base, in ascending order of their keys, and
// become the iterator's; reverse is the direction of base, which it takes over.
func Merge(base Iterator, own []Written, reverse bool) Iterator {
	if len(own) == 0 {
		return base
	}
	if reverse {
		slices.Reverse(own)
	}
	return &merged{base: base, own: own, reverse: reverse}
}

// merged walks rows overlaid with the writes that a transaction had made when the
// walk began.
//
// Both sides are kept on their next key in the direction of travel; the nearer
// one is current. On equal keys the writes win and both move on.
type merged struct {
	base    Iterator
	own     []Written // in the order of travel
	reverse bool

	baseOK  bool // base is on a key
	next    int  // where it is in own
	started bool
	onOwn   bool // the current key is one of own
	onBase  bool // base is on the current key
}

// Next implements Iterator.
func (m *merged) Next() bool {
	switch {
	case !m.started:
		m.started = true
		m.baseOK = m.base.Next()
	case !m.onOwn && !m.onBase:
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

// Seek implements Iterator.
func (m *merged) Seek(key []byte) bool {
	m.started = true
	m.baseOK = m.base.Seek(key)
	m.next = sort.Search(len(m.own), func(i int) bool {
		if m.reverse {
			return bytes.Compare(m.own[i].Key, key) <= 0
		}
		return bytes.Compare(m.own[i].Key, key) >= 0
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
		m.onOwn, m.onBase = order <= 0 && m.next < len(m.own), order >= 0 && m.baseOK
		if !m.onOwn {
			return m.onBase
		}
		if m.own[m.next].Put {
			return true
		}
		m.leave()
	}
}

// compare says which side comes first in the direction of travel: negative for
// the writes, positive for the rows, zero for both or neither.
func (m *merged) compare() int {
	own, base := m.next < len(m.own), m.baseOK
	switch {
	case !own && !base:
		return 0
	case !base:
		return -1
	case !own:
		return 1
	}
	c := bytes.Compare(m.own[m.next].Key, m.base.Key())
	if m.reverse {
		c = -c
	}
	return c
}

// Key implements Iterator.
func (m *merged) Key() []byte {
	if m.onOwn {
		return m.own[m.next].Key
	}
	return m.base.Key()
}

// Value implements Iterator.
func (m *merged) Value() ([]byte, error) {
	if m.onOwn {
		return append([]byte{}, m.own[m.next].Value...), nil
	}
	return m.base.Value()
}

// Borrow implements Iterator.
func (m *merged) Borrow() ([]byte, error) {
	if m.onOwn {
		return m.own[m.next].Value, nil
	}
	return m.base.Borrow()
}

// Err implements Iterator.
func (m *merged) Err() error { return m.base.Err() }

// Close implements Iterator.
func (m *merged) Close() error { return m.base.Close() }
