package text

import (
	"errors"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text/segment"
	"github.com/sectional/sectional/internal/store"
)

// NewReader reads index x at r's snapshot, or only partition p of it. What is not to be
// seen is not read: documents of a partition that is being dropped. The reader does not
// need r any more, and is to be closed. The error is *index.Damaged if a segment is not what
// was written, and Unavailable if what is to be read has no room, neither in files nor in
// memory.
func (k *Kind) NewReader(r *store.Reader, x *index.Index, p document.Partition) (*segment.Reader, error) {
	at := rowsOf(r.Database(), x.Number)
	m, err := at.readManifest(r.Snapshot().Get)
	if err != nil || r.Hides() && (p != "" || x.Tenant != "") && !r.Sees(document.ID(p+":")) {
		return &segment.Reader{}, err
	}
	m.restrict(p)
	sources, err := k.sources(at, r, m.segments, false)
	if errors.Is(err, errMemory) {
		err = errTooLarge(m.bytes())
	}
	if err == nil && p == "" && r.Hides() && x.Tenant == "" {
		err = k.hide(r, sources)
	}
	if err != nil {
		segment.Release(sources)
		return nil, err
	}
	reader, err := segment.NewReader(sources, string(p))
	if errors.Is(err, segment.ErrReleased) {
		err = errFile
	}
	return reader, err
}

// errTooLarge is told to who searches an index for which there is no room.
func errTooLarge(bytes uint64) error {
	return dberr.New(dberr.Unavailable, "index_too_large", "A search needs %d MB of its index: there is no room for files of it, and `[sectional] text_cache` allows less in memory. Searches in a partition need what that has.", bytes>>20)
}

// sources opens segments with what is deleted of them. Those that it returns are held, with
// an error too.
func (k *Kind) sources(at rows, r *store.Reader, segments []entry, must bool) ([]segment.Source, error) {
	sources := make([]segment.Source, 0, len(segments))
	for i := range segments {
		e := &segments[i]
		s, held, err := k.open(at, r.Snapshot(), e, must)
		if err != nil {
			return sources, err
		}
		sources = append(sources, segment.Source{Segment: s, Ref: held})
		if e.deleted == 0 {
			continue
		}
		if sources[i].Deleted, err = at.readDeleted(r.Snapshot().Get, e.number); err != nil {
			return sources, err
		}
	}
	return sources, nil
}

// hide takes the documents of partitions that are being dropped for deleted.
func (k *Kind) hide(r *store.Reader, sources []segment.Source) error {
	for i := range sources {
		hidden, err := sources[i].Segment.PartitionsWhere(func(p string) bool { return !r.Sees(document.ID(p + ":")) })
		if err != nil {
			return k.failed(sources[i].Ref, err)
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
