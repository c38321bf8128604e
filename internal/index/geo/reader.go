package geo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/golang/geo/s2"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/geometry"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// Reader reads a geo index, or one partition of it, at one snapshot.
type Reader struct {
	layout
	r         *store.Reader
	v         kv.Snapshot
	partition document.Partition
	hide      bool // rows of documents that may not be seen lie among the others
	gone      bool // no row may be seen: the partition is being dropped
	// Read counts the rows that were looked at.
	Read int

	parts []keyspace.Part // of the key that was read last
}

// NewReader reads index x at r's snapshot; p is "" for a global index.
func NewReader(r *store.Reader, x *index.Index, p document.Partition) *Reader {
	v := &Reader{layout: layoutOf(r.Database().Number(), x), r: r, v: r.Snapshot(), partition: p, hide: r.Hides()}
	v.gone = v.hide && p != "" && !r.Sees(document.ID(p+":"))
	return v
}

// Hit is a geometry that was found.
type Hit struct {
	ID       document.ID
	Number   int     // among the document's geometries
	Distance float64 // in metres, of Nearest
	At       []byte  // where its row is, of Search
}

// Place is what a page of a search comes to.
type Place struct {
	At  []byte // after which the next page begins
	End bool   // there is none
}

// Rename returns a place (Hit.At) with the id in it as fn gives it, for readers who are
// shown other ids than are stored; false if it is no place, or fn says so.
func Rename(at []byte, fn func(document.ID) (document.ID, bool)) ([]byte, bool) {
	before := keyspace.GeoRow.Key(0, keyspace.U(0), keyspace.T(""))
	_, parts, err := keyspace.GeoRow.Decode(append(bytes.Clone(before), at...))
	if err != nil || len(parts) != 6 {
		return nil, false
	}
	id, ok := fn(document.ID(parts[4].String()))
	parts[4] = keyspace.T(string(id))
	return keyspace.GeoRow.Key(0, parts...)[len(before):], ok
}

// Bounds of a page: rows, and bytes of geometries that are read.
const (
	pageRows  = 20_000
	pageBytes = 4 << 20
)

// ErrInvolved says that a geometry can't be held against the one that was asked for.
var ErrInvolved = dberr.New(dberr.Invalid, "query_parse_error", "To hold a document against this geometry would take too long: their edges may cross too often. Simplify the geometry.")

// Search calls yield with what a query means, in the order of the rows' places, beginning past
// the place after; nil for the beginning. It ends when yield returns false, or with the page.
func (v *Reader) Search(ctx context.Context, q *Query, after []byte, yield func(Hit) bool) (Place, error) {
	s := search{Reader: v, ctx: ctx, q: q, after: after, yield: yield, rows: pageRows, bytes: pageBytes, place: Place{At: after}}
	for class := range uint64(2) {
		if more, err := s.class(class); err != nil || !more {
			return s.place, err
		}
	}
	s.place.End = true
	return s.place, nil
}

// search is a Search under way.
type search struct {
	*Reader
	ctx         context.Context
	q           *Query
	after       []byte
	yield       func(Hit) bool
	rows, bytes int // that may still be looked at
	place       Place
	at          []byte // of the row that was looked at last
}

// errPage ends a walk with its page.
var errPage = errors.New("geo: the page ends")

// class searches the rows of a class; more is false at the end of the page.
func (s *search) class(class uint64) (more bool, err error) {
	if s.gone {
		return true, nil
	}
	spans := s.q.spansOf(class)
	err = s.walk(s.ctx, class, spans, s.after, func(row row) error {
		if err := s.one(class, spans, &row); err != nil {
			return err
		}
		s.at = append(s.at[:0], row.place...)
		s.place.At = s.at
		if s.rows--; s.rows <= 0 || s.bytes <= 0 {
			return errPage
		}
		return nil
	})
	if errors.Is(err, errPage) {
		return false, nil
	}
	return err == nil, err
}

// one looks at a row.
func (s *search) one(class uint64, spans []span, row *row) error {
	matches, err := s.matches(class, spans, row)
	if err != nil || !matches {
		return err
	}
	at := bytes.Clone(row.place)
	if !s.yield(Hit{ID: row.id, Number: row.number, At: at}) {
		s.place.At = at
		return errPage
	}
	return nil
}

func (s *search) matches(class uint64, spans []span, row *row) (bool, error) {
	if class == classPoint {
		p, err := unpackPoint(row.value)
		if err != nil {
			return false, damaged(err)
		}
		return s.q.Shape.RelatesToPoint(s.q.Relation, p), nil
	}
	if err := s.ctx.Err(); err != nil {
		return false, err
	}
	if s.q.Relation.Meets() {
		b, err := unpackBounds(row.value)
		if err != nil {
			return false, damaged(err)
		}
		if !s.q.Shape.NearBox(b) {
			return false, nil
		}
	}
	g, err := s.geometry(row)
	if err != nil || first(g.cells, spans) != row.cell {
		return false, err
	}
	s.bytes -= len(g.json)
	shape, err := g.shape()
	if err != nil {
		return false, err
	}
	return s.relates(s.q, shape)
}

// relates holds a shape against a query.
func (v *Reader) relates(q *Query, s *geometry.Shape) (bool, error) {
	yes, err := q.Shape.Relates(q.Relation, s)
	if errors.Is(err, geometry.ErrInvolved) {
		err = ErrInvolved
	}
	return yes, err
}

// damaged says that a row is not what was written: the index is built anew.
func damaged(err error) error { return &index.Damaged{Err: err} }

// geometry reads the geometry of a row from its document's back-row.
func (v *Reader) geometry(row *row) (placed, error) {
	value, err := v.v.Get(v.back(row.id))
	if errors.Is(err, kv.ErrNotFound) {
		err = damaged(errBack)
	}
	if err != nil {
		return placed{}, err
	}
	b, err := unpackBack(value)
	if err != nil || row.number >= len(b.geometries) {
		return placed{}, damaged(errBack)
	}
	return b.geometries[row.number], nil
}

// row is a row of an index. It is borrowed until the next one.
type row struct {
	place  []byte // its key after the index's number and the partition
	cell   s2.CellID
	id     document.ID
	number int
	value  []byte
}

// maxRows is how many rows are read before it is looked whether anybody waits still.
const maxRows = 256

// walk calls fn with the rows of a class whose cells lie in spans, beginning after a place.
// Rows that may not be seen are passed over; it is looked now and then whether anybody waits.
func (v *Reader) walk(ctx context.Context, class uint64, spans []span, after []byte, fn func(row row) error) error {
	prefix := keyspace.GeoRow.Key(v.db, keyspace.U(v.index), keyspace.T(string(v.partition)))
	it, err := v.v.Iterate(kv.Prefix(v.class(v.partition, class)), kv.IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	var from []byte // nil for the beginning
	if after != nil {
		from = append(append(bytes.Clone(prefix), after...), 0)
	}
	placed := false // it is on the first row behind the spans before
	for _, s := range spans {
		start, end := v.cellKey(class, s.low), kv.PrefixEnd(v.cellKey(class, s.high))
		if from != nil && bytes.Compare(from, end) >= 0 {
			continue
		}
		if bytes.Compare(from, start) > 0 {
			start = from
		}
		ok := placed && bytes.Compare(it.Key(), start) >= 0 || it.Seek(start)
		for placed = true; ok && bytes.Compare(it.Key(), end) < 0; ok = it.Next() {
			if v.Read++; v.Read%maxRows == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			r, seen, err := v.read(it, len(prefix))
			if err == nil && seen {
				err = fn(r)
			}
			if err != nil {
				return err
			}
		}
		if !ok { // nothing lies in the spans that are left
			return it.Err()
		}
	}
	return nil
}

// has reports whether there are rows of a class.
func (v *Reader) has(class uint64) (bool, error) {
	it, err := v.v.Iterate(kv.Prefix(v.class(v.partition, class)), kv.IterOptions{})
	if err != nil {
		return false, err
	}
	defer it.Close()
	return it.Next(), it.Err()
}

func (v *Reader) cellKey(class uint64, c s2.CellID) []byte {
	return keyspace.GeoRow.Key(v.db, keyspace.U(v.index), keyspace.T(string(v.partition)), keyspace.U(class), keyspace.U(uint64(c)))
}

// read reads the row that an iterator is on; seen is false if it may not be seen.
func (v *Reader) read(it kv.Iterator, prefix int) (r row, seen bool, err error) {
	if _, v.parts, err = keyspace.GeoRow.DecodeInto(v.parts[:0], it.Key()); err != nil {
		return r, false, err
	}
	r = row{place: it.Key()[prefix:], cell: s2.CellID(v.parts[3].Num()), id: document.ID(v.parts[4].String()), number: int(v.parts[5].Num())}
	if v.hide && !v.r.Sees(r.id) {
		return r, false, nil
	}
	r.value, err = it.Borrow()
	return r, err == nil, err
}

// Found is a geometry as it was given, and the revision that it is of.
type Found struct {
	Geometry []byte // JSON
	Rev      string // "" in an index by a field
}

// Geometries reads the geometries of hits. It does so in the order of their ids: that
// costs a third less than to go to and fro.
func (v *Reader) Geometries(hits []Hit) ([]Found, error) {
	order := make([]int, len(hits))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(hits[a].ID, hits[b].ID) })
	keys := make([][]byte, len(hits))
	for i, at := range order {
		keys[i] = v.back(hits[at].ID)
	}
	values, err := v.v.GetMany(keys)
	if err != nil {
		return nil, err
	}
	all := make([]Found, len(hits))
	for i, at := range order {
		b, err := unpackBack(values[i])
		if err != nil || hits[at].Number >= len(b.geometries) {
			return nil, damaged(errBack)
		}
		all[at] = Found{b.geometries[hits[at].Number].json, b.rev}
	}
	return all, nil
}

// Documents counts the documents in an index that a reader sees, and those of an index by a
// field whose field holds no geometry that can be indexed.
func Documents(ctx context.Context, r *store.Reader, x *index.Index) (n, without uint64, err error) {
	seen := 0
	err = kv.Each(r.Snapshot(), kv.Prefix(keyspace.GeoBack.Key(r.Database().Number(), keyspace.U(x.Number))), func(key, value []byte) error {
		if seen++; seen%maxRows == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		_, parts, err := keyspace.GeoBack.Decode(key)
		if err != nil || !r.Sees(document.ID(parts[1].String())) {
			return err
		}
		some, err := hasGeometries(value)
		if some {
			n++
		} else if err == nil {
			without++
		}
		return err
	})
	return n, without, err
}
