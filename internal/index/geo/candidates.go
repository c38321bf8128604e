package geo

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/golang/geo/s2"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/geometry"
	"github.com/sectional/sectional/internal/kv"
)

// Areas asks for documents that may have a position in one of several areas: points that
// do, and of other geometries those that the boxes round their parts do not rule out. Whoever
// asks reads the document and holds it against the areas.
type Areas struct {
	shapes []*geometry.Shape
	spans  [2][]span
}

// AreasOf makes the question for areas.
func AreasOf(shapes ...*geometry.Shape) *Areas {
	var cells []s2.CellID
	for _, s := range shapes {
		cells = append(cells, s.Cover(queryCells)...)
	}
	return &Areas{shapes, spansOf(cells)}
}

// holdPoint reports whether a point lies in an area.
func (a *Areas) holdPoint(p geometry.XY) bool {
	return slices.ContainsFunc(a.shapes, func(s *geometry.Shape) bool { return s.RelatesToPoint(geometry.Intersects, p) })
}

// near reports whether a box is near an area. Geometries at a pole may be, whatever their longitudes.
func (a *Areas) near(b geometry.Box) bool {
	return math.Abs(b.South) == 90 || b.North == 90 || slices.ContainsFunc(a.shapes, func(s *geometry.Shape) bool { return s.NearBox(b) })
}

// Step is what a walk over candidates comes to.
type Step struct {
	ID document.ID
	At []byte // after which the walk goes on
	// Passed says that there is nothing here: many rows were looked at.
	Passed bool
	Size   int // bytes of the row
}

// Candidates calls yield with the documents that areas may mean, each once, in the order of the
// rows' places, beginning past the place after; nil for the beginning. It ends when yield
// returns false.
func (v *Reader) Candidates(ctx context.Context, a *Areas, after []byte, yield func(Step) bool) error {
	if v.gone {
		return nil
	}
	for class := range uint64(2) {
		since := 0
		err := v.walk(ctx, class, a.spans[class], after, func(row row) error {
			found, err := v.candidate(a, class, &row)
			if since++; err != nil || !found && since < maxRows {
				return err
			}
			since = 0
			if !yield(Step{row.id, bytes.Clone(row.place), !found, len(row.place) + len(row.value)}) {
				return errPage
			}
			return nil
		})
		if errors.Is(err, errPage) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// candidate reports whether a row stands for a geometry that areas may mean.
func (v *Reader) candidate(a *Areas, class uint64, row *row) (bool, error) {
	if class == classPoint {
		p, err := unpackPoint(row.value)
		if err != nil {
			return false, damaged(err)
		}
		return a.holdPoint(p), nil
	}
	b, err := unpackBounds(row.value)
	if err != nil {
		return false, damaged(err)
	}
	if !a.near(b) {
		return false, nil
	}
	g, err := v.geometry(row)
	return err == nil && first(g.cells, a.spans[classShape]) == row.cell, err
}

// Has reports whether a walk over candidates comes by a document.
func (v *Reader) Has(a *Areas, id document.ID) (bool, error) {
	value, err := v.v.Get(v.back(id))
	if errors.Is(err, kv.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	of, err := unpackBack(value)
	if err != nil {
		return false, damaged(errBack)
	}
	for _, g := range of.geometries {
		cell := first(g.cells, a.spans[g.class])
		if cell == 0 {
			continue
		}
		row := row{id: id, cell: cell}
		if row.value, err = v.v.Get(v.row(id, g.class, cell, 0)); err != nil {
			return false, damaged(err)
		}
		if found, err := v.candidate(a, g.class, &row); found || err != nil {
			return found, err
		}
	}
	return false, nil
}
