package segment

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"sort"
	"unsafe"

	"github.com/sectional/sectional/internal/packed"
)

// columnKey names a column of a segment.
type columnKey struct {
	field string
	kind  byte
}

// The kinds of columns of a field.
const (
	numbers      = 'n' // numbers that are indexed
	lastTerms    = 's' // of each document the last of its terms, which is what Lucene sorts and groups by
	facetNumbers = 'r' // numbers with facet
	facetTexts   = 'f' // texts with facet
	lengths      = 'l' // of each document how many terms its measured texts have
	// and the similarities, of vectors
)

// What a document without a value has in a dense column of one value each.
const (
	noNumber = 0x7ff8_0000_0000_00ff // a NaN that no JSON has
	noText   = math.MaxUint32
)

// columnBuilder gathers a column: documents in ascending order, some several times.
type columnBuilder struct {
	docs    []uint32
	numbers []float64 // of columns of numbers
	texts   []string
	vectors *vectorsBuilder // of columns of vectors, instead of all else
}

func (b *columnBuilder) number(doc uint32, f float64) {
	b.docs, b.numbers = append(b.docs, doc), append(b.numbers, f+0)
}

func (b *columnBuilder) text(doc uint32, s string) {
	b.docs, b.texts = append(b.docs, doc), append(b.texts, s)
}

// columnsBuilder gathers all columns of a segment.
type columnsBuilder map[columnKey]*columnBuilder

func (c columnsBuilder) at(field string, kind byte) *columnBuilder {
	b := c[columnKey{field, kind}]
	if b == nil {
		b = &columnBuilder{}
		c[columnKey{field, kind}] = b
	}
	return b
}

// vectorsAt is the column of a field's vectors that have so many numbers.
func (c columnsBuilder) vectorsAt(key columnKey, dimensions int) *vectorsBuilder {
	b := c.at(key.field, key.kind)
	if b.vectors == nil {
		b.vectors = &vectorsBuilder{dimensions: dimensions}
	}
	return b.vectors
}

// add adds the values of a document.
func (c columnsBuilder) add(doc uint32, fields []Field) {
	last := map[string]string{}
	var measured map[string]int
	for i := range fields {
		f := &fields[i]
		switch {
		case internal(f.Name):
		case f.Vector != nil:
			c.vectorsAt(columnKey{shape(f.Name, len(f.Vector)), byte(f.Similarity)}, len(f.Vector)).add(doc, f.Vector)
		case f.Number != nil:
			if f.Index {
				c.at(f.Name, numbers).number(doc, *f.Number)
			}
			if f.Facet {
				c.at(f.Name, facetNumbers).number(doc, *f.Number)
			}
		default:
			if f.Index {
				lastTerm(last, f)
			}
			if f.Index && f.Measured && len(f.Tokens) > 0 {
				if measured == nil {
					measured = map[string]int{}
				}
				measured[f.Name] += len(f.Tokens)
			}
			if f.Facet {
				c.at(f.Name, facetTexts).text(doc, f.Text)
			}
		}
	}
	for name, term := range last {
		c.at(name, lastTerms).text(doc, term)
	}
	for name, n := range measured {
		c.at(name, lengths).number(doc, float64(n))
	}
}

// lastTerm remembers the greatest term of a value.
func lastTerm(last map[string]string, f *Field) {
	for _, t := range f.Tokens {
		if old, ok := last[f.Name]; len(t.Term) <= maxTerm && (!ok || string(t.Term) > old) {
			last[f.Name] = string(t.Term)
		}
	}
}

// encode appends all columns to dst, and returns their directory: where each begins from
// the end that dst had, and its length.
func (c columnsBuilder) encode(dst []byte, docs uint32) ([]byte, []byte) {
	keys := make([]columnKey, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b columnKey) int {
		return bytes.Compare(append([]byte(a.field), 0, a.kind), append([]byte(b.field), 0, b.kind))
	})
	var directory packed.Writer
	directory.Uint(uint64(len(keys)))
	begin := len(dst)
	place := map[columnKey][2]int{}
	for _, k := range keys {
		if c[k].vectors != nil {
			dst = align(dst)
		}
		at := len(dst)
		dst = c[k].append(dst, docs)
		span := [2]int{at - begin, len(dst) - at}
		if other, ok := place[columnKey{k.field, twin(k.kind)}]; ok && bytes.Equal(dst[begin+other[0]:begin+other[0]+other[1]], dst[at:]) {
			dst, span = dst[:at], other
		}
		place[k] = span
		directory.Text(k.field)
		directory.Byte(k.kind)
		directory.Uint(uint64(span[0]))
		directory.Uint(uint64(span[1]))
	}
	return dst, directory
}

// twin is the kind of column whose bytes are often the same.
func twin(kind byte) byte {
	switch kind {
	case facetNumbers:
		return numbers
	case lastTerms:
		return facetTexts
	}
	return 0
}

const (
	columnNumbers = 1 << iota // values are numbers, else places in the column's dictionary
	columnDense               // every document has a place
	columnMany                // some documents have several values
)

// append writes a column.
func (b *columnBuilder) append(dst []byte, docs uint32) []byte {
	if b.vectors != nil {
		return b.vectors.append(dst)
	}
	values, distinct := len(b.docs), 0
	for i, d := range b.docs {
		if i == 0 || b.docs[i-1] != d {
			distinct++
		}
	}
	flags := uint32(0)
	if b.numbers != nil {
		flags |= columnNumbers
	}
	if distinct >= int(docs)/2 {
		flags |= columnDense
	}
	if distinct < values {
		flags |= columnMany
	}
	dictionary, ordinals := ordinalsOf(b.texts)
	places := b.places(flags, docs)
	dst = u32(dst, flags)
	dst = u32(dst, uint32(len(places)))
	at := len(dst)
	dst = u32(dst, 0) // how many values
	dst = u32(dst, uint32(len(dictionary)))
	if flags&columnDense == 0 {
		for _, p := range places {
			dst = u32(dst, b.docs[p[0]])
		}
	}
	if flags&columnMany != 0 {
		n := 0
		for _, p := range places {
			dst = u32(dst, uint32(n))
			n += p[1] - p[0]
		}
		dst = u32(dst, uint32(n))
	}
	n := uint32(0)
	for _, p := range places {
		if p[0] == p[1] && flags&columnMany == 0 {
			dst, n = missing(dst, flags), n+1
		}
		for i := p[0]; i < p[1]; i++ {
			if n++; flags&columnNumbers != 0 {
				dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(b.numbers[i]))
			} else {
				dst = u32(dst, ordinals[i])
			}
		}
	}
	binary.LittleEndian.PutUint32(dst[at:], n)
	return appendDictionary(dst, dictionary)
}

func missing(dst []byte, flags uint32) []byte {
	if flags&columnNumbers != 0 {
		return binary.LittleEndian.AppendUint64(dst, noNumber)
	}
	return u32(dst, noText)
}

// places is for each place of the column the span of its values: a place for each
// document if it is dense, else for each that has values.
func (b *columnBuilder) places(flags, docs uint32) (places [][2]int) {
	next := 0
	for doc := uint32(0); doc < docs && (flags&columnDense != 0 || next < len(b.docs)); doc++ {
		if flags&columnDense == 0 {
			doc = b.docs[next]
		}
		from := next
		for next < len(b.docs) && b.docs[next] == doc {
			next++
		}
		places = append(places, [2]int{from, next})
	}
	return places
}

// ordinalsOf returns the distinct texts in order, and the place of each text among them.
func ordinalsOf(texts []string) (dictionary []string, ordinals []uint32) {
	dictionary = slices.Clone(texts)
	slices.Sort(dictionary)
	dictionary = slices.Compact(dictionary)
	place := make(map[string]uint32, len(dictionary))
	for i, s := range dictionary {
		place[s] = uint32(i)
	}
	ordinals = make([]uint32, len(texts))
	for i, s := range texts {
		ordinals[i] = place[s]
	}
	return dictionary, ordinals
}

func appendDictionary(dst []byte, dictionary []string) []byte {
	at := uint32(0)
	for _, s := range dictionary {
		dst = u32(dst, at)
		at += uint32(len(s))
	}
	dst = u32(dst, at)
	for _, s := range dictionary {
		dst = append(dst, s...)
	}
	return dst
}

func u32(dst []byte, n uint32) []byte { return binary.LittleEndian.AppendUint32(dst, n) }

// column is an opened column. Its values are read where they lie.
type column struct {
	flags        uint32
	places       uint32
	docs         []byte // of each place, if not dense
	starts       []byte // of each place and the end, if some have many values
	values       []byte
	offsets      []byte
	dictionary   []byte
	documentsEnd uint32
}

// openColumn opens what append wrote.
func openColumn(b []byte, docs uint32) *column {
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }
	c := &column{flags: word(0), places: word(1), documentsEnd: docs}
	values, terms := word(2), word(3)
	b = b[16:]
	take := func(n uint32) []byte {
		taken := b[:n:n]
		b = b[n:]
		return taken
	}
	if c.flags&columnDense == 0 {
		c.docs = take(4 * c.places)
	}
	if c.flags&columnMany != 0 {
		c.starts = take(4 * (c.places + 1))
	}
	if c.flags&columnNumbers != 0 {
		c.values = take(8 * values)
	} else {
		c.values = take(4 * values)
	}
	c.offsets = take(4 * (terms + 1))
	c.dictionary = b
	return c
}

// span is the values of a document.
func (c *column) span(doc uint32) (from, to uint32) {
	if c == nil || doc >= c.documentsEnd {
		return 0, 0
	}
	place := doc
	if c.flags&columnDense == 0 {
		at := sort.Search(int(c.places), func(i int) bool { return at32(c.docs, uint32(i)) >= doc })
		if place = uint32(at); place == c.places || at32(c.docs, place) != doc {
			return 0, 0
		}
	}
	if c.flags&columnMany != 0 {
		return at32(c.starts, place), at32(c.starts, place+1)
	}
	if c.flags&columnDense != 0 && c.missing(place) {
		return 0, 0
	}
	return place, place + 1
}

func (c *column) missing(i uint32) bool {
	if c.flags&columnNumbers != 0 {
		return binary.LittleEndian.Uint64(c.values[8*i:]) == noNumber
	}
	return at32(c.values, i) == noText
}

func at32(b []byte, i uint32) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }

func (c *column) number(i uint32) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(c.values[8*i:]))
}

// text returns a text where it lies in the segment: it ends with the segment's bytes.
func (c *column) text(i uint32) string {
	o := at32(c.values, i)
	b := c.dictionary[at32(c.offsets, o):at32(c.offsets, o+1)]
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// copyTo adds a document's values to a column that is being gathered.
func (c *column) copyTo(b *columnBuilder, from, to uint32) {
	for i, end := c.span(from); i < end; i++ {
		if c.flags&columnNumbers != 0 {
			b.number(to, c.number(i))
		} else {
			b.text(to, c.text(i))
		}
	}
}

// ascends is Column.Ascends for a document: texts are compared by their places in the
// dictionary, which is in order.
func (c *column) ascends(doc uint32) uint32 {
	if c.flags&(columnDense|columnMany|columnNumbers) != columnDense {
		return doc + 1
	}
	last := at32(c.values, doc)
	for doc++; doc < c.documentsEnd; doc++ {
		now := at32(c.values, doc)
		if now <= last || now == noText {
			break
		}
		last = now
	}
	return doc
}
