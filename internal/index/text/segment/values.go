package segment

import index "github.com/blevesearch/bleve_index_api"

// Column is the values of a field by the numbers of documents. Its texts lie in the
// segments: who keeps one for longer than the Reader is open clones it.
type Column struct {
	r   *Reader
	per []columnsOf
}

// columnsOf is the columns of a field in one segment.
type columnsOf struct{ numbers, lastTerms, facetNumbers, facetTexts *column }

// Column returns the values of a field. It may be used by many goroutines.
func (r *Reader) Column(field string) *Column {
	c := &Column{r: r, per: make([]columnsOf, len(r.sources))}
	for i := range r.sources {
		s := r.sources[i].Segment
		c.per[i] = columnsOf{s.column(field, numbers), s.column(field, lastTerms), s.column(field, facetNumbers), s.column(field, facetTexts)}
	}
	return c
}

// Number is the greatest number of a document's indexed field, by which it is sorted.
func (c *Column) Number(doc uint64) (greatest float64, ok bool) {
	s, local, found := c.r.locate(doc)
	if !found || c.per[s].numbers == nil {
		return 0, false
	}
	of := c.per[s].numbers
	for i, end := of.span(local); i < end; i++ {
		if f := of.number(i); !ok || f > greatest {
			greatest, ok = f, true
		}
	}
	return greatest, ok
}

// Text is the last of the terms of a document's indexed field, by which it is sorted
// and grouped.
func (c *Column) Text(doc uint64) (string, bool) {
	s, local, found := c.r.locate(doc)
	if !found || c.per[s].lastTerms == nil {
		return "", false
	}
	i, end := c.per[s].lastTerms.span(local)
	if i == end {
		return "", false
	}
	return c.per[s].lastTerms.text(i), true
}

// Ascends returns the end of a run of documents that begins with one: in it, the last term
// of each is greater than that of the one before.
func (c *Column) Ascends(doc uint64) (end uint64) {
	s, local, found := c.r.locate(doc)
	if !found || c.per[s].lastTerms == nil {
		return doc + 1
	}
	return c.r.begins[s] + uint64(c.per[s].lastTerms.ascends(local))
}

// FacetNumbers appends the numbers of a document that are counted.
func (c *Column) FacetNumbers(dst []float64, doc uint64) []float64 {
	s, local, found := c.r.locate(doc)
	if !found || c.per[s].facetNumbers == nil {
		return dst
	}
	of := c.per[s].facetNumbers
	for i, end := of.span(local); i < end; i++ {
		dst = append(dst, of.number(i))
	}
	return dst
}

// FacetTexts appends the texts of a document that are counted.
func (c *Column) FacetTexts(dst []string, doc uint64) []string {
	s, local, found := c.r.locate(doc)
	if !found || c.per[s].facetTexts == nil {
		return dst
	}
	of := c.per[s].facetTexts
	for i, end := of.span(local); i < end; i++ {
		dst = append(dst, of.text(i))
	}
	return dst
}

// Has returns what kinds of values a field has in the segments, replaced documents
// counted in: that it is one for facets of texts, or of numbers.
func (c *Column) Has() (numbers, texts, facetNumbers, facetTexts bool) {
	for _, of := range c.per {
		numbers, texts = numbers || of.numbers != nil, texts || of.lastTerms != nil
		facetNumbers, facetTexts = facetNumbers || of.facetNumbers != nil, facetTexts || of.facetTexts != nil
	}
	return numbers, texts, facetNumbers, facetTexts
}

// DocValueReader is index.IndexReader's: the last terms of fields.
func (r *Reader) DocValueReader(fields []string) (index.DocValueReader, error) {
	d := &docValues{fields: fields}
	for _, field := range fields {
		d.columns = append(d.columns, r.Column(field))
	}
	return d, nil
}

// docValues is index.DocValueReader.
type docValues struct {
	fields  []string
	columns []*Column
}

// VisitDocValues is index.DocValueReader's.
func (d *docValues) VisitDocValues(id index.IndexInternalID, visit index.DocValueVisitor) error {
	doc, err := Number(id)
	if err != nil {
		return err
	}
	for i, c := range d.columns {
		if text, ok := c.Text(doc); ok {
			visit(d.fields[i], []byte(text))
		}
		if number, ok := c.Number(doc); ok {
			visit(d.fields[i], NumberTerm(number))
		}
	}
	return nil
}

// BytesRead is index.DocValueReader's.
func (d *docValues) BytesRead() uint64 { return 0 }
