package query

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/geometry"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/index/geo"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

// geoPath is a geo index by a field as an access path. What it reads is one run, whose bytes
// say which areas are looked at, or whose neighbours; its order is that of the index's cells, or
// of distances. A position in it is a place in that order.
type geoPath struct {
	named   *index.Named
	def     *geo.FieldDef
	reaches bool
	// asked are what the runs mean that reach gave.
	asked map[string]*asked
}

// asked is what is asked of the index: areas, or the nearest.
type asked struct {
	leaves []*selector.Node // one of which a document meets
	near   *geo.Near
	areas  *geo.Areas // once somebody reads
	batch  int        // of the nearest, how many are worked out next
}

// geoPathOf returns the path of an index; nil if it is none by a field.
func geoPathOf(n *index.Named) *geoPath {
	if n.Kind != geo.FieldsName {
		return nil
	}
	return &geoPath{named: n, def: geo.FieldOf(n.Index), asked: map[string]*asked{}}
}

const needsGeo reason = "needs_geo_index"

func (p *geoPath) index() *index.Named { return p.named }

// reach implements accessPath. An area counts as one value of the field.
func (p *geoPath) reach(req *Request, all []conjunct) (reach, reason, error) {
	switch {
	case p.def.Partial != nil && !req.chose(p.named) && !implied(all, p.def.Partial.Root()):
		return reach{}, isPartial, nil
	case !p.reaches:
		return reach{}, scopeMismatch, nil
	case len(all) == 0:
		return reach{}, fieldMismatch, nil
	}
	of := &asked{batch: firstNear}
	if req.near != nil {
		if !p.servesPath(req.near) {
			return reach{}, fieldMismatch, nil
		}
		n := req.near.Near()
		of.leaves, of.near = []*selector.Node{req.near}, &geo.Near{From: n.From, Min: n.Min, Max: n.Max}
	} else if of.leaves = p.leaves(all); of.leaves == nil {
		return reach{}, fieldMismatch, nil
	}
	run := of.text(func(arg []byte) string { return string(arg) })
	p.asked[run] = of
	return reach{ranges: []Range{{field.Span{From: []byte(run)}, []fmt.Stringer{of}}}, equal: 1, width: 1, partial: p.def.Partial != nil}, "", nil
}

// servesPath reports whether a condition is about the field of the index.
func (p *geoPath) servesPath(n *selector.Node) bool { return n.Path.String() == p.def.Path.String() }

// leaves returns of each of the conjuncts the condition with the smallest area, each once;
// nil if there is one without any.
func (p *geoPath) leaves(all []conjunct) (leaves []*selector.Node) {
	for i := range all {
		var best *selector.Node
		for _, n := range all[i].leaves {
			if n.Path != nil && n.Area() != nil && p.servesPath(n) && (best == nil || sizeOf(n) < sizeOf(best)) {
				best = n
			}
		}
		if best == nil {
			return nil
		}
		if !slices.ContainsFunc(leaves, func(n *selector.Node) bool { return sameNode(n, best) }) {
			leaves = append(leaves, best)
		}
	}
	return leaves
}

// sizeOf is how large the box round an area is, in square degrees.
func sizeOf(n *selector.Node) float64 {
	b := n.Area().Shape().Bounds()
	return (b.East - b.West) * (b.North - b.South)
}

// text returns what is asked for, with the operands as shown gives them.
func (a *asked) text(shown func(arg []byte) string) string {
	parts := make([]string, len(a.leaves))
	for i, n := range a.leaves {
		parts[i] = n.Op.String() + " " + shown(n.Arg)
	}
	return strings.Join(parts, " | ")
}

// String returns what is asked for, for people.
func (a *asked) String() string { return a.text(selector.Shown) }

// question returns the areas that are asked for.
func (a *asked) question() *geo.Areas {
	if a.areas == nil {
		var shapes []*geometry.Shape
		for _, n := range a.leaves {
			shapes = append(shapes, n.Area().Shape())
		}
		a.areas = geo.AreasOf(shapes...)
	}
	return a.areas
}

// order implements accessPath: fields with one value only sort nothing, and by others there is
// no order.
func (p *geoPath) order(sort []SortField, all []conjunct) (reading, bool) {
	return reading{}, !slices.ContainsFunc(sort, func(s SortField) bool { return !constant(all, s.Path.String()) })
}

// covers implements accessPath: documents are always read.
func (p *geoPath) covers(*selector.Selector, []*selector.Path) *shape { return nil }

// open reads the index, or the partition of it that the reader's scope is. shared says that
// the index is the database's and the reader a tenant, who sees other ids.
func (p *geoPath) open(r *store.Reader) (v *geo.Reader, shared bool) {
	if t := r.Tenant(); t != "" && p.named.Index.Tenant == "" {
		return geo.NewReader(r.As(r.DatabaseNamespace()), p.named.Index, t), true
	}
	partition := document.Partition("")
	if p.named.Index.Partitioned {
		partition = r.Partition()
	}
	return geo.NewReader(r, p.named.Index, partition), false
}

// estimate implements accessPath.
func (p *geoPath) estimate(ctx context.Context, r *store.Reader, ranges []Range, bound int) (n int, err error) {
	passed := 0
	for i := range ranges {
		for h, err := range p.scan(ctx, r, ranges[i].Span, nil, false) {
			if err != nil {
				return n, err
			}
			if h.passed {
				passed++
			} else {
				n++
			}
			if max(n, passed) >= bound { // many rows for few documents are many, too
				return bound, nil
			}
		}
	}
	return n, nil
}

// scan implements accessPath.
func (p *geoPath) scan(ctx context.Context, r *store.Reader, span field.Span, after *field.RowKey, _ bool) iter.Seq2[hit, error] {
	of := p.asked[string(span.From)]
	v, shared := p.open(r)
	shown := asShown{shown: func(id document.ID) (document.ID, bool) { return id, true }}
	if shared {
		shown = asShown{r.Shown, func(id document.ID) (document.ID, bool) { return r.Stored(id), true }}
	}
	return func(yield func(hit, error) bool) {
		var err error
		if of.near != nil {
			err = shown.nearest(ctx, v, of, after, yield)
		} else {
			err = shown.candidates(ctx, v, of.question(), after, yield)
		}
		if err != nil {
			yield(hit{}, damagedBy(p.named.Index, err))
		}
	}
}

// asShown reads an index for a scope in which ids are others than stored; stored is nil where they
// are not.
type asShown struct {
	shown, stored func(document.ID) (document.ID, bool)
}

var errPlace = dberr.New(dberr.Invalid, "invalid_bookmark", "Invalid bookmark value: it names no place in the index.")

// renamed returns a place in the order of cells with the id in it as fn gives it.
func (s *asShown) renamed(at []byte, fn func(document.ID) (document.ID, bool)) ([]byte, bool) {
	if s.stored == nil {
		return at, true
	}
	return geo.Rename(at, fn)
}

func (s *asShown) candidates(ctx context.Context, v *geo.Reader, a *geo.Areas, after *field.RowKey, yield func(hit, error) bool) error {
	var at []byte
	if after != nil {
		var ok bool
		if at, ok = s.renamed(after.Tuple, s.stored); !ok {
			return errPlace
		}
	}
	return v.Candidates(ctx, a, at, func(step geo.Step) bool {
		id, _ := s.shown(step.ID)
		place, _ := s.renamed(step.At, s.shown)
		return yield(hit{Entry: field.Entry{ID: id, Tuple: place, Size: step.Size}, passed: step.Passed}, nil)
	})
}

// The nearest are found a number at a time: each time the index is searched from the place
// that was reached, so it is more and more.
const (
	firstNear = 64
	maxNear   = 16384
)

func (s *asShown) nearest(ctx context.Context, v *geo.Reader, of *asked, after *field.RowKey, yield func(hit, error) bool) error {
	var behind *geo.Behind
	if after != nil {
		r := packed.Read(after.Tuple)
		behind = &geo.Behind{Distance: r.Float(), ID: after.ID}
		if r.Done() != nil || !(behind.Distance >= 0) {
			return errPlace
		}
		if s.stored != nil {
			behind.ID, _ = s.stored(after.ID)
		}
	}
	for {
		n := of.batch
		hits, err := v.Nearest(ctx, of.near, behind, n)
		if err != nil {
			return err
		}
		of.batch = min(4*n, maxNear)
		for i := range hits {
			id, _ := s.shown(hits[i].ID)
			var w packed.Writer
			w.Float(hits[i].Distance)
			if !yield(hit{Entry: field.Entry{ID: id, Tuple: w, Size: len(w) + len(id)}}, nil) {
				return nil
			}
		}
		if len(hits) < n {
			return nil
		}
		behind = hits[n-1].Where()
	}
}

// holds implements accessPath.
func (p *geoPath) holds(_ context.Context, r *store.Reader, rev *store.Revision, ranges []Range) (bool, error) {
	v, shared := p.open(r)
	id := rev.ID
	if shared {
		id = r.Stored(id)
	}
	for i := range ranges {
		if has, err := v.Has(p.asked[string(ranges[i].From)].question(), id); has || err != nil {
			return has, damagedBy(p.named.Index, err)
		}
	}
	return false, nil
}

var (
	errNearPlace = dberr.New(dberr.Invalid, "bad_field", "$near stands by itself, or in an $and beside other conditions.")
	errNearTwice = dberr.New(dberr.Invalid, "bad_field", "A selector has one $near, which gives its answer an order.")
	errNearWords = dberr.New(dberr.Invalid, "bad_field", "$text and $near read an index each: a selector has one of them.")
)

// setNear looks for $near in the selector.
func (r *Request) setNear() error {
	root := r.Selector.Root()
	var all []*selector.Node
	if root != nil {
		all = nears(nil, root)
	}
	switch {
	case len(all) == 0:
		return nil
	case len(all) > 1:
		return errNearTwice
	case r.words:
		return errNearWords
	case !conjoinedNear(root):
		return errNearPlace
	}
	r.near = all[0]
	return nil
}

func nears(all []*selector.Node, n *selector.Node) []*selector.Node {
	if n.Op == selector.Near {
		all = append(all, n)
	}
	for _, k := range n.Kids {
		all = nears(all, k)
	}
	return all
}

// conjoinedNear reports whether $near is where it has to hold for every document.
func conjoinedNear(n *selector.Node) bool {
	return n.Op == selector.Near || n.Op == selector.And && slices.ContainsFunc(n.Kids, conjoinedNear)
}

// noNear is the error of a $near that no index serves.
func (p *planner) noNear(kind string, all []*Branch) error {
	name := p.req.near.Path.String()
	text := "No " + kind + "index exists for $near on %s, make one with POST _index, of type \"geo\"."
	if slices.ContainsFunc(all, func(b *Branch) bool { return b.reason == sortMismatch }) {
		text = "$near on %s gives the order of the answer: it can't have a sort."
	}
	return dberr.New(dberr.Invalid, "no_usable_index", text, cmp.Or(name, "documents"))
}
