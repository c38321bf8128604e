package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/jsonscan"
)

// Similarity says how near two vectors are to each other. It is the kind of the column
// that the vectors are in.
type Similarity byte

// The similarities.
const (
	NoSimilarity Similarity = 0
	Cosine       Similarity = 'c' // of the angle between them
	Dot          Similarity = 'd' // their product
	Euclidean    Similarity = 'e' // how far they are apart
)

// similarities are all of them.
var similarities = []Similarity{Cosine, Dot, Euclidean}

// String is the name of a similarity.
func (s Similarity) String() string {
	switch s {
	case Cosine:
		return "cosine"
	case Dot:
		return "dot"
	case Euclidean:
		return "euclidean"
	}
	return "no similarity"
}

// SimilarityOf returns the similarity of a name: of ours, or one that other engines have
// for it (dot_product and max_inner_product; l2 and l2_norm). NoSimilarity for any other.
func SimilarityOf(name string) Similarity {
	switch name {
	case "cosine":
		return Cosine
	case "dot", "dot_product", "max_inner_product":
		return Dot
	case "euclidean", "l2", "l2_norm":
		return Euclidean
	}
	return NoSimilarity
}

// ofVectors reports whether a kind of column is one of vectors.
func ofVectors(kind byte) bool { return kind >= byte(Cosine) && kind <= byte(Euclidean) }

// Bounds of vectors.
const (
	// MaxDimensions is how many numbers a vector may have.
	MaxDimensions = 4096
	// maxLength is how long a vector may be: squares and products of such are numbers
	// of 32 bits still.
	maxLength = 1e18
)

// Vector makes a vector of numbers. The error says what is wrong with it: that it has
// no numbers or too many, one that is none of 32 bits, that it is too long, or that it
// is zero, which has no angle to others.
func Vector(numbers []float64, of Similarity) ([]float32, error) {
	if len(numbers) == 0 || len(numbers) > MaxDimensions {
		return nil, fmt.Errorf("a vector has 1 to %d numbers, not %d", MaxDimensions, len(numbers))
	}
	v := make([]float32, len(numbers))
	for i, n := range numbers {
		if v[i] = float32(n) + 0; math.IsNaN(n) || math.IsInf(float64(v[i]), 0) {
			return nil, fmt.Errorf("number %d of a vector is %v, which is not a finite number of 32 bits", i+1, n)
		}
	}
	switch l := length(v); {
	case l > maxLength:
		return nil, fmt.Errorf("a vector is at most %g long, not %.3g", maxLength, l)
	case l == 0 && of == Cosine:
		return nil, errors.New("a vector of zeros has no cosine")
	case of == Cosine:
		scale(v, 1/l)
	}
	return v, nil
}

// Numbers reads the numbers of a vector from an array in JSON.
func Numbers(array []byte) (numbers []float64, err error) {
	for it := jsonscan.ElementsOf(jsonscan.Trim(array)); ; {
		e, ok := it.Next()
		switch {
		case !ok:
			return numbers, nil
		case jsonscan.KindOf(e) != jsonscan.Number:
			return nil, errors.New("a vector has finite numbers only")
		case len(numbers) == MaxDimensions:
			return nil, fmt.Errorf("a vector has 1 to %d numbers, not more", MaxDimensions)
		}
		f, err := strconv.ParseFloat(string(jsonscan.Trim(e)), 64)
		if err != nil {
			return nil, fmt.Errorf("number %d of a vector is not a number of 32 bits", len(numbers)+1)
		}
		numbers = append(numbers, f)
	}
}

// length is the Euclidean length of a vector. Squares are rounded before they are added
// up, so that it is the same on every processor.
func length(v []float32) float64 {
	sum := 0.0
	for _, f := range v {
		sum += float64(float64(f) * float64(f))
	}
	return math.Sqrt(sum)
}

func scale(v []float32, by float64) {
	for i := range v {
		v[i] = float32(float64(v[i]) * by)
	}
}

// shape is the name of the column of a field's vectors of so many numbers: those of
// other lengths are in another.
func shape(field string, dimensions int) string { return fmt.Sprintf("%d/%s", dimensions, field) }

// shapeOf takes the name of such a column apart.
func shapeOf(name string) (field string, dimensions int, ok bool) {
	_, field, ok = strings.Cut(name, "/")
	_, err := fmt.Sscanf(name, "%d/", &dimensions)
	return field, dimensions, ok && err == nil
}

// vectorsBuilder gathers a column of vectors: of documents in ascending order, one each.
type vectorsBuilder struct {
	dimensions int
	docs       []uint32
	codes      []byte
	factors    []byte
	vectors    []byte
}

// add adds a vector.
func (b *vectorsBuilder) add(doc uint32, v []float32) {
	c := codeOf(v)
	b.docs = append(b.docs, doc)
	for _, w := range c.bits {
		b.codes = binary.LittleEndian.AppendUint64(b.codes, w)
	}
	b.factors = appendFloats(b.factors, c.length, c.likeness)
	b.vectors = appendFloats(b.vectors, v...)
}

func appendFloats(dst []byte, floats ...float32) []byte {
	for _, f := range floats {
		dst = u32(dst, math.Float32bits(f))
	}
	return dst
}

// alignment is that of a column of vectors in its segment, and of its codes.
const alignment = 8

func align(dst []byte) []byte {
	for len(dst)%alignment != 0 {
		dst = append(dst, 0)
	}
	return dst
}

// append writes the column.
func (b *vectorsBuilder) append(dst []byte) []byte {
	for _, n := range []int{b.dimensions, codeWords(b.dimensions), len(b.docs), 0} {
		dst = u32(dst, uint32(n))
	}
	for _, doc := range b.docs {
		dst = u32(dst, doc)
	}
	dst = align(dst)
	dst = append(dst, b.codes...)
	dst = append(dst, b.factors...)
	return append(dst, b.vectors...)
}

// vectors is an opened column of vectors. They are read where they lie.
type vectors struct {
	dimensions, words int
	count             uint32
	docs              []byte // of each vector, ascending
	codes             []byte
	factors           []byte // of each code its length and likeness
	floats            []byte
}

// openVectors opens what append wrote; ErrDamaged if that can't be.
func openVectors(b []byte) (*vectors, error) {
	if len(b) < 16 {
		return nil, ErrDamaged
	}
	v := &vectors{dimensions: int(at32(b, 0)), words: int(at32(b, 1)), count: at32(b, 2)}
	if v.dimensions < 1 || v.dimensions > MaxDimensions || v.words != codeWords(v.dimensions) {
		return nil, ErrDamaged
	}
	n := int(v.count)
	docs := (4*n + alignment - 1) &^ (alignment - 1)
	if len(b) != 16+docs+n*(8*v.words+8+4*v.dimensions) {
		return nil, ErrDamaged
	}
	v.docs, b = b[16:16+4*n], b[16+docs:]
	v.codes, b = b[:8*v.words*n], b[8*v.words*n:]
	v.factors, v.floats = b[:8*n], b[8*n:]
	return v, nil
}

// doc is the document of a vector.
func (v *vectors) doc(place uint32) uint32 { return at32(v.docs, place) }

// vector is the bytes of a vector.
func (v *vectors) vector(place uint32) []byte {
	n := 4 * v.dimensions
	return v.floats[int(place)*n:][:n:n]
}

// code is the bytes of a vector's code.
func (v *vectors) code(place uint32) []byte {
	n := 8 * v.words
	return v.codes[int(place)*n:][:n:n]
}

func (v *vectors) factor(place uint32) (length, likeness float32) {
	return float32At(v.factors, 2*place), float32At(v.factors, 2*place+1)
}

func float32At(b []byte, i uint32) float32 { return math.Float32frombits(at32(b, i)) }

// copyTo adds the vectors of the documents that have a new number.
func (v *vectors) copyTo(b *vectorsBuilder, numbers []uint32) {
	for place := range v.count {
		if number := numbers[v.doc(place)]; number != Gone {
			b.docs = append(b.docs, number)
			b.codes = append(b.codes, v.code(place)...)
			b.factors = append(b.factors, v.factors[8*int(place):][:8]...)
			b.vectors = append(b.vectors, v.vector(place)...)
		}
	}
}

// check reports what is wrong with a column of vectors: documents out of order or that
// there are not, vectors that can't be, codes that are of others.
func (v *vectors) check(documents uint32, of Similarity) error {
	numbers := make([]float64, v.dimensions)
	for place := range v.count {
		doc := v.doc(place)
		if doc >= documents || place > 0 && v.doc(place-1) >= doc {
			return fmt.Errorf("vector %d is of document %d of %d", place, doc, documents)
		}
		for i := range numbers {
			numbers[i] = float64(float32At(v.vector(place), uint32(i)))
		}
		if _, err := Vector(numbers, of); err != nil {
			return fmt.Errorf("document %d: %w", doc, err)
		}
		if !v.coded(place, numbers) {
			return fmt.Errorf("document %d: the code of its vector is another's", doc)
		}
	}
	return nil
}

// coded reports whether the code of a vector is its own.
func (v *vectors) coded(place uint32, numbers []float64) bool {
	floats := make([]float32, len(numbers))
	for i, n := range numbers {
		floats[i] = float32(n)
	}
	c := codeOf(floats)
	for i, w := range c.bits {
		if binary.LittleEndian.Uint64(v.code(place)[8*i:]) != w {
			return false
		}
	}
	length, likeness := v.factor(place)
	return length == c.length && likeness == c.likeness
}
