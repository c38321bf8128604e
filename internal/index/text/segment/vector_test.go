package segment

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/sectional/sectional/internal/testkit/testrun"
)

// gaussian is a vector at random.
func gaussian(r *rand.Rand, dimensions int) []float64 {
	v := make([]float64, dimensions)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	return v
}

func vectorField(r *rand.Rand, name string, dimensions int, of Similarity) Field {
	v, err := Vector(gaussian(r, dimensions), of)
	if err != nil {
		panic(err)
	}
	return Field{Name: name, Vector: v, Similarity: of}
}

// closenessOf is how close two vectors are, calculated with all digits.
func closenessOf(a, b []float32, of Similarity) float64 {
	product, apart := 0.0, 0.0
	for i := range a {
		product += float64(a[i]) * float64(b[i])
		apart += (float64(a[i]) - float64(b[i])) * (float64(a[i]) - float64(b[i]))
	}
	if of == Euclidean {
		return -apart
	}
	return product
}

// compareVectors scans all vectors of each field and shape, and those of every other
// document.
func compareVectors(t *testing.T, reader *Reader, docs []Document, numbers []uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	half := reader.NewSet()
	for i, n := range numbers {
		if i%2 == 0 {
			half.Add(n)
		}
	}
	for _, name := range []string{"v", "w/w", "none"} {
		shapes := map[Shape]bool{}
		for _, dimensions := range []int{1, 3, 70} {
			for _, of := range similarities {
				asked := vectorField(r, name, dimensions, of).Vector
				for _, set := range []*Set{nil, half} {
					want := map[uint64]float64{}
					for i, d := range docs {
						for _, f := range d.Fields {
							if f.Name != name || len(f.Vector) != dimensions || f.Similarity != of {
								continue
							}
							if shapes[Shape{dimensions, of}] = true; set == nil || i%2 == 0 {
								want[numbers[i]] = closenessOf(f.Vector, asked, of)
							}
						}
					}
					compareScan(t, must[*Vectors](t)(reader.Vectors(name, dimensions, of)), asked, set, want)
				}
			}
		}
		if got := must[map[Shape]bool](t)(reader.Shapes(name)); !maps.Equal(got, shapes) {
			t.Fatalf("vectors %s are %v, not %v", name, got, shapes)
		}
	}
}

func compareScan(t *testing.T, v *Vectors, asked []float32, within *Set, want map[uint64]float64) {
	t.Helper()
	for _, exact := range []bool{true, false} {
		got := map[uint64]float64{}
		err := v.Scan(v.Near(asked, exact), within, func(int) error { return nil }, func(doc uint64, closeness float64) (float64, error) {
			got[doc] = closeness
			return math.Inf(-1), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		same := func(a, b float64) bool { return math.Abs(a-b) <= 1e-4*(1+math.Abs(a)) }
		if !maps.EqualFunc(got, want, same) || v.Count(within) != len(want) {
			t.Fatalf("%d of %v: %v, want %v", v.Count(within), asked, got, want)
		}
	}
}

// TestVector: what is a vector, and what is none.
func TestVector(t *testing.T) {
	for _, test := range []struct {
		numbers []float64
		of      Similarity
		want    string
	}{
		{[]float64{3, 4}, Dot, "[3 4]"},
		{[]float64{3, -4}, Cosine, "[0.6 -0.8]"},
		{[]float64{3e-30, 4e-30}, Cosine, "[0.6 0.8]"},
		{[]float64{0, 0}, Euclidean, "[0 0]"},
		{[]float64{math.Copysign(0, -1)}, Dot, "[0]"},
		{[]float64{0, 0}, Cosine, "a vector of zeros has no cosine"},
		{[]float64{1e-60}, Cosine, "a vector of zeros has no cosine"},
		{[]float64{1, 1e39}, Dot, "number 2 of a vector is 1e+39, which is not a finite number of 32 bits"},
		{[]float64{math.NaN()}, Dot, "number 1 of a vector is NaN, which is not a finite number of 32 bits"},
		{[]float64{1e18, 1e18}, Cosine, "a vector is at most 1e+18 long, not 1.41e+18"},
		{nil, Dot, "a vector has 1 to 4096 numbers, not 0"},
		{make([]float64, 4097), Dot, "a vector has 1 to 4096 numbers, not 4097"},
	} {
		v, err := Vector(test.numbers, test.of)
		got := fmt.Sprintf("%.6g", v)
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%v: %s, want %s", test.numbers[:min(len(test.numbers), 3)], got, test.want)
		}
	}
}

// TestEstimates: what codes tell is right on average, and the bound of the error holds
// but for a few.
func TestEstimates(t *testing.T) {
	testrun.Sequential(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, dimensions := range []int{64, 100, 384, 1000} {
		over, bias, n := 0, 0.0, 4000
		for range n {
			a, b := gaussian(r, dimensions), gaussian(r, dimensions)
			for i := range b {
				b[i] += a[i] * 1.5
			}
			v, asked := vectorOf(t, a), vectorOf(t, b)
			c, p := codeOf(v), probeOf(asked)
			column := &vectorsBuilder{dimensions: dimensions}
			column.add(0, v)
			estimate := p.common(column.codes) / float64(c.likeness)
			exact := closenessOf(v, asked, Cosine)
			bias += (estimate - exact) / float64(n)
			if p.atMost(column.codes, float64(c.likeness)) < exact*float64(c.likeness) {
				over++
			}
		}
		if math.Abs(bias) > 0.004 {
			t.Errorf("%d dimensions: estimates are off by %.4f on average", dimensions, bias)
		}
		if over > n*4/100 {
			t.Errorf("%d dimensions: %d of %d are nearer than their bound", dimensions, over, n)
		}
	}
}

func vectorOf(t *testing.T, numbers []float64) []float32 {
	t.Helper()
	return must[[]float32](t)(Vector(numbers, Cosine))
}

// TestCodesStay: the codes that are written are those that were always written.
func TestCodesStay(t *testing.T) {
	sum := fnv.New64()
	for _, dimensions := range []int{1, 64, 65, 1536, 4096} {
		v := make([]float64, dimensions)
		for i := range v {
			v[i] = float64((i*i)%17) - 7.75
		}
		fmt.Fprintf(sum, "%x", codeOf(vectorOf(t, v)).bits)
	}
	if got := fmt.Sprintf("%x", sum.Sum64()); got != "e71d66ae921fcd2c" {
		t.Errorf("%s", got)
	}
}

// TestDamagedVectors: a column whose lengths do not fit is damaged, and one whose vectors
// and codes do not is found by the check.
func TestDamagedVectors(t *testing.T) {
	b := &vectorsBuilder{dimensions: 3}
	for doc := range uint32(3) {
		b.add(doc*2, []float32{1, float32(doc), 2})
	}
	whole := b.append(nil)
	for name, change := range map[string]func(b []byte) []byte{
		"too short":         func(b []byte) []byte { return b[:len(b)-1] },
		"too long":          func(b []byte) []byte { return append(b, 0) },
		"no head":           func(b []byte) []byte { return b[:15] },
		"no dimensions":     func(b []byte) []byte { b[0] = 0; return b },
		"many dimensions":   func(b []byte) []byte { b[2] = 1; return b },
		"longer codes":      func(b []byte) []byte { b[4]++; return b },
		"many vectors":      func(b []byte) []byte { b[11] = 0xff; return b },
		"documents that go": func(b []byte) []byte { b[16] = 5; return b },
		"no such document":  func(b []byte) []byte { b[24] = 9; return b },
		"not a number":      func(b []byte) []byte { b[len(b)-1], b[len(b)-2] = 0x7f, 0xf0; return b },
		"another code":      func(b []byte) []byte { b[32] ^= 1; return b },
		"another length":    func(b []byte) []byte { b[32+24] ^= 1; return b },
	} {
		v, err := openVectors(change(slices.Clone(whole)))
		if err == nil {
			err = v.check(6, Dot)
		}
		if err == nil {
			t.Errorf("%s: nothing is wrong", name)
		}
	}
	if v, err := openVectors(whole); err != nil || v.check(6, Dot) != nil {
		t.Error(err, v.check(6, Dot))
	}
}

// TestCheckVectors: a segment with the checksum of what it has, but with a vector that is
// not the one that was coded, opens, and is found by the check.
func TestCheckVectors(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	b := must[[]byte](t)(Build([]Document{{ID: "a", Fields: []Field{vectorField(r, "v", 5, Euclidean)}}}))
	s := must[*Segment](t)(Open(b))
	if err := s.CheckVectors(); err != nil {
		t.Fatal(err)
	}
	span := s.spans[columnKey{"5/v", byte(Euclidean)}]
	s.columnBytes[span[1]-1] ^= 0x80 // a sign, in the memory of b
	binary.BigEndian.PutUint32(b[len(b)-4:], checksum(b[:len(b)-4]))
	if err := must[*Segment](t)(Open(b)).CheckVectors(); err == nil || !strings.Contains(err.Error(), "another's") {
		t.Errorf("a vector that was not coded: %v", err)
	}
}

// FuzzColumn opens bytes as a column of vectors: they are an error, or can be read.
func FuzzColumn(f *testing.F) {
	b := &vectorsBuilder{dimensions: 3}
	b.add(0, []float32{1, 2, 3})
	b.add(2, []float32{0, 2, 3})
	f.Add(b.append(nil))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		v, err := openVectors(bytes)
		if err != nil {
			return
		}
		_ = v.check(3, Euclidean)
		s := scan{vectors: v, near: &Near{vector: make([]float32, v.dimensions), of: Euclidean, probe: probeOf(make([]float32, v.dimensions))}, cost: func(int) error { return nil }}
		if err := s.run((&source{}).walk(v, roaring.BitmapOf(0, 2)), func(uint32, float64) (float64, error) { return 0, nil }); err != nil {
			t.Fatal(err)
		}
	})
}

// TestShapes: the names of columns are taken apart as they were made.
func TestShapes(t *testing.T) {
	for _, field := range []string{"", "a", "3/4", "/", strings.Repeat("x", 1000)} {
		if got, n, ok := shapeOf(shape(field, 12)); got != field || n != 12 || !ok {
			t.Errorf("%q: %q %d %v", field, got, n, ok)
		}
	}
}

// BenchmarkVectors measures what one vector costs to code, to estimate and to compare.
func BenchmarkVectors(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, dimensions := range []int{128, 384, 1536} {
		column := &vectorsBuilder{dimensions: dimensions}
		v := vectorField(r, "v", dimensions, Cosine).Vector
		column.add(0, v)
		p := probeOf(vectorField(r, "v", dimensions, Cosine).Vector)
		b.Run(fmt.Sprintf("code/%d", dimensions), func(b *testing.B) {
			for b.Loop() {
				codeOf(v)
			}
		})
		b.Run(fmt.Sprintf("estimate/%d", dimensions), func(b *testing.B) {
			for b.Loop() {
				p.atMost(column.codes, 0.8)
			}
		})
		b.Run(fmt.Sprintf("dot/%d", dimensions), func(b *testing.B) {
			for b.Loop() {
				dot(column.vectors, v)
			}
		})
	}
}
