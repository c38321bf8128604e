package find

import (
	"math"
	"math/bits"
)

// The parameters of BM25, as Lucene has them: how much a frequency counts, and how much a
// length.
const (
	bm25Frequency = float32(1.2)
	bm25Length    = float32(0.75)
)

// fieldOf is what is known of a field, of the documents that are read alone: who may see
// one partition must not learn of others what a field of theirs is.
type fieldOf struct {
	numbered, found, counted bool // it has numbers, terms, texts that are counted
	docs                     uint64
	factors                  []float32 // by the code of a length, how much a frequency is worth; nil until it is asked for
	terms                    uint64
}

// field looks at a field, once.
func (w *work) field(name string) *fieldOf {
	f := w.fields[name]
	if f != nil {
		return f
	}
	f = &fieldOf{}
	w.steps += int(w.docs) // each of them may be looked at; the next step has the error
	f.numbered, f.found, f.counted = w.index.Indexed(name)
	f.docs, f.terms = w.index.Measure(name)
	if w.fields == nil {
		w.fields = map[string]*fieldOf{}
	}
	w.fields[name] = f
	return f
}

// bm25 is how Lucene scores since its version 6: a weight, of which a document gets the
// more the oftener it has the term and the shorter it is. Numbers have 32 bits as there.
type bm25 struct {
	of     *fieldOf
	weight float32
}

// scoring begins the weight of terms of a field; nil where scores are Clouseau's.
func (w *work) scoring(field string) *bm25 {
	if !w.nouveau {
		return nil
	}
	return &bm25{of: w.field(field)}
}

// idf is the weight of a term that so many documents have.
func (f *fieldOf) idf(having, all uint64) float64 {
	if f.docs > 0 {
		all = f.docs
	}
	n := float64(having)
	return float64(float32(math.Log(1 + (float64(all)-n+0.5)/(n+0.5))))
}

// score is the score of a frequency in a field with a norm. A text that is a term as it is
// has neither.
func (b *bm25) score(freq, norm float64) float64 {
	code := byte(1)
	if b.of.counted {
		freq = 1
	} else if norm > 0 {
		code = lengthCode(uint32(min(math.Round(1/(norm*norm)), math.MaxInt32)))
	}
	return float64(b.weight - b.weight/(1+float32(freq)*b.of.factor(code)))
}

// factor returns what a frequency is worth in a text of a length.
func (f *fieldOf) factor(code byte) float32 {
	if f.factors == nil {
		mean := float32(1)
		if f.docs > 0 {
			mean = float32(float64(f.terms) / float64(f.docs))
		}
		f.factors = make([]float32, 256)
		for i := range f.factors {
			f.factors[i] = 1 / (bm25Frequency * ((1 - bm25Length) + bm25Length*float32(codedLength(byte(i)))/mean))
		}
	}
	return f.factors[code]
}

// Lengths are kept in a byte: up to exactLengths as they are, beyond with four bits.
const exactLengths = 24

// lengthCode is the byte that Lucene keeps of a length.
func lengthCode(length uint32) byte {
	if length < exactLengths {
		return byte(length)
	}
	length -= exactLengths
	used := bits.Len32(length)
	if used < 4 {
		return byte(exactLengths + length)
	}
	shift := uint32(used - 4)
	return byte(exactLengths + (length>>shift&7 | (shift+1)<<3))
}

// codedLength is the length that a byte stands for: the least of those that have it.
func codedLength(code byte) uint32 {
	if code < exactLengths {
		return uint32(code)
	}
	c := uint32(code) - exactLengths
	if shift := c >> 3; shift > 0 {
		return exactLengths + (c&7|8)<<(shift-1)
	}
	return exactLengths + c
}
