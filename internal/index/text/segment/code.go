package segment

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// A vector's code is one bit for each of its dimensions, from which its angle to any
// other vector is estimated (RaBitQ: Gao and Long, "RaBitQ: Quantizing High-Dimensional
// Vectors with a Theoretical Error Bound for Approximate Nearest Neighbor Search",
// SIGMOD 2024). The vector is turned by a rotation that is the same for all, and the
// bits are the signs of what it then has: the corner of a cube that it is nearest to.
// Of vectors of length one, with o the one that was coded, c the corner and q the one
// asked for,
//
//	⟨o,q⟩ ≈ ⟨c,q⟩ / ⟨c,o⟩
//
// without a bias, and the error is that of a random direction of so many dimensions:
// about √(1−⟨c,o⟩²) / ⟨c,o⟩ / √(dimensions−1). ⟨c,o⟩ is kept with the code; it is about
// 0.8. A code depends on its vector alone, so that columns are merged by copying.

// code is the code of a vector.
type code struct {
	bits     []uint64
	length   float32 // of the vector
	likeness float32 // ⟨c,o⟩
}

// codeWords is how long the codes of vectors of so many dimensions are: they are filled
// up with zeros, since the rotation needs a power of two.
func codeWords(dimensions int) int {
	return max(1, (1<<bits.Len(uint(dimensions-1)))/64)
}

// codeOf makes the code of a vector.
func codeOf(v []float32) code {
	l := length(v)
	c := code{bits: make([]uint64, codeWords(len(v))), length: float32(l), likeness: 1}
	if l == 0 {
		return c
	}
	turned := rotated(v, l)
	sum, squares := 0.0, 0.0
	for i, f := range turned {
		if f >= 0 {
			c.bits[i/64] |= 1 << (i % 64)
		}
		sum += math.Abs(float64(f))
		squares += float64(float64(f) * float64(f))
	}
	c.likeness = float32(sum / math.Sqrt(squares*float64(len(turned))))
	return c
}

// rounds is how often the rotation changes signs and mixes: after three times what a
// vector has is spread like that of a random rotation.
const rounds = 3

// rotated returns a vector, filled up with zeros and scaled to length one, after the
// rotation, which makes it longer by a factor that is the same for all of its
// dimensions. l is its length.
func rotated(v []float32, l float64) []float32 {
	turned := make([]float32, 64*codeWords(len(v)))
	copy(turned, v)
	scale(turned[:len(v)], 1/l)
	for round := range rounds {
		for word := range len(turned) / 64 {
			of := signs(round, word)
			for i, f := range turned[64*word:][:64] {
				turned[64*word+i] = math.Float32frombits(math.Float32bits(f) ^ uint32(of>>i)<<31)
			}
		}
		mix(turned)
	}
	return turned
}

// signs is 64 of the signs that a round of the rotation changes: the output of splitmix64
// (Steele, Lea, Flood 2014) for the word's number. It must never change.
func signs(round, word int) uint64 {
	z := (uint64(round)<<32 + uint64(word) + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// mix is the Walsh-Hadamard transform. It adds and subtracts only, so it gives the same
// on every processor.
func mix(v []float32) {
	for i := 0; i+4 <= len(v); i += 4 { // the first two steps together, which are half of the time otherwise
		q := v[i : i+4 : i+4]
		a, b, c, d := q[0]+q[1], q[0]-q[1], q[2]+q[3], q[2]-q[3]
		q[0], q[1], q[2], q[3] = a+c, b+d, a-c, b-d
	}
	for half := 4; half < len(v); half *= 2 {
		for i := 0; i < len(v); i += 2 * half {
			a, b := v[i:i+half], v[i+half:i+2*half]
			b = b[:len(a)]
			for j := range a {
				a[j], b[j] = a[j]+b[j], a[j]-b[j]
			}
		}
	}
}

// probe is a vector that is asked for, as codes are compared with it. Each of its
// dimensions after the rotation is rounded to one of the odd numbers from −15 to 15 times
// step: the sum of four powers of two, each with a sign. What the corner of a code and
// the probe have in common is then counted in bits.
type probe struct {
	planes [][4]uint64 // for each word of a code the signs of the four powers
	step   float64     // of probes and corners of length one
	max    float64     // what they have in common at most, in steps
	// spread is how far an estimate is widened for what a code leaves out, rounding for
	// what the levels do.
	spread, rounding float64
	length           float64
}

// sure is how many times the error to be expected an estimate is widened by: what is
// farther away by more than that is not looked at. It is the paper's.
const sure = 1.9

// probeOf prepares a vector.
func probeOf(v []float32) *probe {
	p := &probe{planes: make([][4]uint64, codeWords(len(v))), length: length(v)}
	if p.length == 0 {
		return p
	}
	turned := rotated(v, p.length)
	greatest := 0.0
	for _, f := range turned {
		greatest = max(greatest, math.Abs(float64(f)))
	}
	dimensions := float64(len(turned))
	longer := math.Pow(dimensions, rounds/2.0) // by which the rotation made it longer
	unit, lost := greatest/15, 0.0
	for i, f := range turned {
		level := min(max(math.Round((float64(f)/unit+15)/2), 0), 15) // of −15, −13, … 15
		off := float64(f) - (2*level-15)*unit
		lost += off * off
		for plane := range 4 {
			p.planes[i/64][plane] |= (uint64(level) >> plane & 1) << (i % 64)
		}
	}
	p.step = unit / longer / math.Sqrt(dimensions)
	p.max = 15 * dimensions
	p.spread = sure / math.Sqrt(max(dimensions-1, 1))
	p.rounding = sure * math.Sqrt(lost) / longer / math.Sqrt(dimensions)
	return p
}

// common is what the corner of a code and the probe have in common, from −1 to 1.
func (p *probe) common(b []byte) float64 {
	var n0, n1, n2, n3 int
	for i := range p.planes {
		if len(b) < 8 {
			break
		}
		word, plane := binary.LittleEndian.Uint64(b), &p.planes[i]
		n0 += bits.OnesCount64(word ^ plane[0])
		n1 += bits.OnesCount64(word ^ plane[1])
		n2 += bits.OnesCount64(word ^ plane[2])
		n3 += bits.OnesCount64(word ^ plane[3])
		b = b[8:]
	}
	return (p.max - float64(2*(n0+2*n1+4*n2+8*n3))) * p.step
}

// atMost is how great the product of the probe, scaled to length one, and a coded vector
// of length one is at most, times the code's likeness: but for a few in a hundred of those
// that are as near as can be. The root of the error is replaced by its tangent where codes
// have their likeness, which is nowhere below it.
func (p *probe) atMost(b []byte, likeness float64) float64 {
	return p.common(b) + p.spread*(5-4*likeness)/3 + p.rounding
}

// dot is the product of a vector, as its bytes, and another of as many numbers.
func dot(b []byte, q []float32) float32 {
	var s0, s1, s2, s3 float32
	for len(q) >= 8 && len(b) >= 32 {
		s0 += float32(float32At(b, 0) * q[0])
		s1 += float32(float32At(b, 1) * q[1])
		s2 += float32(float32At(b, 2) * q[2])
		s3 += float32(float32At(b, 3) * q[3])
		s0 += float32(float32At(b, 4) * q[4])
		s1 += float32(float32At(b, 5) * q[5])
		s2 += float32(float32At(b, 6) * q[6])
		s3 += float32(float32At(b, 7) * q[7])
		b, q = b[32:], q[8:]
	}
	for i := range q {
		s0 += float32(float32At(b, uint32(i)) * q[i])
	}
	return s0 + s1 + s2 + s3
}

// apart is the square of the distance of two vectors.
func apart(b []byte, q []float32) float32 {
	var s0, s1, s2, s3 float32
	for len(q) >= 4 && len(b) >= 16 {
		d0, d1, d2, d3 := float32At(b, 0)-q[0], float32At(b, 1)-q[1], float32At(b, 2)-q[2], float32At(b, 3)-q[3]
		s0 += float32(d0 * d0)
		s1 += float32(d1 * d1)
		s2 += float32(d2 * d2)
		s3 += float32(d3 * d3)
		b, q = b[16:], q[4:]
	}
	for i := range q {
		d := float32At(b, uint32(i)) - q[i]
		s0 += float32(d * d)
	}
	return s0 + s1 + s2 + s3
}
