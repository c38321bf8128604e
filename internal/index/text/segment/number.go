package segment

import (
	"encoding/binary"
	"math"
)

// NumberTerm is the term of a number: eight bytes that sort as numbers do.
func NumberTerm(f float64) []byte {
	bits := math.Float64bits(f + 0) // −0 is 0
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(make([]byte, 0, 8), bits)
}

// numberBytes is how a stored number is written.
func numberBytes(f float64) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 0, 8), math.Float64bits(f))
}

func numberOf(b []byte) float64 {
	if len(b) != 8 {
		return 0
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b))
}
