package text

import (
	"context"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text/mango"
	"github.com/sectional/sectional/internal/store"
)

// Bounds of what is built and written at once.
const (
	// largestDocument is how many bytes of values one document may give.
	largestDocument = 8 << 20
	// segmentText is about how many bytes of values go into one segment: what is made
	// of them while it is being built takes many times as much (pending.go).
	segmentText = 2 << 20
	// segmentDocs is how many documents go into one segment.
	segmentDocs = 1500
	// firstDocs is for how many documents the function is run at first: what they give
	// is held at once, and may be a thousand times what they are.
	firstDocs = 8
	// bufferBytes is about how many bytes the values that the documents after them give may
	// take in memory, and valueBytes what one takes beside its text.
	bufferBytes = 16 << 20
	valueBytes  = 256
	// largestBatch is how many bytes of segments one transaction writes.
	largestBatch = 4 << 20
)

// work is what is being done for one index.
type work struct {
	*Kind
	rows
	Script
	x *index.Index
}

func (k *Kind) work(d *store.Database, x *index.Index) *work {
	return &work{Kind: k, rows: rowsOf(d, x.Number), Script: scriptOf(d, x), x: x}
}

// Map is index.Asynchronous's.
func (k *Kind) Map(ctx context.Context, d *store.Database, x *index.Index, docs []index.Change, _ bool) (index.Batch, error) {
	w := k.work(d, x)
	if w.Def == nil || w.Analyzers == nil || k.o.Functions == nil && w.Mango == nil {
		return nil, errNoAnalyzers
	}
	changed, lost, err := w.documents(ctx, docs)
	if err != nil {
		return nil, err
	}
	b, err := w.build(ctx, changed)
	if err != nil {
		return nil, err
	}
	if err := b.commit(1); err != nil {
		return nil, err
	}
	b.failed = lost
	return b, nil
}

// commit writes parts until so many are left, each in a transaction of its own. What is
// written before the others is written again if the work stops here, over itself.
func (b *batch) commit(left int) error {
	for len(b.parts) > left {
		first := &batch{w: b.w, ctx: b.ctx, parts: b.parts[:1]}
		if err := b.w.d.Commit(b.ctx, first.Apply); err != nil {
			return err
		}
		b.parts = b.parts[1:]
	}
	return nil
}

// failures counts documents that are not in the index although they are there.
type failures struct{ skipped, stopped uint64 }

// changed is documents that changed.
type changed struct {
	ids      []string // all, in order
	segments []built  // of those for which something is indexed, in order
}

// input is a document that is there.
type input struct {
	id   document.ID
	text []byte // JSON
}

// inputs returns the ids of documents, each once and in order, and those that are there.
func inputs(docs []index.Change) (ids []string, there []input) {
	seen := make(map[document.ID]bool, len(docs))
	for _, d := range docs {
		if seen[d.ID] {
			continue
		}
		seen[d.ID] = true
		ids = append(ids, string(d.ID))
		if d.Rev != nil {
			there = append(there, input{d.ID, d.Document(false)})
		}
	}
	slices.Sort(ids)
	slices.SortFunc(there, func(a, b input) int { return strings.Compare(string(a.id), string(b.id)) })
	return ids, there
}

// documents runs the index function over documents, each once, and makes segments of what
// it returns: a few documents at a time, so that what is held does not depend on how much
// that is. Segments that are more than one transaction takes are written on the way; c is
// the rest.
func (w *work) documents(ctx context.Context, docs []index.Change) (c changed, lost failures, err error) {
	ids, left := inputs(docs)
	c.ids = ids
	held := pending{w: w, failed: &lost}
	for most := firstDocs; len(left) > 0; {
		some := left[:min(most, len(left))]
		left = left[len(some):]
		bytes, err := w.some(ctx, some, &held, &lost)
		if err != nil {
			return c, lost, err
		}
		if most *= 2; bytes > 0 {
			most = max(min(most, len(some)*bufferBytes/bytes), 1)
		}
		if len(left) > 0 && held.bytes() > w.batch {
			if c, err = w.writeBefore(ctx, c, left[0].id, &held); err != nil {
				return c, lost, err
			}
		}
	}
	err = held.build(ctx)
	c.segments = held.segments
	return c, lost, err
}

// writeBefore writes the segments of the documents before one, and returns what is left.
func (w *work) writeBefore(ctx context.Context, c changed, id document.ID, held *pending) (changed, error) {
	if err := held.build(ctx); err != nil {
		return c, err
	}
	upTo, _ := slices.BinarySearch(c.ids, string(id))
	b, err := w.build(ctx, changed{ids: c.ids[:upTo], segments: held.segments})
	if err == nil {
		err = b.commit(0)
	}
	held.segments, c.ids = nil, c.ids[upTo:]
	return c, err
}

// some runs the index function over a few documents, and returns how many bytes of values
// they gave.
func (w *work) some(ctx context.Context, some []input, held *pending, lost *failures) (bytes int, err error) {
	results, err := w.given(ctx, some)
	if err != nil {
		return 0, err
	}
	for i, r := range results {
		results[i] = Result{}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if r.Stopped {
			lost.stopped++
		}
		bytes += sizeOf(r.Fields) + valueBytes*len(r.Fields)
		if r.Err != nil || !w.fits(r.Fields, len(some[i].text)) {
			lost.skipped++
			continue
		}
		if len(r.Fields) == 0 {
			continue
		}
		if err := held.add(ctx, given{some[i].id, r.Fields}); err != nil {
			return 0, err
		}
	}
	return bytes, nil
}

// given returns what documents have: what the function says, or Mango's definition.
func (w *work) given(ctx context.Context, docs []input) ([]Result, error) {
	if w.Mango == nil {
		texts := make([][]byte, len(docs))
		for i := range docs {
			texts[i] = docs[i].text
		}
		return w.o.Functions.Index(ctx, w.Script, texts)
	}
	results := make([]Result, len(docs))
	for i := range docs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		values, err := w.Mango.Values(string(docs[i].id), docs[i].text)
		results[i].Err = err
		for _, v := range values {
			results[i].Fields = append(results[i].Fields, w.ofMango(v))
		}
	}
	return results, nil
}

// ofMango is a value of an index of Mango's. In one of Nouveau's every text but those for
// $text is a term as it is, which can be sorted by.
func (w *work) ofMango(v mango.Value) Indexed {
	x := Indexed{Name: v.Name, Value: v.Value, Index: true}
	if w.Def.Nouveau {
		x.Measured = true
		_, number := v.Value.(float64)
		x.Whole = !number && !v.Words()
		x.Facet = number || x.Whole && !strings.HasPrefix(v.Name, "$")
	}
	return x
}

// part is what one transaction writes: documents that changed, and the segments of those
// that give something.
type part struct {
	ids      []string
	segments []built
	bytes    int
	// found are the old versions of the documents in the segments of manifest known.
	known map[uint64]bool
	found map[uint64]*roaring.Bitmap
}

// built is a segment that was built.
type built struct {
	entry
	made []byte
}

// build makes parts of what changed, and finds the old versions.
func (w *work) build(ctx context.Context, c changed) (*batch, error) {
	b := &batch{w: w, ctx: ctx}
	p := &part{}
	for _, made := range c.segments {
		if p.bytes > 0 && p.bytes+len(made.made) > w.batch {
			upTo, _ := slices.BinarySearch(c.ids, made.first)
			p.ids, c.ids = c.ids[:upTo], c.ids[upTo:]
			b.parts, p = append(b.parts, p), &part{}
		}
		p.segments, p.bytes = append(p.segments, made), p.bytes+len(made.made)
	}
	p.ids = c.ids
	b.parts = append(b.parts, p)
	for _, p := range b.parts {
		if err := w.findOld(ctx, p); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// findOld finds the versions of a part's documents that are in the index.
func (w *work) findOld(ctx context.Context, p *part) error {
	return w.d.Whole().View(ctx, func(r *store.Reader) error {
		m, err := w.readManifest(r.Snapshot().Get)
		if err != nil {
			return err
		}
		p.known, p.found = map[uint64]bool{}, map[uint64]*roaring.Bitmap{}
		for i := range m.segments {
			e := &m.segments[i]
			p.known[e.number] = true
			if err := w.findIn(r.Snapshot(), e, p.ids, p.found); err != nil {
				return err
			}
		}
		return nil
	})
}
