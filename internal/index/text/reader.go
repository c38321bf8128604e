package text

import (
	"github.com/RoaringBitmap/roaring/v2"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/store"
)

// NewReader reads index x at r's snapshot, or only partition p of it. What is not to be
// seen is not read: documents of a partition that is being dropped. The error is
// *index.Damaged if a segment is not what was written, and Unavailable if what is to be
// read is more than Options.Cache.
func (k *Kind) NewReader(r *store.Reader, x *index.Index, p document.Partition) (*segment.Reader, error) {
	at := rowsOf(r.Database(), x.Number)
	m, err := at.readManifest(r.Snapshot().Get)
	if err != nil || r.Hides() && (p != "" || x.Tenant != "") && !r.Sees(document.ID(p+":")) {
		return &segment.Reader{}, err
	}
	m.restrict(p)
	if m.bytes() > uint64(k.o.Cache) {
		return nil, errTooLarge(m.bytes())
	}
	sources := make([]segment.Source, len(m.segments))
	for i := range m.segments {
		if sources[i], err = k.source(at, r, &m.segments[i]); err != nil {
			return nil, err
		}
	}
	if p == "" && r.Hides() && x.Tenant == "" {
		if err := hide(r, sources); err != nil {
			return nil, err
		}
	}
	return segment.NewReader(sources, string(p))
}

// errTooLarge is told to who searches an index that would not fit into memory.
func errTooLarge(bytes uint64) error {
	return dberr.New(dberr.Unavailable, "index_too_large", "A search would have %d MB of its index in memory: `[sectional] text_cache` allows less. Searches in a partition need what that has.", bytes>>20)
}

// source opens a segment with what is deleted of it.
func (k *Kind) source(at rows, r *store.Reader, e *entry) (s segment.Source, err error) {
	if s.Segment, err = k.open(at, r.Snapshot(), e); err != nil || e.deleted == 0 {
		return s, err
	}
	s.Deleted, err = at.readDeleted(r.Snapshot().Get, e.number)
	return s, err
}

// hide takes the documents of partitions that are being dropped for deleted.
func hide(r *store.Reader, sources []segment.Source) error {
	for i := range sources {
		hidden, err := sources[i].Segment.PartitionsWhere(func(p string) bool { return !r.Sees(document.ID(p + ":")) })
		if err != nil {
			return err
		}
		if hidden.IsEmpty() {
			continue
		}
		if sources[i].Deleted == nil {
			sources[i].Deleted = roaring.New()
		}
		sources[i].Deleted.Or(hidden)
	}
	return nil
}

// Info is what an index is, for those who ask for its size.
type Info struct {
	Docs, Deleted uint64 // documents that answers come from, and old versions
	Bytes         uint64 // of its segments
	Segments      int
}

// InfoOf reads what an index has at r's snapshot.
func (k *Kind) InfoOf(r *store.Reader, x *index.Index) (i Info, err error) {
	m, err := rowsOf(r.Database(), x.Number).readManifest(r.Snapshot().Get)
	for _, e := range m.segments {
		i.Docs += uint64(e.live())
		i.Deleted += uint64(e.deleted)
		i.Bytes += e.bytes
		i.Segments++
	}
	return i, err
}
