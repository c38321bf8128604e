package query

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/selector"
)

// reason says why an index does not serve a query, in CouchDB's words for
// _explain; the last two are ours.
type reason string

const (
	fieldMismatch reason = "field_mismatch"
	sortMismatch  reason = "sort_order_mismatch"
	scopeMismatch reason = "scope_mismatch"
	isPartial     reason = "is_partial"
	notBuilt      reason = "not_built"
	hasFailed     reason = "failed"
)

// Branch is an index as a plan reads it, or could have read it.
type Branch struct {
	named *index.Named // nil for the list of all documents
	def   *field.Def
	reach
	reason     reason // why it can't be used; "" if it can
	descending bool   // read from the end
	covering   bool   // its rows hold all that is asked for
}

// Index is the index that is read, nil for the list of all documents.
func (b *Branch) Index() *index.Index {
	if b.named == nil {
		return nil
	}
	return b.named.Index
}

// choice tells indexes apart; 0 for the list of all documents. It stands in
// bookmarks, so it is made of the index's definition: its number would tell how
// many indexes others have made.
func (b *Branch) choice() uint64 {
	if b.named == nil {
		return 0
	}
	h := sha256.Sum256([]byte(b.named.Index.Signature))
	return binary.BigEndian.Uint64(h[:8])
}

// label names the index.
func (b *Branch) label() string {
	if b.named == nil {
		return "_all_docs"
	}
	return string(b.named.Design) + "/" + b.named.Name
}

// elements reports whether a document may have several rows.
func (b *Branch) elements() bool { return b.def != nil && b.def.Elements() >= 0 }

// planner holds what a plan is made from.
type planner struct {
	req       *Request
	conjuncts []conjunct
	set       *index.Set
	// shared are indexes of the database that a tenant can read, beside set.
	shared []index.Named
	// partition says that the query is one of a partition.
	partition bool
	// asked are the fields that an answer needs; nil for whole documents.
	asked []*selector.Path
	// estimate counts the rows of a branch up to some bound; nil for no
	// estimates.
	estimate func(*Branch) (int, error)
}

func newPlanner(req *Request, set *index.Set, partition bool) *planner {
	p := &planner{req: req, conjuncts: conjuncts(req.Selector), set: set, partition: partition}
	switch {
	case req.Count:
		p.asked = []*selector.Path{}
	case req.Group != nil:
		p.asked = append([]*selector.Path{}, req.Group.paths()...)
	case !req.Fields.All():
		p.asked = req.Fields.Paths()
	}
	return p
}

// branches looks at every index, and at the list of all documents, which comes
// last.
func (p *planner) branches(all []conjunct) (bs []*Branch, err error) {
	for _, n := range p.indexes() {
		b := &Branch{named: n, def: field.Of(n.Index)}
		if b.reason, err = p.examine(b, all); err != nil {
			return nil, err
		}
		bs = append(bs, b)
	}
	list := &Branch{reach: idReach(all)}
	if s := p.req.Sort; len(s) > 0 {
		if list.descending = s[0].Desc; s[0].Path.String() != "_id" {
			list.reason = fieldMismatch
		}
	}
	return append(bs, list), nil
}

// indexes returns the field indexes that may be looked at.
func (p *planner) indexes() (all []*index.Named) {
	add := func(named []index.Named) {
		for i := range named {
			if named[i].Kind == field.KindName {
				all = append(all, &named[i])
			}
		}
	}
	if p.set != nil {
		add(p.set.Named)
	}
	add(p.shared)
	return all
}

// reaches reports whether an index holds the documents that the query is about: those
// of the database, of a partition, or, among indexes of the database, of the
// partition that a tenant takes for a database. The latter must not depend on ids,
// which the tenant has other ones of.
func (p *planner) reaches(b *Branch) bool {
	if slices.ContainsFunc(p.shared, func(n index.Named) bool { return n.Index == b.named.Index }) {
		return !b.def.Uses("_id")
	}
	return b.named.Index.Partitioned == p.partition
}

// examine works out how an index would be read, and why it can't be.
func (p *planner) examine(b *Branch, all []conjunct) (reason, error) {
	if b.def.Partial != nil && !p.chosen(b) && !implied(all, b.def.Partial.Root()) {
		return isPartial, nil
	}
	if !p.reaches(b) {
		return scopeMismatch, nil
	}
	if len(all) == 0 {
		return fieldMismatch, nil
	}
	var ok bool
	var err error
	if b.reach, ok, err = reachOf(b.def, all, p.req.Sort); err != nil || !ok {
		return fieldMismatch, err
	}
	if b.descending, ok = p.direction(b.def, all); !ok {
		return sortMismatch, nil
	}
	b.covering = p.covers(b.def)
	switch b.named.Index.State {
	case index.Building:
		return notBuilt, nil
	case index.Failed:
		return hasFailed, nil
	}
	return "", nil
}

// implied reports whether each of the conjuncts implies the filter.
func implied(all []conjunct, filter *selector.Node) bool {
	return filter == nil || !slices.ContainsFunc(all, func(c conjunct) bool { return !c.implies(filter) })
}

// chosen reports whether the request names the index.
func (p *planner) chosen(b *Branch) bool {
	use := p.req.UseIndex
	if len(use) == 0 || b.named == nil || strings.TrimPrefix(string(b.named.Design), designsBegin) != use[0] {
		return false
	}
	return len(use) == 1 || use[1] == b.named.Name
}

// direction tells how an index must be read for the sort that is asked for.
// Fields with one value only sort nothing. Behind its columns an index is in
// the order of ids.
func (p *planner) direction(d *field.Def, all []conjunct) (descending, ok bool) {
	column, fixed := 0, false
	for _, s := range p.req.Sort {
		if constant(all, s.Path.String()) {
			continue
		}
		for column < len(d.Columns) && d.Columns[column].Path.String() != s.Path.String() && constant(all, d.Columns[column].Path.String()) {
			column++
		}
		inverted := false
		switch {
		case d.Elements() >= 0:
			return false, false
		case column < len(d.Columns) && d.Columns[column].Path.String() == s.Path.String():
			inverted = d.Columns[column].Desc != d.Columns[0].Desc
			column++
		case column < len(d.Columns) || s.Path.String() != "_id":
			return false, false
		}
		if fixed && descending != (s.Desc != inverted) {
			return false, false
		}
		descending, fixed = s.Desc != inverted, true
		if s.Path.String() == "_id" {
			break // nothing is left to sort
		}
	}
	return descending, true
}

// constant reports whether all matching documents have one value of a field.
func constant(all []conjunct, path string) bool {
	var value []byte
	o := orderOf(path)
	for i := range all {
		x := all[i].demands(path)
		if x == nil || len(x.whole) != 1 {
			return false
		}
		v, ok := x.whole[0].point(o)
		if !ok || value != nil && o(value, v) != 0 {
			return false
		}
		value = v
	}
	return value != nil
}

// compare ranks branches that can be used, the better one first, as far as
// that can be told without counting rows.
func compare(a, b *Branch) int {
	better := func(x, y int) int { return cmp.Compare(y, x) }
	return cmp.Or(
		better(a.equal, b.equal),
		better(bit(a.ranged), bit(b.ranged)),
		better(bit(a.named != nil), bit(b.named != nil)),
		better(bit(a.named != nil && a.def.Partial != nil), bit(b.named != nil && b.def.Partial != nil)),
		better(bit(a.covering), bit(b.covering)),
		better(bit(!a.elements()), bit(!b.elements())),
	)
}

// compareNames ranks what compare and estimates find equal.
func compareNames(a, b *Branch) int {
	columns := func(x *Branch) int {
		if x.def == nil {
			return 0
		}
		return len(x.def.Columns)
	}
	return cmp.Or(cmp.Compare(columns(a), columns(b)), cmp.Compare(a.label(), b.label()))
}

// best returns the best of the branches that can be used, nil if there is none.
func (p *planner) best(bs []*Branch) (*Branch, error) {
	var top []*Branch
	for _, b := range bs {
		switch {
		case len(top) == 0 || compare(b, top[0]) < 0:
			top = []*Branch{b}
		case compare(b, top[0]) == 0:
			top = append(top, b)
		}
	}
	if len(top) == 0 {
		return nil, nil
	}
	slices.SortFunc(top, compareNames)
	if len(top) == 1 || p.estimate == nil {
		return top[0], nil
	}
	least, rows := top[0], -1
	for _, b := range top {
		n, err := p.estimate(b)
		if err != nil {
			return nil, err
		}
		if rows < 0 || n < rows {
			least, rows = b, n
		}
	}
	return least, nil
}
