package text

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/blevesearch/bleve/v2/analysis"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index/text/segment"
)

// What the terms of a document take while a segment is made of it is up to a hundred times
// what its texts take. So texts become terms one document after the other, and whoever does
// that takes what it may need from a budget that all indexes share: one document of
// megabytes, or a few batches of small ones.
const (
	// perByte is for how many bytes of memory a byte of text may stand: with words of six
	// letters that differ it is as much.
	perByte = 64
	// buildBytes is the budget where nobody says another, and the most that anybody takes of it.
	buildBytes = 384 << 20
	// largeShare is from which share of it on what was taken is given back to the system at once:
	// it is the largest part of what the process has.
	largeShare = 2
	// perMerged is for how many bytes a byte of merged segments stands.
	perMerged = 8
)

// reserve takes memory from the budget, waiting for it, and returns what gives it back.
func (k *Kind) reserve(ctx context.Context, bytes int) (free func(), err error) {
	n := int64(min(bytes, k.o.Build))
	if err := k.budget.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() {
		if n >= int64(k.o.Build/largeShare) {
			runtime.GC() // what pools keep goes with the second one
			debug.FreeOSMemory()
		}
		k.budget.Release(n)
	}, nil
}

// given is what a document gave.
type given struct {
	id     document.ID
	fields []Indexed
}

// pending is documents of which a segment is to be made, in order, and segments that were.
type pending struct {
	w        *work
	failed   *failures
	docs     []given
	size     int // bytes of their values
	segments []built
}

// add adds a document, and makes segments if there are enough of them.
func (p *pending) add(ctx context.Context, d given) error {
	p.docs = append(p.docs, d)
	p.size += sizeOf(d.fields)
	if p.size < segmentText && len(p.docs) < segmentDocs {
		return nil
	}
	return p.build(ctx)
}

// bytes is how many bytes the segments have that were made.
func (p *pending) bytes() (n int) {
	for _, s := range p.segments {
		n += len(s.made)
	}
	return n
}

// build makes segments of all documents.
func (p *pending) build(ctx context.Context) error {
	for len(p.docs) > 0 {
		n, b, err := p.some(ctx)
		if err != nil {
			return err
		}
		p.failed.skipped += uint64(b.Left)
		if ids := b.IDs; len(ids) > 0 {
			sum := binary.BigEndian.Uint32(b.Bytes[len(b.Bytes)-4:])
			e := entry{docs: uint32(len(ids)), bytes: uint64(len(b.Bytes)), checksum: sum, first: ids[0], last: ids[len(ids)-1]}
			p.segments = append(p.segments, built{e, b.Bytes})
		}
		p.docs = p.docs[n:]
	}
	p.docs, p.size = nil, 0
	return nil
}

// some makes a segment of the first of the documents, as many as go into one.
func (p *pending) some(ctx context.Context) (n int, b segment.Built, err error) {
	size := 0
	for n < len(p.docs) && n < segmentDocs && (n == 0 || size < segmentText) {
		size += sizeOf(p.docs[n].fields)
		n++
	}
	free, err := p.w.reserve(ctx, size*perByte)
	if err != nil {
		return 0, b, err
	}
	defer free()
	for {
		left := 0
		b, err = segment.BuildEach(ctx, p.w.analyze(p.docs[:n], &left))
		b.Left += left
		if !errors.Is(err, segment.ErrFields) || n == 1 {
			return n, b, err
		}
		n /= 2
	}
}

// analyze makes documents of segments of what documents gave. left counts those that have
// too many words.
func (w *work) analyze(docs []given, left *int) iter.Seq[*segment.Document] {
	return func(yield func(*segment.Document) bool) {
		for _, g := range docs {
			d, ok := w.analyzed(g.id, g.fields)
			if !ok {
				*left++
			} else if !yield(d) {
				return
			}
		}
	}
}

// analyzed makes a document of a segment. It is not ok if it has too many words.
func (w *work) analyzed(id document.ID, fields []Indexed) (d *segment.Document, ok bool) {
	tokens := 0
	d = &segment.Document{ID: string(id), Fields: make([]segment.Field, 0, len(fields))}
	if w.Tenant == "" && w.d.Partitioned() {
		d.Partition = string(id.Partition())
	}
	for i := range fields {
		in := &fields[i]
		f := segment.Field{Name: in.Name, Boost: in.Boost, Index: in.Index, Store: in.Store, Facet: in.Facet, Measured: in.Measured}
		switch v := in.Value.(type) {
		case float64:
			if math.IsNaN(v) {
				continue
			}
			f.Number = &v
		case bool:
			f.Text = strconv.FormatBool(v)
		case string:
			f.Text = v
		case []float32:
			f = segment.Field{Name: in.Name, Vector: v, Similarity: in.Similarity}
		default:
			continue
		}
		if f.Number == nil && f.Vector == nil && f.Index {
			f.Tokens = w.tokens(in, f.Text)
			if tokens += len(f.Tokens); tokens > segment.MaxPlaces {
				return d, false
			}
		}
		d.Fields = append(d.Fields, f)
	}
	return d, true
}

func (w *work) tokens(in *Indexed, text string) analysis.TokenStream {
	if _, is := in.Value.(bool); is || in.Whole {
		return analysis.TokenStream{&analysis.Token{Term: []byte(text), End: len(text), Position: 1}}
	}
	return w.Analyzers.For(in.Name).Analyze([]byte(text))
}
