package find

import (
	"encoding/binary"
	"math"

	index "github.com/blevesearch/bleve_index_api"
)

// none is the document number after all others.
const none = math.MaxUint64

// node is a part of a query: it has a weight, and after start it is at the first
// of the documents that it matches, in the order of their numbers.
//
// Weights are Lucene's: before start, the squares of all weights are summed up, and
// each node is given the factor that makes the sum one, times the boosts of the groups
// around it.
type node interface {
	// squares returns the sum of the squares of the weights.
	squares() float64
	// normalize takes the factor of the whole query, and the boost of what is around.
	normalize(norm, boost float64)
	// start moves to the first document.
	start() error
	// doc returns the document where the node is, none after the last.
	doc() uint64
	// next moves to the next document.
	next() error
	// advance moves to the first document that is not before to.
	advance(to uint64) error
	// score returns the score of the document where the node is.
	score() float64
	// cost is about how many documents there are.
	cost() uint64
}

// number returns the number of a document in the index.
func number(id index.IndexInternalID) uint64 { return binary.BigEndian.Uint64(id) }

// internal returns what the index calls the document of a number.
func internal(doc uint64) index.IndexInternalID {
	return binary.BigEndian.AppendUint64(nil, doc)
}

// inverse is Lucene's weight of a term that so many of all documents have.
func inverse(having, all uint64) float64 {
	return 1 + math.Log(float64(all)/float64(having+1))
}

// lengthNorm cuts the norm of a field's length to the three bits of mantissa that
// Lucene keeps, so that the same documents are equally good.
func lengthNorm(norm float64) float64 {
	return float64(math.Float32frombits(math.Float32bits(float32(norm)) &^ (1<<21 - 1)))
}

// nothing matches no document.
type nothing struct{}

func (nothing) squares() float64           { return 0 }
func (nothing) normalize(float64, float64) {}
func (nothing) start() error               { return nil }
func (nothing) doc() uint64                { return none }
func (nothing) next() error                { return nil }
func (nothing) advance(uint64) error       { return nil }
func (nothing) score() float64             { return 0 }
func (nothing) cost() uint64               { return 0 }
