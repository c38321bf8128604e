package kvtest

import "math/rand/v2"

// Rand is a source of repeatable choices.
type Rand struct{ *rand.Rand }

// NewRand returns the source of a seed.
func NewRand(seed uint64) Rand { return Rand{rand.New(rand.NewPCG(seed, 0x5ec710))} }

// Bytes returns n random bytes.
func (r Rand) Bytes(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

// Chance reports true in one of n cases.
func (r Rand) Chance(n int) bool { return r.IntN(n) == 0 }
