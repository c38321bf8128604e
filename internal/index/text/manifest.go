package text

import (
	"errors"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/store"
)

// manifestVersion is the version of manifests.
const manifestVersion = 1

// manifest says which segments an index has. The value of a text-manifest row.
type manifest struct {
	next     uint64  // the number of the next segment
	segments []entry // in the order of their first ids
}

// entry is a segment of a manifest.
type entry struct {
	number      uint64
	docs        uint32 // with those that were deleted
	deleted     uint32
	bytes       uint64
	checksum    uint32 // of the bytes
	first, last string // the least and the greatest id
}

// live is how many documents a query sees.
func (e *entry) live() uint32 { return e.docs - e.deleted }

// mayHold reports whether an id lies between those of the segment.
func (e *entry) mayHold(id string) bool { return e.first <= id && id <= e.last }

// pack writes a manifest.
func (m *manifest) pack() []byte {
	w := packed.Writer{manifestVersion}
	w.Uint(m.next)
	w.Uint(uint64(len(m.segments)))
	for _, e := range m.segments {
		w.Uint(e.number)
		w.Uint(uint64(e.docs))
		w.Uint(uint64(e.deleted))
		w.Uint(e.bytes)
		w.Uint(uint64(e.checksum))
		w.Text(e.first)
		w.Text(e.last)
	}
	return w
}

// unpackManifest reads what pack wrote.
func unpackManifest(b []byte) (m manifest, err error) {
	r := packed.ReadVersion(b, manifestVersion)
	m.next = r.Uint()
	n := r.UpTo(uint64(len(b)))
	m.segments = make([]entry, 0, n)
	for range n {
		e := entry{number: r.Uint(), docs: uint32(r.UpTo(1 << 31)), deleted: uint32(r.UpTo(1 << 31)), bytes: r.UpTo(1 << 40), checksum: uint32(r.UpTo(1<<32 - 1)),
			first: r.Text(), last: r.Text()}
		if e.deleted > e.docs {
			r.Fail()
		}
		m.segments = append(m.segments, e)
	}
	return m, r.Done()
}

// add adds a segment in its place.
func (m *manifest) add(e entry) {
	at, _ := slices.BinarySearchFunc(m.segments, e, func(a, b entry) int {
		if c := strings.Compare(a.first, b.first); c != 0 {
			return c
		}
		return int(a.number) - int(b.number)
	})
	m.segments = slices.Insert(m.segments, at, e)
}

// restrict leaves the segments that may have documents of a partition; all for "".
func (m *manifest) restrict(p document.Partition) {
	if p == "" {
		return
	}
	from, to := partitionSpan(p)
	m.segments = slices.DeleteFunc(m.segments, func(e entry) bool { return e.last < from || e.first >= to })
}

// bytes is how many bytes the segments have together.
func (m *manifest) bytes() (n uint64) {
	for _, e := range m.segments {
		n += e.bytes
	}
	return n
}

// find returns the place of a segment; -1 if there is none of this number.
func (m *manifest) find(number uint64) int {
	return slices.IndexFunc(m.segments, func(e entry) bool { return e.number == number })
}

// rows are the rows of one index.
type rows struct {
	d         *store.Database
	db, index uint64
}

func rowsOf(d *store.Database, index uint64) rows { return rows{d, d.Number(), index} }

func (r rows) manifest() []byte { return keyspace.TextManifest.Key(r.db, keyspace.U(r.index)) }

func (r rows) deleted(segment uint64) []byte {
	return keyspace.TextDeleted.Key(r.db, keyspace.U(r.index), keyspace.U(segment))
}

func (r rows) pending(segment uint64) []byte {
	return keyspace.TextPending.Key(r.db, keyspace.U(r.index), keyspace.U(segment))
}

func (r rows) chunk(segment, chunk uint64) []byte {
	return keyspace.TextChunk.Key(r.db, keyspace.U(r.index), keyspace.U(segment), keyspace.U(chunk))
}

// chunkBytes is how long the chunks of a segment are, as store.Large writes them.
const chunkBytes = 64 << 10

func chunks(bytes uint64) uint64 { return (bytes + chunkBytes - 1) / chunkBytes }

// getter reads a row: of a snapshot, or of a transaction for update.
type getter func(key []byte) ([]byte, error)

// readManifest reads the manifest; an index without one has no segments.
func (r rows) readManifest(get getter) (m manifest, err error) {
	value, err := get(r.manifest())
	if errors.Is(err, kv.ErrNotFound) {
		return manifest{next: 1}, nil
	}
	if err != nil {
		return m, err
	}
	if m, err = unpackManifest(value); err != nil {
		err = damaged(err)
	}
	return m, err
}

// readDeleted reads which documents of a segment are deleted; none without a row.
func (r rows) readDeleted(get getter, segment uint64) (*roaring.Bitmap, error) {
	gone := roaring.New()
	value, err := get(r.deleted(segment))
	if errors.Is(err, kv.ErrNotFound) {
		return gone, nil
	}
	if err != nil {
		return nil, err
	}
	if err := gone.UnmarshalBinary(value); err != nil {
		return nil, damaged(err)
	}
	return gone, nil
}

// putDeleted writes which documents of a segment are deleted.
func (r rows) putDeleted(tx kv.Txn, segment uint64, gone *roaring.Bitmap) error {
	gone.RunOptimize()
	value, err := gone.MarshalBinary()
	if err != nil {
		return err
	}
	return tx.Put(r.deleted(segment), value)
}

// remove deletes the rows of a segment.
func (r rows) remove(tx kv.Txn, e *entry) error {
	for i := range chunks(e.bytes) {
		if err := tx.Delete(r.chunk(e.number, i)); err != nil {
			return err
		}
	}
	return tx.Delete(r.deleted(e.number))
}

// partitionSpan is the ids of a partition: from the first on, before the second.
func partitionSpan(p document.Partition) (from, to string) { return string(p) + ":", string(p) + ";" }
