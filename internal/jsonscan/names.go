package jsonscan

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
)

const (
	// usualNames is how many names there is room for at once.
	usualNames = 32
	// indexNamesFrom is the number of members above which an object's names are
	// looked up in a map.
	indexNamesFrom = 48
)

// nameSet finds duplicate names in one object. The names of the open objects
// lie on one stack (scanner.names). For the few names of an ordinary object it
// compares fingerprints one by one, and only when a filter of 64 bits has no
// answer; the names of larger objects go into a map by a hash with a random
// seed, so that nobody gains by sending names that collide.
type nameSet struct {
	base   int // where the object's names begin
	filter uint64
	hashes map[uint64]struct{}
	seed   maphash.Seed // of many
}

// nameRef is the fingerprint of a name and where its text is: at a place in
// src, or, when it was rewritten, at place -start-1 in odd. It has no pointers,
// so that the stack of names costs the garbage collector nothing.
type nameRef struct {
	print  uint64
	start  int32
	length int32
}

func (s *scanner) text(r nameRef) []byte {
	if r.start < 0 {
		return s.odd[-r.start-1:][:r.length]
	}
	return s.src[r.start:][:r.length]
}

func (s *scanner) openNames() nameSet { return nameSet{base: len(s.names)} }

func (s *scanner) closeNames(n *nameSet) { s.names = s.names[:n.base] }

// addName reports whether text, which lies at start, is new in its object.
func (s *scanner) addName(n *nameSet, text []byte, start int) bool {
	r := nameRef{print: fingerprint(text), start: int32(start), length: int32(len(text))}
	switch bit := uint64(1) << (r.print >> 58); {
	case n.hashes != nil:
		if !s.isNewOfMany(n, text) {
			return false
		}
	case n.filter&bit == 0:
		n.filter |= bit
	case !s.isNew(n, r, text):
		return false
	}
	s.names = append(s.names, r)
	if n.hashes == nil && len(s.names)-n.base == indexNamesFrom {
		s.toMany(n)
	}
	return true
}

func (s *scanner) isNew(n *nameSet, name nameRef, text []byte) bool {
	for _, r := range s.names[n.base:] {
		if r.print == name.print && r.length == name.length && bytes.Equal(s.text(r), text) {
			return false
		}
	}
	return true
}

// toMany puts the names of an object into a map.
func (s *scanner) toMany(n *nameSet) {
	n.seed = maphash.MakeSeed()
	n.hashes = make(map[uint64]struct{}, 4*indexNamesFrom)
	for _, r := range s.names[n.base:] {
		n.hashes[maphash.Bytes(n.seed, s.text(r))] = struct{}{}
	}
}

func (s *scanner) isNewOfMany(n *nameSet, text []byte) bool {
	hash := maphash.Bytes(n.seed, text)
	if _, ok := n.hashes[hash]; ok {
		// Two names with one hash are one name, or a wonder.
		return s.isNew(n, nameRef{print: fingerprint(text), length: int32(len(text))}, text)
	}
	n.hashes[hash] = struct{}{}
	return true
}

// fingerprint mixes the length, the first and the last eight bytes of a name.
func fingerprint(text []byte) uint64 {
	const k1, k2 = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93
	n := len(text)
	switch {
	case n >= 8:
		first, last := binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[n-8:])
		return (first*k1 ^ last ^ uint64(n)) * k2
	case cap(text) >= 8: // what follows the name is shifted out
		return (binary.LittleEndian.Uint64(text[:8])<<(64-8*n) ^ uint64(n)) * k2
	}
	var w uint64
	for i, c := range text {
		w |= uint64(c) << (64 - 8*n + 8*i)
	}
	return (w ^ uint64(n)) * k2
}
