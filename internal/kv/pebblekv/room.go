package pebblekv

import "bytes"

// room holds copies of many small byte strings in few pieces of memory. What is in
// it stays as it is.
type room []byte

// Pieces are made larger and larger, up to roomBytes; what is larger than a part of
// that has its own.
const (
	firstRoom = 1 << 10
	roomBytes = 64 << 10
)

// keep copies b; the copy is not nil.
func (r *room) keep(b []byte) []byte {
	if len(b) > roomBytes/8 {
		return bytes.Clone(b)
	}
	if *r == nil || cap(*r)-len(*r) < len(b) {
		*r = make([]byte, 0, max(len(b), min(max(firstRoom, 4*cap(*r)), roomBytes)))
	}
	at := len(*r)
	*r = append(*r, b...)
	return (*r)[at:len(*r):len(*r)]
}
