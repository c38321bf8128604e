package couchapi

import (
	"errors"
	"strings"

	"github.com/sectional/sectional/internal/changes"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

// filterRequest is what a filter is made from.
type filterRequest struct {
	*couchhttp.Request
	q    *changesQuery
	rows *changesRows
	raw  []byte // the body, nil for none
	body []document.Member
}

// changesFilters are the filters that CouchDB has built in.
var changesFilters = map[string]func(f *filterRequest) error{
	"_doc_ids":  (*filterRequest).byID,
	"_selector": (*filterRequest).bySelector,
	"_view":     (*filterRequest).byView,
	"_design": func(f *filterRequest) error {
		f.q.Design = true
		return nil
	},
}

// changesFilter sets up the filter that the query names.
func changesFilter(r *couchhttp.Request, q *changesQuery, rows *changesRows, raw []byte, body []document.Member) error {
	f := &filterRequest{r, q, rows, raw, body}
	switch {
	case q.filter == "":
		return nil
	case changesFilters[q.filter] != nil:
		return changesFilters[q.filter](f)
	case strings.HasPrefix(q.filter, "_"):
		return badChanges("unknown builtin filter name")
	}
	ddoc, name, ok := strings.Cut(q.filter, "/")
	if !ok || strings.Contains(name, "/") {
		return badChanges("`filter` must be of the form `designname/filtername`")
	}
	return f.byFunction(ddoc, name)
}

// byView is the filter by a view's map function.
func (f *filterRequest) byView() error {
	if f.q.view == "" {
		return badChanges("`view` filter parameter is not provided.")
	}
	ddoc, name, ok := strings.Cut(f.q.view, "/")
	if !ok || strings.Contains(name, "/") {
		return badChanges("`view` must be of the form `designname/viewname`")
	}
	return f.byMap(ddoc, name)
}

// byID is the filter by ids. Ids that no document can have are let pass: they
// match nothing.
func (f *filterRequest) byID() error {
	raw := couchhttp.MemberOf(f.body, "doc_ids")
	if f.q.docIDs != nil && raw == nil {
		raw = []byte(*f.q.docIDs)
		if err := couchhttp.CheckJSON(raw); err != nil {
			return err
		}
	}
	ids, ok := couchhttp.StringsOf(raw)
	if !ok {
		return badChanges("`doc_ids` filter parameter is not a list of doc ids.")
	}
	f.q.IDs = []document.ID{}
	for _, s := range ids {
		if id, err := document.ParseID(s, 0); err == nil && !id.IsLocal() && f.holds(id) {
			f.q.IDs = append(f.q.IDs, id)
		}
	}
	return nil
}

// holds reports whether a document of this id lies in the scope of the
// request: a partition does not show the design documents of its database.
func (f *filterRequest) holds(id document.ID) bool {
	p := f.Scope.Partition()
	return p == "" || id.Partition() == p
}

// bySelector is the filter by a selector, whose fields also say what the
// documents in the rows hold.
func (f *filterRequest) bySelector() error {
	if f.Method != "POST" {
		return badChanges("Selector must be specified in POST payload")
	}
	raw := couchhttp.MemberOf(f.body, "selector")
	if jsonscan.KindOf(raw) != jsonscan.Object {
		return badChanges("Selector error: expected a JSON object")
	}
	sel, err := selector.Parse(raw)
	if err != nil {
		return asBadRequest(err)
	}
	if raw := couchhttp.MemberOf(f.body, "fields"); raw != nil {
		if jsonscan.KindOf(raw) != jsonscan.Array {
			return badChanges("Selector error: fields must be JSON array")
		}
		fields, err := selector.ParseFields(raw)
		if err != nil {
			return asBadRequest(err)
		}
		if !fields.All() {
			f.rows.fields = &fields
		}
	}
	f.q.Filter = f.rows.selectorFilter(sel, f.budget())
	return nil
}

// asBadRequest returns an error of the selector language the word that _changes
// has for all of them.
func asBadRequest(err error) error {
	var e *dberr.Error
	if !errors.As(err, &e) || e.Kind != dberr.Invalid {
		return err
	}
	return badChanges(e.Reason)
}

// budget returns the budget for each change: one for all of them, unless the feed
// has no end.
func (f *filterRequest) budget() func() *selector.Budget {
	steps := f.API.Settings.Value().SelectorSteps
	if f.q.Mode == changes.Endless {
		return func() *selector.Budget { return selector.NewBudget(f.Ctx(), steps) }
	}
	b := selector.NewBudget(f.Ctx(), steps)
	return func() *selector.Budget { return b }
}

// selectorFilter makes the filter of a selector: each leaf is tested by itself.
func (c *changesRows) selectorFilter(sel *selector.Selector, budget func() *selector.Budget) changes.Filter {
	var passed []document.Rev
	return func(v changes.Reader, ch *store.Change, revs []document.Rev) ([]document.Rev, error) {
		passed = passed[:0]
		b := budget()
		for i, rev := range revs {
			ok, err := c.matches(v, ch, i, rev, sel, b)
			if err != nil {
				return nil, err
			}
			if ok {
				passed = append(passed, rev)
			}
		}
		return passed, nil
	}
}

func (c *changesRows) matches(v changes.Reader, ch *store.Change, i int, leaf document.Rev, sel *selector.Selector, b *selector.Budget) (bool, error) {
	rev, err := c.read(v, &changes.Row{Seq: ch.Seq, ID: ch.ID, Deleted: ch.Deleted, Winner: ch.Leaves[0]})
	if i > 0 {
		var d *store.Doc
		if d, err = v.Doc(ch.ID); err == nil {
			rev, err = v.Revision(d, leaf)
		}
	}
	if dberr.Is(err, dberr.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	d := c.selectable(rev, nil, sel.Uses)
	if ok, err := sel.Match(d, b); !ok || err != nil {
		return false, err
	}
	if c.fields != nil { // the row will pick them
		return true, b.Spend(c.fields.Cost(d))
	}
	return true, nil
}

// selectable gives a revision the form that the selector language works on,
// with those of its reserved members that are looked at.
func (c *changesRows) selectable(rev *store.Revision, tree *document.Tree, uses func(name string) bool) *selector.Doc {
	d := &selector.Doc{ID: string(rev.ID), Deleted: rev.Deleted, Body: rev.Body}
	if uses("_rev") {
		d.Rev = rev.Rev.String()
	}
	if len(rev.Attachments) > 0 && uses("_attachments") {
		stubs := couchwire.AppendAttachments(nil, rev.Attachments, couchwire.Form{Encoding: c.Form.Encoding})
		d.Meta = append(d.Meta, selector.Member{Name: "_attachments", Value: stubs})
	}
	if tree != nil && uses("_conflicts") {
		if revs := couchhttp.ConflictsOf(tree); len(revs) > 0 {
			d.Meta = append(d.Meta, selector.Member{Name: "_conflicts", Value: couchwire.AppendRevs(nil, revs)})
		}
	}
	return d
}
