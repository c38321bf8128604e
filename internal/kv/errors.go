package kv

import "github.com/sectional/sectional/internal/dberr"

// ErrNotFound is what reads of an absent key return.
var ErrNotFound error = dberr.New(dberr.NotFound, "", "no such key")

// PrefixEnd gives the smallest key greater than every key that begins with
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
