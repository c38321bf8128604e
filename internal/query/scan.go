package query

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"

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
	budget int          // rows that may still be looked at in this page
	spans  []field.Span // of a branch whose documents may have several rows
	row    Row
	// says answers $text for a document; nil where all documents have their words.
	says func(clause []byte, id document.ID) (bool, error)
	said io.Closer // what says asks; nil for nothing

	// Rows whose documents are read together.
	hits []hit
	ids  []document.ID
	docs *store.BatchReader // nil until it is needed
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
}

func (s *scan) begin(r *store.Reader, budget int) {
	s.unsay()
	s.reader, s.budget = r, budget
}

// end lets go of what was read.
func (s *scan) end() {
	if s.docs != nil {
		s.docs.Release()
		s.docs = nil
	}
	s.unsay()
}

// unsay lets go of what says asks.
func (s *scan) unsay() {
	if s.said != nil {
		_ = s.said.Close() // it never fails
		s.said = nil
	}
}

// enter makes ready for the rows of a branch.
func (s *scan) enter(b *Branch) {
	if s.spans = nil; b.repeats {
		s.spans = spansOf(b.ranges)
		if b.descending {
			slices.Reverse(s.spans)
		}
	}
}

// span returns the n-th range of rows in the order of reading.
func (b *Branch) span(n int) field.Span {
	if b.descending {
		n = len(b.ranges) - 1 - n
	}
	return b.ranges[n].Span
}

// scanRange reads the range of rows at q.at, from q.at on. stop says that the page
// is at its end.
func (q *Query) scanRange(ctx context.Context, b *Branch, sink Sink) (stop bool, err error) {
	s := &q.scan
	s.hits = s.hits[:0]
	if p, is := b.path.(*textPath); is && q.req.alternatives {
		s.unsay()
		if s.says, s.said, err = p.says(ctx, s.reader); err != nil {
			return true, err
		}
	}
	for h, err := range b.path.scan(ctx, s.reader, b.span(q.at.span), q.at.row, b.descending) {
		if err != nil {
			return true, err
		}
		if b.shape == nil {
			h.Values = nil // they are borrowed until the next step
		}
		s.hits = append(s.hits, h)
		s.budget--
		if !h.passed && h.rev == nil && len(s.hits) < q.bufferedRows(b) && s.budget > 0 {
			continue
		}
		if stop, err := q.readBuffered(ctx, b, sink); stop || err != nil {
			return true, err
		}
		if s.budget <= 0 {
			return true, nil
		}
	}
	return q.readBuffered(ctx, b, sink)
}

// bufferedRows is how many rows are gathered before their documents are read: as many
// as will be returned if all of them match, so that none is read in vain.
func (q *Query) bufferedRows(b *Branch) int {
	switch {
	case b.shape != nil: // the rows will do
		return 1
	case q.left < 0:
		return together
	}
	return min(q.left, together) + min(q.skip, together)
}

// readBuffered looks at the rows gathered.
func (q *Query) readBuffered(ctx context.Context, b *Branch, sink Sink) (stop bool, err error) {
	s := &q.scan
	several := len(s.hits) > 1
	if several {
		s.ids = s.ids[:0]
		for i := range s.hits {
			s.ids = append(s.ids, s.hits[i].ID)
		}
		if s.docs == nil {
			s.docs = store.NewBatchReader()
		}
		if err := s.docs.Read(s.reader, s.ids); err != nil {
			return true, err
		}
	}
	for i := range s.hits {
		h := &s.hits[i]
		q.stand(h.Tuple, h.ID)
		if h.passed {
			continue
		}
		q.stats.Keys++
		q.met(h.ID, h.Size)
		winner := func() (*store.Revision, error) { return s.reader.Winner(h.ID) }
		if several {
			winner = func() (*store.Revision, error) { return s.docs.Winner(i) }
		}
		if stop, err := q.readRow(ctx, b, h, winner, sink); stop || err != nil {
			return true, err
		}
	}
	s.hits = s.hits[:0]
	return false, nil
}

// readRow looks at one row, whose document winner reads.
func (q *Query) readRow(ctx context.Context, b *Branch, h *hit, winner func() (*store.Revision, error), sink Sink) (stop bool, err error) {
	s := &q.scan
	rev := h.rev
	match := false
	switch {
	case rev != nil:
		if match, err = q.match(rev); match {
			rev.Body = bytes.Clone(rev.Body) // it was borrowed
			s.row.Doc.Body = rev.Body
		}
	case !s.reader.Sees(h.ID):
	case b.shape != nil && h.Whole:
		s.row.cover(&h.Entry, b.shape)
		match, err = q.req.Selector.Match(&s.row.Doc, q.budget)
	default:
		if rev, err = winner(); dberr.Is(err, dberr.NotFound) {
			return false, nil
		}
		if err == nil {
			match, err = q.match(rev)
		}
	}
	if !match || err != nil {
		return err != nil, err
	}
	lacks := func(p *selector.Path) bool { return s.row.Doc.Lookup(p) == nil }
	if slices.ContainsFunc(b.lacking, lacks) {
		return false, nil
	}
	if rev == nil { // of a plan with one branch, whose documents have one row
		return q.found(&s.row, sink)
	}
	if b.repeats {
		if err := q.budget.Spend(len(s.spans)); err != nil {
			return true, err
		}
		if first, err := b.path.(repeater).first(rev, h.Tuple, s.spans, b.descending); !first || err != nil {
			return err != nil, err
		}
	}
	return q.foundOnce(ctx, rev, sink)
}

// match holds a document against the selector.
func (q *Query) match(rev *store.Revision) (bool, error) {
	s := &q.scan
	q.stats.Docs++
	q.met(rev.ID, len(rev.Body))
	row := &s.row
	row.Rev, row.Conflicts = rev, nil
	row.Doc = selector.Doc{ID: string(rev.ID), Body: rev.Body}
	if s.rev {
		row.Doc.Rev = rev.Rev.String()
	}
	if s.conflicts {
		if err := row.addConflicts(s.reader); err != nil {
			return false, err
		}
	}
	if q.req.ExtraMembers != nil && (s.attachments && len(rev.Attachments) > 0 || len(row.Conflicts) > 0) {
		row.Doc.Meta = q.req.ExtraMembers(rev, row.Conflicts)
	}
	var unsaid error
	if s.says != nil {
		row.Doc.Says = func(clause []byte) (is bool) {
			if unsaid = cmp.Or(unsaid, q.budget.Spend(wordSteps)); unsaid == nil {
				is, unsaid = s.says(clause, rev.ID)
			}
			return is
		}
	}
	match, err := q.req.Selector.Match(&row.Doc, q.budget)
	return match && unsaid == nil, cmp.Or(unsaid, err)
}

// foundOnce takes a document that matches, unless a branch before this one has
// it too.
func (q *Query) foundOnce(ctx context.Context, rev *store.Revision, sink Sink) (stop bool, err error) {
	for _, b := range q.plan.Branches[:q.at.branch] {
		if err := q.budget.Spend(len(b.ranges)); err != nil {
			return true, err
		}
		has, err := b.path.holds(ctx, q.scan.reader, rev, b.ranges)
		if err != nil {
			return true, err
		}
		if has {
			return false, nil
		}
	}
	return q.found(&q.scan.row, sink)
}

// probe is how many rows are counted to choose between indexes.
const probe = 100
