package query

import (
	"bytes"
	"slices"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

// scan is the state of reading rows: what is needed of documents, and the
// present page and branch.
type scan struct {
	// Which members beside the body are looked at.
	rev, attachments, conflicts bool

	reader *store.Reader
	budget int // rows that may still be looked at in this page
	spans  []field.Span
	shape  *shape
	row    Row

	// Rows of an index whose documents are read together.
	entries []field.Entry
	ids     []document.ID
	docs    *store.BatchReader // nil until it is needed
}

// together is how many documents are read at a time.
const together = 64

func (s *scan) init(req *Request) {
	uses := func(name string) bool {
		return req.Selector.Uses(name) || !req.Fields.All() && req.Fields.Uses(name) ||
			req.Group != nil && slices.ContainsFunc(req.Group.paths(), func(p *selector.Path) bool { return p.Segments()[0] == name })
	}
	s.rev, s.attachments = uses("_rev"), uses("_attachments")
	s.conflicts = req.Conflicts
	s.row.fields = req.Fields
}

func (s *scan) begin(r *store.Reader, budget int) { s.reader, s.budget = r, budget }

// end lets go of what was read.
func (s *scan) end() {
	if s.docs != nil {
		s.docs.Release()
		s.docs = nil
	}
}

// enter makes ready for the rows of a branch.
func (s *scan) enter(b *Branch) {
	s.spans, s.shape = nil, nil
	if b.elements() {
		s.spans = spansOf(b.ranges)
		if b.descending {
			slices.Reverse(s.spans)
		}
	}
	if b.covering {
		s.shape = shapeOf(b.def)
	}
}

// spans is how many runs of rows a branch has.
func (b *Branch) spans() int { return len(b.ranges) + len(b.ids) }

// span returns the place of the n-th run in the order of reading.
func (b *Branch) span(n int) int {
	if b.descending {
		return b.spans() - 1 - n
	}
	return n
}

// readSpan reads the run of rows at q.at, from q.at on. stop says that the page
// is at its end.
func (q *Query) readSpan(b *Branch, sink Sink) (stop bool, err error) {
	n := b.span(q.at.span)
	if b.named == nil {
		return q.readIDs(b, b.ids[n], sink)
	}
	s := &q.scan
	s.entries = s.entries[:0]
	for e, err := range field.Walk(s.reader, b.Index(), b.ranges[n].Span, q.at.row, b.descending) {
		if err != nil {
			return true, err
		}
		if s.shape == nil {
			e.Values = nil // they are borrowed until the next step
		}
		s.entries = append(s.entries, e)
		s.budget--
		if len(s.entries) < q.gathered() && s.budget > 0 {
			continue
		}
		if stop, err := q.readRows(b, sink); stop || err != nil {
			return true, err
		}
		if s.budget <= 0 {
			return true, nil
		}
	}
	return q.readRows(b, sink)
}

// gathered is how many rows are gathered before their documents are read: as many
// as will be returned if all of them match, so that none is read in vain.
func (q *Query) gathered() int {
	switch {
	case q.scan.shape != nil: // the rows will do
		return 1
	case q.left < 0:
		return together
	}
	return min(q.left, together) + min(q.skip, together)
}

// readRows looks at the rows gathered.
func (q *Query) readRows(b *Branch, sink Sink) (stop bool, err error) {
	s := &q.scan
	several := len(s.entries) > 1
	if several {
		s.ids = s.ids[:0]
		for i := range s.entries {
			s.ids = append(s.ids, s.entries[i].ID)
		}
		if s.docs == nil {
			s.docs = store.NewBatchReader()
		}
		if err := s.docs.Read(s.reader, s.ids); err != nil {
			return true, err
		}
	}
	for i := range s.entries {
		e := &s.entries[i]
		q.stand(e.Tuple, e.ID)
		q.stats.Keys++
		q.met(e.ID, e.Size)
		winner := func() (*store.Revision, error) { return s.reader.Winner(e.ID) }
		if several {
			winner = func() (*store.Revision, error) { return s.docs.Winner(i) }
		}
		if stop, err := q.readRow(b, e, winner, sink); stop || err != nil {
			return true, err
		}
	}
	s.entries = s.entries[:0]
	return false, nil
}

// readRow looks at one row of an index, whose document winner reads.
func (q *Query) readRow(b *Branch, e *field.Entry, winner func() (*store.Revision, error), sink Sink) (stop bool, err error) {
	s := &q.scan
	if !s.reader.Sees(e.ID) {
		return false, nil
	}
	if s.shape != nil && e.Whole {
		s.row.cover(e, s.shape)
		if match, err := q.req.Selector.Match(&s.row.doc, q.budget); !match || err != nil {
			return err != nil, err
		}
		if q.unsorted(b) {
			return false, nil
		}
		return q.found(&s.row, sink)
	}
	rev, err := winner()
	if dberr.Is(err, dberr.NotFound) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	if match, err := q.match(rev); !match || err != nil {
		return err != nil, err
	}
	if q.unsorted(b) {
		return false, nil
	}
	if b.elements() {
		if err := q.budget.Spend(len(s.spans)); err != nil {
			return true, err
		}
		if first, err := field.First(b.Index(), rev, e.Tuple, s.spans, b.descending); !first || err != nil {
			return err != nil, err
		}
	}
	return q.foundOnce(rev, sink)
}

// readIDs reads documents by id. A tenant's design documents lie among the
// documents of the partition and are passed over: no index holds them either.
func (q *Query) readIDs(b *Branch, sp store.Span, sink Sink) (stop bool, err error) {
	s := &q.scan
	sp.Descending = b.descending
	if q.at.row != nil {
		if b.descending {
			sp.To, sp.Before = string(q.at.row.ID), true
		} else {
			sp.From = string(q.at.row.ID) + "\x00"
		}
		if sp.To != "" && sp.From > sp.To {
			return false, nil
		}
	}
	if sp.From != "" && sp.From == sp.To && !sp.Before {
		return q.readID(document.ID(sp.From), sink)
	}
	for rev, err := range s.reader.Winners(sp) {
		if err != nil {
			return true, err
		}
		s.budget--
		q.stand(nil, rev.ID)
		if !rev.Deleted && !q.scope.Designs(rev.ID) {
			q.stats.Keys++
			if stop, err := q.readDoc(rev, sink); stop || err != nil {
				return true, err
			}
		}
		if s.budget <= 0 {
			return true, nil
		}
	}
	return false, nil
}

// readID reads one document by id.
func (q *Query) readID(id document.ID, sink Sink) (stop bool, err error) {
	q.stand(nil, id)
	q.scan.budget--
	if !q.scan.reader.Sees(id) || q.scope.Designs(id) {
		return false, nil
	}
	rev, err := q.scan.reader.Winner(id)
	if dberr.Is(err, dberr.NotFound) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	q.stats.Keys++
	return q.readDoc(rev, sink)
}

// readDoc looks at one document of the list of all.
func (q *Query) readDoc(rev *store.Revision, sink Sink) (stop bool, err error) {
	if match, err := q.match(rev); !match || err != nil {
		return err != nil, err
	}
	rev.Body = bytes.Clone(rev.Body) // it was borrowed
	q.scan.row.doc.Body = rev.Body
	return q.foundOnce(rev, sink)
}

// match holds a document against the selector.
func (q *Query) match(rev *store.Revision) (bool, error) {
	s := &q.scan
	q.stats.Docs++
	q.met(rev.ID, len(rev.Body))
	row := &s.row
	row.rev, row.conflicts = rev, nil
	row.doc = selector.Doc{ID: string(rev.ID), Body: rev.Body, Meta: row.doc.Meta[:0]}
	if s.rev {
		row.doc.Rev = rev.Rev.String()
	}
	if s.attachments && len(rev.Attachments) > 0 {
		stubs := couchwire.AppendAttachments(nil, rev.Attachments, couchwire.Form{})
		row.doc.Meta = append(row.doc.Meta, selector.Member{Name: "_attachments", Value: stubs})
	}
	if s.conflicts {
		if err := row.addConflicts(s.reader); err != nil {
			return false, err
		}
	}
	return q.req.Selector.Match(&row.doc, q.budget)
}

// unsorted reports whether the document at hand lacks a field of the sort. Whatever
// index answers, such documents are not found: the ranges leave them out, but for
// rows that were cut.
func (q *Query) unsorted(b *Branch) bool {
	for i := range b.def.Columns {
		path := b.def.Columns[i].Path
		if b.def.Optional(i) && sorts(q.req.Sort, path.String()) && q.scan.row.doc.Lookup(path) == nil {
			return true
		}
	}
	return false
}

// foundOnce takes a document that matches, unless a branch before this one has
// it too.
func (q *Query) foundOnce(rev *store.Revision, sink Sink) (stop bool, err error) {
	for _, b := range q.plan.Branches[:q.at.branch] {
		if err := q.budget.Spend(b.spans()); err != nil {
			return true, err
		}
		has := slices.ContainsFunc(b.ids, func(s store.Span) bool { return inSpan(s, string(rev.ID)) })
		if b.named != nil {
			if has, err = field.Holds(b.Index(), rev, spansOf(b.ranges)); err != nil {
				return true, err
			}
		}
		if has {
			return false, nil
		}
	}
	return q.found(&q.scan.row, sink)
}

func inSpan(s store.Span, id string) bool {
	return id >= s.From && (s.To == "" || id < s.To || id == s.To && !s.Before)
}

// probe is how many rows are counted to choose between indexes.
const probe = 100

// count counts the rows of a branch up to a bound, in as many of its runs.
func (b *Branch) count(r *store.Reader, bound int) (n int, err error) {
	for i := range b.ranges[:min(len(b.ranges), bound)] {
		for _, err := range field.Walk(r, b.Index(), b.ranges[i].Span, nil, false) {
			if err != nil {
				return n, err
			}
			if n++; n >= bound {
				return n, nil
			}
		}
	}
	for _, s := range b.ids[:min(len(b.ids), bound)] {
		for d, err := range r.Docs(s, false) {
			if err != nil {
				return n, err
			}
			if d.Doc.Tree.Winner().Deleted || r.Designs(d.Doc.ID) {
				continue
			}
			if n++; n >= bound {
				return n, nil
			}
		}
	}
	return n, nil
}
