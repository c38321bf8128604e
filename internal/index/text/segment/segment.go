package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"strings"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	index "github.com/blevesearch/bleve_index_api"
	scorch "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v16"

	"github.com/sectional/sectional/internal/packed"
)

// ErrDamaged is of bytes that are not those of a segment as it was written.
var ErrDamaged = errors.New("segment: its bytes are damaged")

// A segment's bytes are the library's, then the columns, their directory, and a tail of
// tailSize bytes: the lengths of these three, the number of documents, the version and
// the checksum of all before it.
const (
	version  = 0x0053_5401
	versionV = 0x0053_5402 // of segments with vectors
	tailSize = 8 + 8 + 8 + 4 + 4 + 4
)

// Segment is an opened segment. It may be used by many goroutines, for as long as its
// bytes are there: they may be a file that is mapped. What its methods return is a copy,
// but for the texts of Columns.
type Segment struct {
	zap   *zap.SegmentBase
	docs  uint32
	bytes int
	sum   uint32

	columnBytes []byte
	spans       map[columnKey][2]int
	mu          sync.Mutex
	columns     map[columnKey]*column
	measures    map[string]measure // of all documents, once they were asked for
}

// Build makes a segment of documents, which are in the order of their ids, each id
// once, and at least one. ErrFields if they have too many names of fields together.
func Build(docs []Document) ([]byte, error) {
	b, err := BuildEach(context.Background(), func(yield func(*Document) bool) {
		for i := range docs {
			if !yield(&docs[i]) {
				return
			}
		}
	})
	return b.Bytes, err
}

// Built is what became of documents.
type Built struct {
	Bytes []byte   // of the segment; nil if no document is in it
	IDs   []string // of the documents in it
	Left  int      // how many were left out, because they have too many terms
}

// BuildEach is Build of documents that are made one by one, since what is made of a text is
// many times as large. It ends with ctx, though the library may still be at work then: what
// it makes is dropped.
func BuildEach(ctx context.Context, docs iter.Seq[*Document]) (b Built, err error) {
	g := gatherer{names: map[string]bool{}, columns: columnsBuilder{}}
	for d := range docs {
		if err = ctx.Err(); err == nil {
			err = g.add(d)
		}
		if err != nil {
			return b, err
		}
	}
	if b.IDs, b.Left = g.ids, g.left; len(g.entries) == 0 {
		return b, nil
	}
	made := make(chan error, 1)
	var zapped []byte
	go func() {
		made <- guard("build", func() (err error) {
			zapped, err = newZap(g.entries)
			return err
		})
	}()
	select {
	case err = <-made:
	case <-ctx.Done():
		return b, ctx.Err()
	}
	if err == nil {
		b.Bytes = seal(zapped, g.columns, uint32(len(g.entries)))
	}
	return b, err
}

// gatherer takes in the documents of a segment.
type gatherer struct {
	names   map[string]bool
	entries []index.Document
	ids     []string
	columns columnsBuilder
	left    int
}

// add takes in a document, unless it has too many terms.
func (g *gatherer) add(d *Document) error {
	for i := range d.Fields {
		f := &d.Fields[i]
		if g.names[f.Name] = true; f.Vector != nil {
			g.names[shape(f.Name, len(f.Vector))] = true
		}
	}
	if len(g.names) > MaxFields {
		return ErrFields
	}
	n := uint32(len(g.entries))
	e, ok := entryOf(d)
	if !ok {
		g.left++
		return nil
	}
	g.entries, g.ids = append(g.entries, e), append(g.ids, d.ID)
	g.columns.add(n, d.Fields)
	g.columns.at(idField, lastTerms).text(n, d.ID)
	return nil
}

// newZap has the library make what it does of documents.
func newZap(entries []index.Document) ([]byte, error) {
	made, _, err := new(zap.ZapPlugin).New(entries)
	if err != nil {
		return nil, err
	}
	base, ok := made.(*zap.SegmentBase)
	if !ok {
		return nil, fmt.Errorf("segment: the library made a %T", made)
	}
	var out bytes.Buffer
	out.Grow(base.Size())
	_, err = base.WriteTo(&out)
	return out.Bytes(), err
}

// seal appends columns, directory and tail to the library's bytes.
func seal(b []byte, columns columnsBuilder, docs uint32) []byte {
	zapEnd := len(b)
	b, directory := columns.encode(b, docs)
	columnsEnd := len(b)
	b = append(b, directory...)
	b = binary.BigEndian.AppendUint64(b, uint64(zapEnd))
	b = binary.BigEndian.AppendUint64(b, uint64(columnsEnd-zapEnd))
	b = binary.BigEndian.AppendUint64(b, uint64(len(directory)))
	b = binary.BigEndian.AppendUint32(b, docs)
	b = binary.BigEndian.AppendUint32(b, columns.version())
	return binary.BigEndian.AppendUint32(b, checksum(b))
}

// version is the version of a segment with these columns: one without vectors is
// written as it always was.
func (c columnsBuilder) version() uint32 {
	for key := range c {
		if ofVectors(key.kind) {
			return versionV
		}
	}
	return version
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// Open opens a segment. It keeps b, which must not change any more. The checksum is
// looked at before anything else: ErrDamaged if it is not that of the bytes.
func Open(b []byte) (s *Segment, err error) {
	err = guard("open", func() error { // a file may be cut while it is summed
		s, err = open(b)
		return err
	})
	return s, err
}

func open(b []byte) (s *Segment, err error) {
	n := len(b) - tailSize
	if n < zap.FooterSize || checksum(b[:len(b)-4]) != binary.BigEndian.Uint32(b[len(b)-4:]) {
		return nil, ErrDamaged
	}
	tail := b[n:]
	if v := binary.BigEndian.Uint32(tail[28:]); v != version && v != versionV {
		return nil, fmt.Errorf("segment: a version %x that is not known", v)
	}
	zapEnd, columns, directory := binary.BigEndian.Uint64(tail), binary.BigEndian.Uint64(tail[8:]), binary.BigEndian.Uint64(tail[16:])
	if zapEnd+columns+directory != uint64(n) || zapEnd < zap.FooterSize {
		return nil, ErrDamaged
	}
	s = &Segment{docs: binary.BigEndian.Uint32(tail[24:]), bytes: len(b), columnBytes: b[zapEnd : zapEnd+columns], columns: map[columnKey]*column{}}
	s.sum = binary.BigEndian.Uint32(b[len(b)-4:])
	if s.zap, err = openZap(b[:zapEnd]); err == nil {
		err = s.readDirectory(b[zapEnd+columns : n])
	}
	return s, err
}

// openZap opens the library's bytes by their footer.
func openZap(b []byte) (*zap.SegmentBase, error) {
	footer := b[len(b)-zap.FooterSize:]
	if v := binary.BigEndian.Uint32(footer[44:]); v != zap.Version {
		return nil, fmt.Errorf("segment: the library wrote version %d", v)
	}
	return zap.InitSegmentBase(b[:len(b)-zap.FooterSize], binary.BigEndian.Uint32(footer[48:]), binary.BigEndian.Uint32(footer[40:]),
		binary.BigEndian.Uint64(footer), binary.BigEndian.Uint64(footer[8:]), binary.BigEndian.Uint64(footer[24:]))
}

func (s *Segment) readDirectory(b []byte) error {
	r := packed.Read(b)
	n := r.UpTo(5 * MaxFields)
	s.spans = make(map[columnKey][2]int, n)
	for range n {
		field := r.Text()
		key := columnKey{field, r.Byte()}
		at := r.UpTo(uint64(len(s.columnBytes)))
		s.spans[key] = [2]int{int(at), int(at + r.UpTo(uint64(len(s.columnBytes))-at))}
	}
	if r.Failed() || len(r.Rest()) > 0 || s.zap.Count() != uint64(s.docs) {
		return ErrDamaged
	}
	return nil
}

// column returns an opened column; nil if there is none.
func (s *Segment) column(field string, kind byte) *column {
	key := columnKey{field, kind}
	span, ok := s.spans[key]
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.columns[key]
	if c == nil {
		c = openColumn(s.columnBytes[span[0]:span[1]], s.docs)
		s.columns[key] = c
	}
	return c
}

// Count is how many documents the segment has, replaced ones too.
func (s *Segment) Count() uint32 { return s.docs }

// Bytes is how long the segment is.
func (s *Segment) Bytes() int { return s.bytes }

// Checksum is the checksum of the segment's bytes.
func (s *Segment) Checksum() uint32 { return s.sum }

// Memory is about how many bytes the opened segment holds beside its own: what is made
// of it while it is read.
func (s *Segment) Memory() int {
	return 512*(len(s.zap.Fields())+len(s.spans)) + 4096
}

// Numbers returns the numbers of documents of these ids, those that the segment has.
func (s *Segment) Numbers(ids []string) (found *roaring.Bitmap, err error) {
	err = guard("numbers", func() error {
		if found, err = s.zap.DocNumbers(ids); err == nil {
			found.CloneCopyOnWriteContainers() // the others share the segment's bytes
		}
		return err
	})
	return found, err
}

// CheckVectors reports what is wrong with the vectors of the segment.
func (s *Segment) CheckVectors() error {
	for key := range s.spans {
		if !ofVectors(key.kind) {
			continue
		}
		v, err := s.vectors(key)
		if err == nil {
			err = v.check(s.docs, Similarity(key.kind))
		}
		if _, dimensions, ok := shapeOf(key.field); err == nil && (!ok || dimensions != v.dimensions) {
			err = ErrDamaged
		}
		if err != nil {
			return fmt.Errorf("vectors %s: %w", key.field, err)
		}
	}
	return nil
}

// ID returns the id of a document by its number. It is read from a column: the
// library takes twenty times as long, and documents that are equal in every other
// respect are sorted by it.
func (s *Segment) ID(doc uint32) (string, error) {
	c := s.column(idField, lastTerms)
	if i, end := c.span(doc); i < end {
		return strings.Clone(c.text(i)), nil
	}
	return "", fmt.Errorf("segment: there is no document %d", doc)
}

// PartitionsWhere returns the documents of the partitions that test accepts.
func (s *Segment) PartitionsWhere(test func(partition string) bool) (docs *roaring.Bitmap, err error) {
	docs = roaring.New()
	err = guard("partitions", func() error {
		of := source{Segment: s, dictionaries: map[string]scorch.TermDictionary{}}
		c, err := of.terms(partitionField, nil, nil, nil)
		for ok := c != nil; ok && err == nil; ok, err = c.next() {
			if !test(c.now.Term) {
				continue
			}
			it, err := of.postings(partitionField, []byte(c.now.Term))
			if err != nil {
				return err
			}
			addTo(docs, it)
		}
		docs.CloneCopyOnWriteContainers()
		return err
	})
	return docs, err
}
