package geo

import (
	"bytes"
	"errors"
	"slices"

	"github.com/golang/geo/s2"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/geometry"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/packed"
)

// rowVersion is the format of this package's values.
const rowVersion = 1

// The classes of rows, which lie apart: points are found in ranges alone.
const (
	classPoint = 0
	classShape = 1
)

const (
	// coverCells is about how many cells a geometry is covered with.
	coverCells = 8
	// maxBack is the longest back-row that may be stored.
	maxBack = 7 << 20
)

// layout names the key spaces of one index.
type layout struct {
	db, index   uint64
	partitioned bool
}

func layoutOf(db uint64, x *index.Index) layout { return layout{db, x.Number, x.Partitioned} }

// partition returns the partition under which the rows of a document lie.
func (l *layout) partition(id document.ID) document.Partition {
	if l.partitioned {
		return id.Partition()
	}
	return ""
}

func (l *layout) back(id document.ID) []byte {
	return keyspace.GeoBack.Key(l.db, keyspace.U(l.index), keyspace.T(string(id)))
}

// class is what the keys of all rows of a class begin with.
func (l *layout) class(p document.Partition, class uint64) []byte {
	return keyspace.GeoRow.Key(l.db, keyspace.U(l.index), keyspace.T(string(p)), keyspace.U(class))
}

func (l *layout) row(id document.ID, class uint64, cell s2.CellID, number int) []byte {
	return keyspace.GeoRow.Key(l.db, keyspace.U(l.index), keyspace.T(string(l.partition(id))), keyspace.U(class), keyspace.U(uint64(cell)),
		keyspace.T(string(id)), keyspace.U(uint64(number)))
}

// placed is a geometry of a document with where it lies.
type placed struct {
	json  []byte
	class uint64
	cells []s2.CellID // ascending
	value []byte      // of its rows; nil when it was read from a back-row
}

// shape reads the geometry. One that was indexed and is none any more is damaged.
func (g *placed) shape() (*geometry.Shape, error) {
	s, err := geometry.ParseGeoJSON(g.json, Limits)
	if err != nil {
		return nil, damaged(err)
	}
	return s, nil
}

// place works out where a geometry lies. The error says why it is none.
func place(json []byte) (placed, error) {
	s, err := geometry.ParseGeoJSON(json, Limits)
	if err != nil {
		return placed{}, err
	}
	g := placed{json: json, cells: s.Cover(coverCells)}
	w := packed.Writer{rowVersion}
	if p, ok := s.Point(); ok {
		w.Float(p.X)
		w.Float(p.Y)
	} else {
		g.class = classShape
		b := s.Bounds()
		for _, f := range []float64{b.West, b.South, b.East, b.North} {
			w.Float(f)
		}
	}
	g.value = w
	slices.Sort(g.cells)
	return g, nil
}

// unpackPoint reads the value of a point's row.
func unpackPoint(value []byte) (p geometry.XY, err error) {
	r := packed.ReadVersion(value, rowVersion)
	p.X, p.Y = r.Float(), r.Float()
	return p, r.Done()
}

// unpackBounds reads the value of any other row.
func unpackBounds(value []byte) (b geometry.Box, err error) {
	r := packed.ReadVersion(value, rowVersion)
	b.West, b.South, b.East, b.North = r.Float(), r.Float(), r.Float(), r.Float()
	return b, r.Done()
}

// back is the value of a back-row.
type back struct {
	rev        string // of the revision whose geometries these are; "" in an index by a field
	geometries []placed
}

func (b *back) pack() []byte {
	w := packed.Writer{rowVersion}
	w.Text(b.rev)
	w.Uint(uint64(len(b.geometries)))
	for _, g := range b.geometries {
		w.Uint(g.class)
		w.Uint(uint64(len(g.cells)))
		for _, c := range g.cells {
			w.Uint(uint64(c))
		}
		w.Bytes(g.json)
	}
	return w
}

var errBack = errors.New("geo: a back-row that can't be read")

// unpackBack is the reverse of pack. It refers to value.
func unpackBack(value []byte) (b back, err error) {
	r := packed.ReadVersion(value, rowVersion)
	b.rev = r.Text()
	n := r.UpTo(uint64(len(value)))
	for range n {
		g := placed{class: r.Uint()}
		for range r.UpTo(uint64(len(value))) {
			g.cells = append(g.cells, s2.CellID(r.Uint()))
		}
		g.json = r.Bytes()
		if r.Failed() {
			return b, errBack
		}
		b.geometries = append(b.geometries, g)
	}
	return b, r.Done()
}

// hasGeometries reports whether a back-row names geometries.
func hasGeometries(value []byte) (bool, error) {
	r := packed.ReadVersion(value, rowVersion)
	r.Text()
	some := r.Uint() > 0
	if r.Failed() {
		return false, damaged(errBack)
	}
	return some, nil
}

// rows appends the rows of a document, in the order of their keys, and its back-row.
func (l *layout) rows(dst []index.Row, id document.ID, b *back) []index.Row {
	if len(b.geometries) == 0 {
		return dst
	}
	from := len(dst)
	for n, g := range b.geometries {
		for _, c := range g.cells {
			dst = append(dst, index.Row{Key: l.row(id, g.class, c, n), Value: g.value})
		}
	}
	slices.SortFunc(dst[from:], func(a, b index.Row) int { return bytes.Compare(a.Key, b.Key) })
	return append(dst, index.Row{Key: l.back(id), Value: b.pack()})
}
