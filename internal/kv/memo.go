package kv

import "sync/atomic"

// Memo remembers what was made of the rows of one state of a store, for readers
// that come again before anything is written. It is used for snapshots of one
// engine, by any number of goroutines; the zero value is empty.
type Memo[T any] struct {
	at atomic.Pointer[memoized[T]]
}

type memoized[T any] struct {
	version uint64
	value   T
}

// Get returns what make makes of s: what it made before, if that was of the same
// state. The value is shared and must not be changed. Errors are make's, and are
// not remembered.
func (m *Memo[T]) Get(s Snapshot, make func() (T, error)) (T, error) {
	if a, ok := s.(*Ahead); ok {
		s = a.Snapshot
	}
	v, ok := s.(Versioned)
	if !ok {
		return make()
	}
	version := v.Version()
	if known := m.at.Load(); known != nil && known.version == version {
		return known.value, nil
	}
	value, err := make()
	if err == nil {
		m.at.Store(&memoized[T]{version, value})
	}
	return value, err
}
