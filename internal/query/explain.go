package query

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/text/mango"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

// Explanation is how a request would be answered.
type Explanation struct {
	Chosen     *Branch // what is read first of all; nil if nothing answers
	Candidates []Candidate
	// Indexable and Unindexable are fields of the selector that an index can help
	// with, and those that none can.
	Indexable, Unindexable []string
	// Words and Wordless are the same for text indexes.
	Words, Wordless []string
	Steps           []Step // of a request with execution_stats
}

// Candidate is an index that was not chosen.
type Candidate struct {
	Index    *index.Named // nil for the list of all documents
	Usable   bool
	Covering bool
	Reason   string // in CouchDB's words
	Ranking  int
	stage    int
}

// Step is a branch of the plan.
type Step struct {
	Index                string
	Descending, Covering bool
	Ranges               []string // at most 100
	Rows                 int
	Exact                bool // or there are more
}

// counted is up to how many rows _explain counts to tell how many there are.
const counted = 10_000

// Explain reports how the request would be answered. With execution_stats it describes the
// plan and counts its rows.
func Explain(ctx context.Context, req *Request, scope store.Scope, x *index.Indexes) (e *Explanation, err error) {
	err = scope.View(ctx, func(r *store.Reader) error {
		p, err := plannerAt(ctx, r, req, pathsOf)
		if err != nil {
			return err
		}
		plan, err := p.plan(scope.Partitioned())
		var refused *dberr.Error
		if errors.As(err, &refused) && refused.Code == "no_usable_index" {
			err = nil
		}
		if err != nil {
			return err
		}
		if plan.await != nil {
			plan.Branches = []*Branch{plan.await}
		}
		e = &Explanation{Candidates: p.judge(plan)}
		e.Indexable, e.Unindexable = p.fields()
		e.Words, e.Wordless = p.wordFields()
		if len(plan.Branches) > 0 {
			e.Chosen = plan.Branches[0]
		}
		if req.Stats {
			e.Steps, err = steps(ctx, plan, r)
		}
		return err
	})
	return e, repair(ctx, x, scope, err)
}

// Bounds returns the least and the greatest values of the columns as far as the
// selector names them, as JSON; false if nothing can match.
func (b *Branch) Bounds() (low, high [][]byte, ok bool) {
	side := func(of func(interval) []byte) (values [][]byte) {
		for _, s := range b.sets {
			if len(s) != 1 || s[0].kind || of(s[0]) == nil {
				break
			}
			values = append(values, of(s[0]))
		}
		return values
	}
	return side(func(i interval) []byte { return i.low.Value }), side(func(i interval) []byte { return i.high.Value }), !b.empty()
}

// judge says of every index that was not chosen why it was not.
func (p *planner) judge(plan *Plan) (all []Candidate) {
	if len(plan.considered) == 1 && len(plan.Branches) > 0 {
		return nil
	}
	list := slices.Clone(plan.considered)
	slices.SortStableFunc(list, func(a, b *Branch) int {
		x, y := a.Named(), b.Named()
		if x == nil || y == nil {
			return bit(x == nil) - bit(y == nil)
		}
		return cmp.Or(cmp.Compare(y.Design, x.Design), cmp.Compare(y.Name, x.Name))
	})
	stages := map[int]bool{}
	for _, b := range list {
		if slices.ContainsFunc(plan.Branches, func(c *Branch) bool { return c.label() == b.label() }) {
			continue
		}
		why, stage := p.reasonRejected(b, plan)
		stages[stage] = true
		all = append(all, Candidate{b.Named(), b.reason == "", b.Covering(), string(why), 0, stage})
	}
	for i := range all {
		for s := range stages {
			all[i].Ranking += bit(s <= all[i].stage)
		}
	}
	return all
}

// reasonRejected says why an index was not chosen, and at which stage of the
// choice it fell out, the last first.
func (p *planner) reasonRejected(b *Branch, plan *Plan) (why reason, stage int) {
	switch b.reason {
	case "":
	case scopeMismatch, needsText, needsGeo:
		return b.reason, 3
	case isPartial:
		return b.reason, 4
	default:
		return b.reason, 2
	}
	if len(plan.Branches) == 0 {
		return sortMismatch, 2
	}
	chosen := plan.Branches[0]
	switch {
	case p.chosen(chosen):
		return "excluded_by_user", 1
	case b.Index() == nil, b.words && !chosen.words:
		return "unfavored_type", 1
	case b.equal < chosen.equal || b.equal == chosen.equal && !b.ranged && chosen.ranged || chosen.Index() == nil:
		return "less_overlap", 0
	case b.width > chosen.width:
		return "too_many_fields", 0
	}
	return "alphabetically_comes_after", 0
}

// fields returns the fields of the selector that an index can help with, and the
// others.
func (p *planner) fields() (indexable, unindexable []string) {
	one := project(p.conjuncts)
	seen := map[string]bool{"": true}
	for i := range p.conjuncts {
		for path := range p.conjuncts[i].by {
			switch {
			case seen[path]:
			case one.demands(path) != nil:
				indexable = append(indexable, path)
			default:
				unindexable = append(unindexable, path)
			}
			seen[path] = true
		}
	}
	slices.Sort(indexable)
	slices.Sort(unindexable)
	return indexable, unindexable
}

// wordFields is fields for a text index of all fields.
func (p *planner) wordFields() (indexable, unindexable []string) {
	every, err := mango.Parse([]byte("{}"))
	if err != nil {
		panic(err) // it is the least definition
	}
	can := map[string]bool{}
	if p.req.words {
		can["$default"] = true
	}
	var look func(n *selector.Node)
	look = func(n *selector.Node) {
		if n.Path != nil {
			path := n.Path.String()
			can[path] = can[path] || every.Query(n, false) != nil
			return
		}
		for _, k := range n.Kids {
			look(k)
		}
	}
	if root := p.req.Selector.Root(); root != nil {
		look(root)
	}
	for path, is := range can {
		if is {
			indexable = append(indexable, path)
		} else {
			unindexable = append(unindexable, path)
		}
	}
	slices.Sort(indexable)
	slices.Sort(unindexable)
	return indexable, unindexable
}

// steps describes the plan and how many rows it reads.
func steps(ctx context.Context, plan *Plan, r *store.Reader) (all []Step, err error) {
	for _, b := range plan.Branches {
		s := Step{Index: b.label(), Descending: b.descending, Covering: b.Covering()}
		for i := range b.ranges[:min(len(b.ranges), 100)] {
			s.Ranges = append(s.Ranges, b.ranges[i].String())
		}
		n, err := b.path.estimate(ctx, r, b.ranges, counted+1)
		if err != nil {
			return nil, err
		}
		s.Rows, s.Exact = min(n, counted), n <= counted
		all = append(all, s)
	}
	return all, nil
}
