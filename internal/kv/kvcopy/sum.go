package kvcopy

import (
	"crypto/sha256"
	"encoding/binary"
)

// Sum is about rows: how many, the bytes of their keys and values, and a checksum that does
// not depend on their order.
type Sum struct {
	Rows     int64
	Bytes    int64
	Checksum [sha256.Size]byte
}

// add adds a row, remove takes one out.
func (s *Sum) add(key, value []byte) {
	s.Rows++
	s.Bytes += int64(len(key) + len(value))
	s.mix(key, value)
}

func (s *Sum) remove(key, value []byte) {
	s.Rows--
	s.Bytes -= int64(len(key) + len(value))
	s.mix(key, value)
}

// mix adds the digest of a row, which no other has, without carry: a second time takes it
// out.
func (s *Sum) mix(key, value []byte) {
	h := sha256.New()
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(key)))
	h.Write(n[:])
	h.Write(key)
	h.Write(value)
	for i, b := range h.Sum(nil) {
		s.Checksum[i] ^= b
	}
}
