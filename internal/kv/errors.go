package kv

import (
	"errors"

	"github.com/sectional/sectional/internal/dberr"
)

// ErrNotFound is what reads of an absent key return.
var ErrNotFound error = dberr.New(dberr.NotFound, "", "no such key")

// ErrStopped is among the causes of errors of an engine that was closed, or that a failure
// stopped for good: asking again is in vain.
var ErrStopped = errors.New("the storage engine takes no calls any more")

// ErrAway is among the causes of errors of an engine that can't be reached, or does not serve, and may come back.
var ErrAway = errors.New("the storage engine is away")

// PrefixEnd returns the smallest key greater than every key that begins with
// prefix, nil if there is none. It does not change prefix.
func PrefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return end
		}
	}
	return nil
}

// Prefix is the range of all keys that begin with prefix.
func Prefix(prefix []byte) Range { return Range{Start: prefix, End: PrefixEnd(prefix)} }

// Each calls fn with every row of r in order, until fn returns an error, which
// Each returns. fn owns the value; the key is the iterator's.
func Each(s Snapshot, r Range, fn func(key, value []byte) error) error {
	it, err := s.Iterate(r, IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Next() {
		value, err := it.Value()
		if err != nil {
			return err
		}
		if err := fn(it.Key(), value); err != nil {
			return err
		}
	}
	return it.Err()
}

// GetEach is GetMany for those that gain nothing by it: get is called for one key
// after the other.
func GetEach(keys [][]byte, get func(key []byte) ([]byte, error)) ([][]byte, error) {
	values := make([][]byte, len(keys))
	for i, key := range keys {
		var err error
		if values[i], err = get(key); err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
	}
	return values, nil
}
