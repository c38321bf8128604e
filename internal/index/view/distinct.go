package view

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/sectional/sectional/internal/keyspace"
)

// distinguisher is _approx_count_distinct: an estimate of how many different
// keys there are, by the registers of HyperLogLog.
type distinguisher struct{}

// precision is CouchDB's: 2048 registers, and an error of about 2 %.
const precision = 11

const registers = 1 << precision

// distinct are the registers: the longest run of zeros that a hash of a key in
// the register began with, and one.
type distinct [registers]uint8

// The forms of a state: only the registers that are not zero, or all of them.
const (
	sparseForm = 1
	denseForm  = 2
)

func (distinguisher) begin() fold { return &distinct{} }

func (distinguisher) value(_ uint64, state []byte) []byte {
	var d distinct
	d.state(state)
	return whole(d.estimate()).append(nil)
}

func (d *distinct) row(r *Row) {
	key, err := keyspace.AppendRaw(make([]byte, 0, 64), r.Key)
	if err != nil {
		return // no key of a row is without a value
	}
	sum := sha256.Sum256(key)
	h := binary.BigEndian.Uint64(sum[:])
	d.raise(h>>(64-precision), uint8(bits.LeadingZeros64(h<<precision|1<<(precision-1)))+1)
}

func (d *distinct) raise(register uint64, to uint8) {
	if d[register] < to {
		d[register] = to
	}
}

func (d *distinct) state(s []byte) {
	switch body := s[2:]; s[1] {
	case sparseForm:
		for ; len(body) >= 3; body = body[3:] {
			d.raise(uint64(binary.BigEndian.Uint16(body))%registers, body[2])
		}
	case denseForm:
		for i, v := range body {
			d.raise(uint64(i)%registers, v)
		}
	}
}

func (d *distinct) end() []byte {
	used := 0
	for _, v := range d {
		if v > 0 {
			used++
		}
	}
	if used*3 >= registers {
		return append([]byte{tagValue, denseForm}, d[:]...)
	}
	b := append(make([]byte, 0, 2+3*used), tagValue, sparseForm)
	for i, v := range d {
		if v > 0 {
			b = append(binary.BigEndian.AppendUint16(b, uint16(i)), v)
		}
	}
	return b
}

// estimate returns how many different keys the registers speak of. Where few are
// used, how many are not says more exactly.
func (d *distinct) estimate() int64 {
	const m = float64(registers)
	sum, zeros := 0.0, 0
	for _, v := range d {
		sum += math.Ldexp(1, -int(v))
		if v == 0 {
			zeros++
		}
	}
	e := 0.7213 / (1 + 1.079/m) * m * m / sum
	if e <= 2.5*m && zeros > 0 {
		e = m * math.Log(m/float64(zeros))
	}
	return int64(math.Round(e))
}
