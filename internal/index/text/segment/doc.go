// Package segment owns the segments of full-text indexes: immutable pieces of an
// index, each of some documents, made of zap's dictionaries, postings and stored
// fields (github.com/blevesearch/zapx), columns of ours beside them for sorting,
// grouping, facets and vectors, and a checksum over all of it.
//
// [Build] makes a segment of documents, [Open] opens its bytes, [Merge] makes one of
// several without those of their documents that were replaced since. [NewReader] reads
// several opened segments as one index, less the documents that were replaced, and, if
// asked, of one partition alone: then everything that it says, down to the
// frequencies of terms, is of that partition. It implements bleve's interfaces
// (github.com/blevesearch/bleve_index_api), so that bleve's searchers run on it.
//
// Documents of a segment that was built are in the order of their ids. What was
// merged has those of one segment after those of another, so the documents of a
// partition are found by a term of their own, not by their ids.
//
// The package knows nothing of databases: where the bytes of segments lie, and which
// segments an index has, is for package text to know.
package segment

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"

	"github.com/blevesearch/bleve/v2/analysis"
	index "github.com/blevesearch/bleve_index_api"
)

// Document is a document as it goes into a segment.
type Document struct {
	ID        string
	Partition string // "" for none
	Fields    []Field
}

// Field is one value of a field. A document may have several of a name.
type Field struct {
	Name string
	// Text is the value, and Tokens are what the analyzer made of it: the terms that
	// find the document. Both are empty for a number.
	Text   string
	Tokens analysis.TokenStream
	Number *float64
	// Vector is a value that is neither, as Vector makes it; a document has one of a name
	// at most. It is found by Similarity, and by nothing else.
	Vector     []float32
	Similarity Similarity
	// Boost is what a term of the field weighs; 0 counts as 1.
	Boost float64
	// Index says that the field can be searched and sorted by, Store that its value is
	// returned, Facet that its values are counted.
	Index, Store, Facet bool
	// Measured says that the lengths of texts are kept for all documents together, which
	// scores may rest on.
	Measured bool
}

// Bounds of what goes into a segment.
const (
	// MaxFields is how many names of fields a segment may have. The library numbers
	// them by 16 bits, and each costs a dictionary.
	MaxFields = 8192
	// maxTerm is how long a term may be, as Lucene has it: longer ones are left out.
	maxTerm = 32766
)

// ErrFields is of documents that have more than MaxFields names of fields.
var ErrFields = errors.New("segment: too many names of fields")

// The fields that every document has, and every document of a partition. A value that
// an index function gives one of these is left out.
const (
	idField        = "_id"
	partitionField = "_partition"
)

// internal reports whether a field is not a user's.
func internal(field string) bool { return field == idField || field == partitionField }

// entry is a document as the library wants it.
type entry struct {
	id     string
	fields []value
}

var _ index.Document = (*entry)(nil)

func (e *entry) ID() string { return e.id }
func (e *entry) Size() int  { return 0 }
func (e *entry) VisitFields(visit index.FieldVisitor) {
	for i := range e.fields {
		visit(&e.fields[i])
	}
}
func (e *entry) VisitComposite(index.CompositeFieldVisitor) {}
func (e *entry) HasComposite() bool                         { return false }
func (e *entry) NumPlainTextBytes() uint64                  { return 0 }
func (e *entry) AddIDField()                                {}
func (e *entry) StoredFieldsBytes() uint64                  { return 0 }
func (e *entry) Indexed() bool                              { return true }

// value is a value of a field as the library wants it. The first of a name has the
// tokens of all.
type value struct {
	name   string
	typ    byte // typeText or typeNumber
	stored []byte
	place  []uint64
	length int
	terms  index.TokenFrequencies
	opts   index.FieldIndexingOptions
}

// The types of stored values.
const (
	typeText   = 't'
	typeNumber = 'n'
)

var _ index.Field = (*value)(nil)

func (v *value) Name() string                                     { return v.name }
func (v *value) Value() []byte                                    { return v.stored }
func (v *value) ArrayPositions() []uint64                         { return v.place }
func (v *value) EncodedFieldType() byte                           { return v.typ }
func (v *value) Analyze()                                         {}
func (v *value) Options() index.FieldIndexingOptions              { return v.opts }
func (v *value) AnalyzedLength() int                              { return v.length }
func (v *value) AnalyzedTokenFrequencies() index.TokenFrequencies { return v.terms }
func (v *value) NumPlainTextBytes() uint64                        { return 0 }

// Bounds of one document: what its terms take in memory while a segment is built of it, of
// each place where one is, and of each term. The heap's profile says 126 and 434 bytes.
const (
	placeBytes = 128
	termBytes  = 440
	maxOfTerms = 320 << 20
)

// MaxPlaces is how many terms a document may have with their repetitions.
const MaxPlaces = maxOfTerms / placeBytes

// entryOf makes the library's form of a document. It is not ok if that has too many terms.
func entryOf(d *Document) (e *entry, ok bool) {
	e = &entry{id: d.ID, fields: make([]value, 0, len(d.Fields)+2)}
	e.fields = append(e.fields, value{name: idField, typ: typeText, stored: []byte(d.ID), length: 1, terms: single(d.ID), opts: index.IndexField | index.StoreField})
	if d.Partition != "" {
		e.fields = append(e.fields, value{name: partitionField, typ: typeText, length: 1, terms: single(d.Partition), opts: index.IndexField})
	}
	named := byName(d.Fields)
	seen, size := make(map[string]int, len(named)), 0
	for i := range d.Fields {
		f := &d.Fields[i]
		if internal(f.Name) || f.Vector != nil {
			continue
		}
		nth := seen[f.Name]
		seen[f.Name]++
		if size += e.add(nth, f, named[f.Name]); size > maxOfTerms {
			return nil, false
		}
	}
	return e, true
}

// byName returns the values of each name.
func byName(fields []Field) map[string][]*Field {
	named := make(map[string][]*Field, len(fields))
	for i := range fields {
		named[fields[i].Name] = append(named[fields[i].Name], &fields[i])
	}
	return named
}

// add adds a value, the nth of some of its name, and returns what its terms take.
func (e *entry) add(nth int, f *Field, named []*Field) (size int) {
	v := value{name: f.Name, typ: typeText}
	if nth == 0 {
		v.terms, v.length, size = terms(named)
	}
	if len(v.terms) > 0 {
		v.opts |= index.IndexField | index.IncludeTermVectors
	}
	if f.Store {
		v.opts |= index.StoreField
		v.place = []uint64{uint64(nth)}
		if f.Number != nil {
			v.typ, v.stored = typeNumber, numberBytes(*f.Number)
		} else {
			v.stored = []byte(f.Text)
		}
	}
	if v.opts != 0 {
		e.fields = append(e.fields, v)
	}
	return size
}

// single is the terms of a field of one term without a place.
func single(term string) index.TokenFrequencies {
	tf := &index.TokenFreq{Term: []byte(term)}
	tf.SetFrequency(1)
	return index.TokenFrequencies{term: tf}
}

// terms gathers the terms of all values of a name, the positions of each value after
// those of the one before, and returns the length by which the library weighs them, and
// what they take in memory.
func terms(named []*Field) (_ index.TokenFrequencies, length, size int) {
	g := gathering{terms: index.TokenFrequencies{}}
	boost, places := 1.0, 0
	for nth, f := range named {
		if !f.Index {
			continue
		}
		g.field(f, uint64(nth))
		if f.Boost != 0 {
			boost *= f.Boost
		}
		places += len(f.Tokens) + 1
	}
	if places == 0 {
		return nil, 0, 0
	}
	return g.terms, weight(g.length, boost), places*placeBytes + len(g.terms)*termBytes
}

// gathering is the terms of a field of a document so far.
type gathering struct {
	terms  index.TokenFrequencies
	freqs  []index.TokenFreq // the rest of a block, of which pointers are made
	length int               // tokens, without those at the place of another
	base   int               // the last position of the values before
}

// blockOf is how many terms are allocated at once.
const blockOf = 256

// field adds a value, the nth of its name.
func (g *gathering) field(f *Field, nth uint64) {
	if f.Number != nil {
		g.one(NumberTerm(*f.Number))
		g.length++
		return
	}
	last := 0
	var place []uint64
	if nth > 0 {
		place = []uint64{nth}
	}
	places, refs := make([]index.TokenLocation, 0, len(f.Tokens)), make([]*index.TokenLocation, len(f.Tokens))
	for _, t := range f.Tokens {
		if len(t.Term) > maxTerm {
			continue
		}
		if t.Position != last {
			g.length++
		}
		last = t.Position
		places = append(places, index.TokenLocation{ArrayPositions: place, Start: t.Start, End: t.End, Position: g.base + t.Position})
		i := len(places) - 1
		tf := g.one(t.Term)
		if tf.Locations == nil {
			tf.Locations = refs[i : i : i+1]
		}
		tf.Locations = append(tf.Locations, &places[i])
	}
	g.base += last
}

// one counts a term once more.
func (g *gathering) one(term []byte) *index.TokenFreq {
	tf, ok := g.terms[string(term)]
	if !ok {
		if len(g.freqs) == 0 {
			g.freqs = make([]index.TokenFreq, min(blockOf, 2*len(g.terms)+2))
		}
		tf, g.freqs = &g.freqs[0], g.freqs[1:]
		tf.Term = term
		g.terms[string(term)] = tf
	}
	tf.SetFrequency(tf.Frequency() + 1)
	return tf
}

// boosted is the least weight that is a boosted norm: lengths are below it.
const boosted = 1 << 24

// weight is what the library keeps with each posting of a field: 31 bits that it takes
// for a length. It is the length, or the bits of the norm itself where that is boosted.
func weight(length int, boost float64) int {
	length = max(length, 1)
	if boost == 1 {
		return min(length, boosted-1)
	}
	norm := boost / math.Sqrt(float64(length))
	bits := math.Float32bits(float32(min(norm, math.MaxFloat32)))
	if !(norm > 0) || bits < boosted {
		return boosted
	}
	return int(bits)
}

// normOf is the norm of a weight: 1/√length and the boosts.
func normOf(weight uint64) float64 {
	if weight < boosted {
		return 1 / math.Sqrt(float64(weight))
	}
	return float64(math.Float32frombits(uint32(weight)))
}

// guard runs fn and makes an error of its panic: the library panics on bytes that it
// did not write, and memory of a file that somebody shortened can't be read.
func guard(what string, fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("segment: %s: the library panicked: %v", what, p)
		}
	}()
	return fn()
}
