package text

import (
	"context"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/kv"
)

// batch is index.Batch: what is to be written about a run of changes.
type batch struct {
	w      *work
	ctx    context.Context
	parts  []*part
	failed failures
}

var _ index.Batch = (*batch)(nil)

// Skipped is index.Batch's.
func (b *batch) Skipped() uint64 { return b.failed.skipped }

// Stopped is index.Batch's.
func (b *batch) Stopped() uint64 { return b.failed.stopped }

// Size is index.Batch's.
func (b *batch) Size() (rows, bytes int) {
	for _, p := range b.parts {
		rows += 2 + len(p.found) + p.bytes/chunkBytes
		bytes += p.bytes
	}
	return rows, bytes
}

// Apply is index.Batch's: it adds the new segments to the manifest as it is now, and
// marks the old versions of the documents as deleted. A merge may have moved these since
// they were found: then they are looked up again.
func (b *batch) Apply(tx kv.Txn) error {
	m, err := b.w.readManifest(tx.GetForUpdate)
	if err != nil {
		return err
	}
	changed := false
	for _, p := range b.parts {
		gone, err := b.w.old(tx, &m, p)
		if err != nil {
			return err
		}
		for number, docs := range gone {
			if err := b.w.markDeleted(tx, &m, number, docs); err != nil {
				return err
			}
		}
		for _, s := range p.segments {
			if err := b.w.putSegment(tx, &m, s); err != nil {
				return err
			}
		}
		changed = changed || len(gone) > 0 || len(p.segments) > 0
	}
	if !changed {
		return nil
	}
	return tx.Put(b.w.manifest(), m.pack())
}

// old returns where the old versions of a part's documents are in the segments that
// there are now.
func (w *work) old(tx kv.Txn, m *manifest, p *part) (map[uint64]*roaring.Bitmap, error) {
	gone := map[uint64]*roaring.Bitmap{}
	for i := range m.segments {
		e := &m.segments[i]
		if p.known[e.number] {
			if docs := p.found[e.number]; docs != nil {
				gone[e.number] = docs
			}
			continue
		}
		if err := w.findIn(tx, e, p.ids, gone); err != nil {
			return nil, err
		}
	}
	return gone, nil
}

// findIn finds the documents of ids, which are in order, in a segment.
func (w *work) findIn(v kv.Snapshot, e *entry, ids []string, found map[uint64]*roaring.Bitmap) error {
	from, _ := slices.BinarySearch(ids, e.first)
	to, exact := slices.BinarySearch(ids, e.last)
	if exact {
		to++
	}
	if from >= to {
		return nil
	}
	s, held, err := w.open(w.rows, v, e, true)
	if err != nil {
		return err
	}
	defer held.Release()
	docs, err := s.Numbers(ids[from:to])
	if err != nil {
		return w.failed(held, err)
	}
	if !docs.IsEmpty() {
		found[e.number] = docs
	}
	return nil
}

// markDeleted marks documents of a segment as deleted. A segment of which none is left
// goes.
func (w *work) markDeleted(tx kv.Txn, m *manifest, number uint64, docs *roaring.Bitmap) error {
	at := m.find(number)
	e := &m.segments[at]
	gone, err := w.readDeleted(tx.GetForUpdate, number)
	if err != nil {
		return err
	}
	gone.Or(docs)
	if e.deleted = uint32(gone.GetCardinality()); e.deleted < e.docs {
		return w.putDeleted(tx, number, gone)
	}
	if err := w.remove(tx, e); err != nil {
		return err
	}
	m.segments = slices.Delete(m.segments, at, at+1)
	return nil
}

// putSegment writes a new segment.
func (w *work) putSegment(tx kv.Txn, m *manifest, s built) error {
	s.number = m.next
	m.next++
	at := uint64(0)
	for chunk := range slices.Chunk(s.made, chunkBytes) {
		if err := tx.Put(w.chunk(s.number, at), chunk); err != nil {
			return err
		}
		at++
	}
	m.add(s.entry)
	return nil
}
