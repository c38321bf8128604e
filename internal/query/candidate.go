package query

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
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

// Branch is an access path as a plan reads it, or could have read it.
type Branch struct {
	path accessPath
	reach
	reading
	reason reason // why it can't be used; "" if it can
	shape  *shape // makes documents of its rows, if these hold all that is asked for
}

// Index is the index that is read, nil for the list of all documents.
func (b *Branch) Index() *index.Index {
	if n := b.Named(); n != nil {
		return n.Index
	}
	return nil
}

// choice tells indexes apart; 0 for the list of all documents. It is in
// bookmarks, so it is made of the index's definition: its number would tell how
// many indexes others have made.
func (b *Branch) choice() uint64 {
	x := b.Index()
	if x == nil {
		return 0
	}
	h := sha256.Sum256([]byte(x.Signature))
	return binary.BigEndian.Uint64(h[:8])
}

// label names the path.
func (b *Branch) label() string {
	n := b.Named()
	if n == nil {
		return "_all_docs"
	}
	return string(n.Design) + "/" + n.Name
}

// Named is the index that is read, nil for the list of all documents.
func (b *Branch) Named() *index.Named { return b.path.index() }

// Covering reports whether documents need not be read.
func (b *Branch) Covering() bool { return b.shape != nil }

// Descending reports whether rows are read from the end.
func (b *Branch) Descending() bool { return b.descending }

// planner holds what a plan is made from.
type planner struct {
	req       *Request
	conjuncts []conjunct
	paths     []accessPath
	// partition says that the query is one of a partition.
	partition bool
	// asked are the fields that an answer needs; nil for whole documents.
	asked []*selector.Path
	// estimate counts the rows of a branch up to some bound; nil for no
	// estimates.
	estimate func(*Branch) (int, error)
}

func newPlanner(req *Request, paths []accessPath, partition bool) *planner {
	p := &planner{req: req, conjuncts: conjuncts(req.Selector), paths: paths, partition: partition}
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

// plannerAt makes the planner of a request at a snapshot, over the paths that paths makes.
func plannerAt(ctx context.Context, r *store.Reader, req *Request, paths pathsFunc) (*planner, error) {
	set, err := index.Of(r)
	if err != nil {
		return nil, err
	}
	shared, err := index.Shared(r)
	if err != nil {
		return nil, err
	}
	partition := r.Partition() != ""
	ways := paths(set.Named, shared, partition)
	if r.Redacted() {
		ways = slices.DeleteFunc(ways, func(p accessPath) bool {
			_, is := p.(*textPath) // it finds by what is not to be seen
			return is
		})
	}
	p := newPlanner(req, ways, partition)
	p.estimate = func(b *Branch) (int, error) { return b.path.estimate(ctx, r, b.ranges, probe) }
	return p, nil
}

// branches looks at every path.
func (p *planner) branches(all []conjunct) (bs []*Branch, err error) {
	for _, path := range p.paths {
		b := &Branch{path: path}
		if err := p.examine(b, all); err != nil {
			return nil, err
		}
		bs = append(bs, b)
	}
	p.preferOwn(bs)
	return bs, nil
}

// preferOwn leaves out the database's indexes, unless they are named, for a tenant's $text
// that an index of its own can answer: what the database has must not change its answers.
func (p *planner) preferOwn(bs []*Branch) {
	own := func(b *Branch) bool {
		return b.Index() != nil && b.Index().Tenant != "" && (usable(b) || building(b))
	}
	if !p.req.words || !slices.ContainsFunc(bs, own) {
		return
	}
	for _, b := range bs {
		if usable(b) && !own(b) && !p.chosen(b) {
			b.reason = scopeMismatch
		}
	}
}

// examine works out how a path would be read, and why it can't be.
func (p *planner) examine(b *Branch, all []conjunct) (err error) {
	if _, is := b.path.(*textPath); p.req.words && !is {
		b.reason = needsText
		return nil
	}
	if _, is := b.path.(*geoPath); p.req.near != nil && !is {
		b.reason = needsGeo
		return nil
	}
	if b.reach, b.reason, err = b.path.reach(p.req, all); b.reason != "" || err != nil {
		return err
	}
	var ok bool
	if b.reading, ok = b.path.order(p.req.Sort, all); !ok {
		b.reason = sortMismatch
		return nil
	}
	if p.asked != nil && !p.req.Conflicts {
		b.shape = b.path.covers(p.req.Selector, p.asked)
	}
	switch x := b.Index(); {
	case x == nil:
	case x.State == index.Building:
		b.reason = notBuilt
	case x.State == index.Failed:
		b.reason = hasFailed
	}
	return nil
}

// implied reports whether each of the conjuncts implies the filter.
func implied(all []conjunct, filter *selector.Node) bool {
	return filter == nil || !slices.ContainsFunc(all, func(c conjunct) bool { return !c.implies(filter) })
}

// chose reports whether the request names an index.
func (r *Request) chose(n *index.Named) bool {
	use := r.UseIndex
	if len(use) == 0 || n == nil || strings.TrimPrefix(string(n.Design), designsBegin) != use[0] {
		return false
	}
	return len(use) == 1 || use[1] == n.Name
}

// chosen reports whether the request names the index of a branch.
func (p *planner) chosen(b *Branch) bool { return p.req.chose(b.Named()) }

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
// that can be known without counting rows.
func compare(a, b *Branch) int {
	better := func(x, y int) int { return cmp.Compare(y, x) }
	return cmp.Or(
		better(bit(!a.estimated), bit(!b.estimated)),
		better(a.equal, b.equal),
		better(bit(a.ranged), bit(b.ranged)),
		better(bit(a.Index() != nil), bit(b.Index() != nil)),
		better(bit(!a.words), bit(!b.words)),
		better(bit(!a.nouveau()), bit(!b.nouveau())),
		better(bit(a.partial), bit(b.partial)),
		better(bit(a.Covering()), bit(b.Covering())),
		better(bit(!a.repeats), bit(!b.repeats)),
	)
}

// compareNames ranks what compare and estimates find equal.
func compareNames(a, b *Branch) int {
	return cmp.Or(cmp.Compare(a.width, b.width), cmp.Compare(a.label(), b.label()))
}

func usable(b *Branch) bool { return b.reason == "" }

func building(b *Branch) bool { return b.reason == notBuilt }

// best returns the best of the branches that are meant, nil if there is none.
func (p *planner) best(bs []*Branch, meant func(*Branch) bool) (*Branch, error) {
	var top []*Branch
	for _, b := range bs {
		switch {
		case !meant(b):
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
