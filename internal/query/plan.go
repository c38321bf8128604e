package query

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
)

// Plan says how a query is answered: which indexes are read, where and in which
// direction. With several branches a document counts in the first of them that
// has it.
type Plan struct {
	Branches []*Branch
	Warnings []string
	// await is an index that is still being built and that the query can't
	// do without.
	await *Branch
	// choices are the indexes that split found for each conjunct, see
	// Branch.choice; nil if there is one branch.
	choices []uint64
	// considered are all indexes that were looked at, for _explain.
	considered []*Branch
}

const (
	warnNoIndex  = "No matching index found, create an index to optimize query time."
	warnExamined = "The number of documents examined is high in proportion to the number of results returned. Consider adding a more specific index to improve this."
)

// plan chooses. Errors are dberr.Invalid with CouchDB's words.
func (p *planner) plan(partitioned bool) (*Plan, error) {
	all, err := p.branches(p.conjuncts)
	if err != nil {
		return nil, err
	}
	plan := &Plan{considered: all}
	if len(p.req.UseIndex) > 0 {
		if done, err := p.useNamed(plan); done || err != nil {
			return plan, err
		}
	}
	if err := p.requireOneText(all, func(*Branch) bool { return true }); err != nil {
		return nil, err
	}
	b, err := p.best(all, usable)
	if err != nil {
		return nil, err
	}
	waited, err := p.best(all, building)
	if err != nil {
		return nil, err
	}
	switch {
	case b == nil && waited != nil:
		plan.await = waited
		return plan, nil
	case b == nil:
		return plan, p.noSort(partitioned, all)
	case waited != nil && compare(waited, b) < 0:
		plan.Warnings = append(plan.Warnings, waited.label()+" was not used because it is still being built.")
	}
	plan.Branches = []*Branch{b}
	if !b.narrows() {
		if err := p.split(plan, nil); err != nil {
			return nil, err
		}
	}
	if len(plan.Branches) == 1 && plan.Branches[0].Index() == nil {
		if !p.req.AllowFallback && len(p.req.UseIndex) == 0 {
			return plan, dberr.New(dberr.Invalid, "invalid_index", "You must specify an index with the `use_index` parameter.")
		}
		if !b.empty() {
			plan.warn(warnNoIndex, p.hint(all))
		}
	}
	return plan, nil
}

// useNamed takes the best of the indexes that the request names, or warns.
func (p *planner) useNamed(plan *Plan) (done bool, err error) {
	if err := p.requireOneText(plan.considered, p.chosen); err != nil {
		return false, err
	}
	b, err := p.best(plan.considered, func(b *Branch) bool { return usable(b) && p.chosen(b) })
	if err != nil {
		return false, err
	}
	if b != nil {
		plan.Branches = []*Branch{b}
		return true, nil
	}
	plan.await, err = p.best(plan.considered, func(b *Branch) bool { return building(b) && p.chosen(b) })
	if plan.await != nil || err != nil {
		return true, err
	}
	use := p.req.UseIndex
	if !p.req.AllowFallback {
		return false, dberr.New(dberr.Invalid, "invalid_index",
			"_design/%s specified by `use_index` could not be found or it is not suitable.", strings.Join(use, ", "))
	}
	if len(use) == 1 {
		plan.Warnings = append(plan.Warnings, "_design/"+use[0]+" was not used because it does not contain a valid index for this query.")
	} else {
		plan.Warnings = append(plan.Warnings, "_design/"+use[0]+", "+use[1]+" was not used because it is not a valid index for this query.")
	}
	return false, nil
}

// warn adds warnings, "" being none.
func (p *Plan) warn(texts ...string) {
	for _, t := range texts {
		if t != "" {
			p.Warnings = append(p.Warnings, t)
		}
	}
}

func (p *planner) noSort(partitioned bool, all []*Branch) error {
	unsorted := func(b *Branch) bool {
		_, is := b.path.(*textPath)
		return is && b.reason == sortMismatch
	}
	switch {
	case slices.ContainsFunc(all, unsorted):
		if err := p.sortError(); err != nil {
			return err
		}
	case p.req.words:
		return errNoText
	}
	kind := ""
	switch {
	case p.partition:
		kind = "partitioned "
	case partitioned:
		kind = "global "
	}
	if p.req.near != nil {
		return p.noNear(kind, all)
	}
	hint := p.hint(all)
	if hint != "" {
		hint = " " + hint
	}
	return dberr.New(dberr.Invalid, "no_usable_index", "No %sindex exists for this sort, try indexing by the sort fields.%s", kind, hint)
}

// split looks for an index for each of several alternatives, where no one index
// serves all of them well. Their documents come in no order. With the choices
// of an earlier plan it takes those again.
func (p *planner) split(plan *Plan, again []uint64) error {
	if len(p.conjuncts) < 2 || len(p.req.Sort) > 0 || p.req.words || again != nil && len(again) != len(p.conjuncts) {
		return nil
	}
	var order []*Branch
	var choices []uint64
	parts := map[string][]conjunct{}
	for i := range p.conjuncts {
		bs, err := p.branches(p.conjuncts[i : i+1])
		if err != nil {
			return err
		}
		b, err := p.best(bs, func(b *Branch) bool { return usable(b) && (again == nil || b.choice() == again[i]) })
		if err != nil {
			return err
		}
		if b == nil || !b.narrows() {
			return nil
		}
		if parts[b.label()] == nil {
			order = append(order, b)
		}
		parts[b.label()] = append(parts[b.label()], p.conjuncts[i])
		choices = append(choices, b.choice())
	}
	for _, b := range order {
		b.shape = nil // whether another branch has the document is not in the row
		var err error
		if b.reach, _, err = b.path.reach(p.req, parts[b.label()]); err != nil {
			return err
		}
	}
	plan.Branches, plan.choices = order, choices
	return nil
}

// resume returns the plan that a bookmark is of, nil if there is none: it must not
// change between the pages because an index has come or rows have.
func (p *planner) resume(chosen *Plan, fingerprint uint64, choices []uint64) (*Plan, error) {
	if chosen.fingerprint() == fingerprint {
		return chosen, nil
	}
	for _, b := range chosen.considered {
		one := &Plan{Branches: []*Branch{b}, Warnings: chosen.Warnings, considered: chosen.considered}
		if usable(b) && one.fingerprint() == fingerprint {
			return one, nil
		}
	}
	several := &Plan{Warnings: chosen.Warnings, considered: chosen.considered}
	if err := p.split(several, choices); err != nil {
		return nil, err
	}
	if several.fingerprint() != fingerprint {
		return nil, nil
	}
	return several, nil
}

// fingerprint tells plans apart that read other rows, or in another order.
func (p *Plan) fingerprint() uint64 {
	h := sha256.New()
	part := func(b []byte) {
		h.Write(binary.AppendUvarint(nil, uint64(len(b))))
		h.Write(b)
	}
	for _, b := range p.Branches {
		x := b.Index()
		if x == nil {
			part(fmt.Append(nil, "all", b.descending, 0, len(b.ranges)))
		} else {
			part(fmt.Append(nil, x.Signature, b.descending, len(b.ranges), 0))
		}
		for _, r := range b.ranges {
			if x == nil {
				s := idsOf(r.Span)
				part(fmt.Appendf(nil, "%q %q %t", s.From, s.To, s.Before))
				continue
			}
			part(r.From)
			part(r.To)
		}
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}
