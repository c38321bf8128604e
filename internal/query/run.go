package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/selector"
	"github.com/sectional/sectional/internal/store"
)

// Sink takes the rows of an answer. Row is called within a snapshot and must
// not wait for anybody; full says that the rows so far should go out first.
// Page is called between snapshots.
type Sink interface {
	Row(row *Row) (full bool, err error)
	Page() error
}

// Stats tell what a query cost.
type Stats struct {
	Keys       int // rows of indexes, or entries of the list of all documents
	Docs       int // documents read
	Bytes      int // of those rows and documents
	Partitions int // that those rows belong to; 0 in an ordinary database
	Results    int
	Took       time.Duration
}

// Query is one run of a request.
type Query struct {
	req     *Request
	scope   store.Scope
	indexes *index.Indexes // to wait for those that are being built
	paths   pathsFunc
	// upTo is what there was when the query was first planned with an asynchronous index;
	// caught are those that were brought up to there.
	upTo   map[uint64]store.Sequences
	caught map[uint64]bool

	plan    *Plan
	at      position
	row     field.RowKey // what at.row points to, if not nil
	last    position     // of the last document that was returned
	lastRow field.RowKey
	skip    int
	left    int // documents that may still be returned
	over    bool

	stats      Stats
	partition  document.Partition // the last one that was met
	partitions map[document.Partition]bool
	summary    *summary // of count and group
	scan       scan
	budget     *selector.Budget // what matching and picking fields may still cost
}

// pageKeys is how many rows are looked at in one view.
const pageKeys = 10_000

// New makes a query over a scope.
func New(req *Request, scope store.Scope, x *index.Indexes) *Query {
	q := &Query{req: req, scope: scope, indexes: x, paths: pathsOf, skip: req.Skip, left: req.Limit}
	if req.Count || req.Group != nil {
		q.skip, q.left, q.summary = 0, -1, newSummary(req)
	}
	if scope.Partitioned() {
		q.partitions = map[document.Partition]bool{}
	}
	q.scan.init(req)
	return q
}

// Run plans the query and passes its rows to sink. Errors are dberr.Invalid with
// CouchDB's words before the first row, the store's and the sink's.
func (q *Query) Run(ctx context.Context, sink Sink) error {
	began := time.Now()
	q.budget = selector.NewBudget(ctx, q.req.Steps)
	defer func() { q.stats.Took = time.Since(began) }()
	long := q.scope.LongView()
	defer long.Release()
	defer func() { q.scan.end() }() // before: it may read at the snapshot
	for !q.over {
		var wait *index.Index
		planned := q.plan != nil
		err := long.View(ctx, func(r *store.Reader) (err error) {
			if !planned { // maybe it was, by definitions that its first read found to be others
				r.Remember()
				q.plan, q.at = nil, position{}
				if wait, err = q.prepare(ctx, r); wait != nil || err != nil {
					return err
				}
			} else if err := q.check(r); err != nil {
				return err
			}
			return q.page(ctx, r, sink)
		})
		err = repair(ctx, q.indexes, q.scope, err)
		if errors.Is(err, index.ErrGone) && q.stats.Results == 0 && q.req.Bookmark == "" {
			q.restart()
			continue
		}
		if wait != nil && err == nil {
			long.Release()
			err = q.await(ctx, wait)
		}
		if err != nil {
			return err
		}
		if err := sink.Page(); err != nil {
			return err
		}
	}
	return nil
}

// await waits for an index. One that goes away meanwhile is planned without.
func (q *Query) await(ctx context.Context, x *index.Index) error {
	var err error
	if x.State == index.Building {
		err = q.indexes.Await(ctx, q.scope.Database(), x)
	} else if err = q.indexes.CatchUp(ctx, q.scope.Database(), x, q.upTo[x.Number]); err == nil {
		q.caught[x.Number] = true
	}
	if errors.Is(err, index.ErrGone) {
		return nil
	}
	return err
}

// prepare makes the plan, or returns which index has to be waited for.
func (q *Query) prepare(ctx context.Context, r *store.Reader) (wait *index.Index, err error) {
	p, err := plannerAt(ctx, r, q.req, q.paths)
	if err != nil {
		return nil, err
	}
	plan, err := p.plan(q.scope.Partitioned())
	if err != nil {
		return nil, err
	}
	if plan.await != nil {
		return plan.await.Index(), nil
	}
	if behind, err := q.behind(r, plan); behind != nil || err != nil {
		return behind, err
	}
	q.plan = plan
	if q.req.Bookmark == "" {
		return nil, nil
	}
	return nil, q.restore(p)
}

// behind returns an index of a plan that follows the feed and has to be brought up to
// what there was at the beginning, unless the request does without.
func (q *Query) behind(r *store.Reader, plan *Plan) (*index.Index, error) {
	for _, b := range plan.Branches {
		x := b.Index()
		if x == nil || q.caught[x.Number] || !q.req.Update || q.req.stale() {
			continue
		}
		if _, follows := x.Kind.(index.Asynchronous); !follows {
			continue
		}
		if q.upTo == nil {
			q.upTo, q.caught = map[uint64]store.Sequences{}, map[uint64]bool{}
		}
		if _, known := q.upTo[x.Number]; !known {
			ns := r.Namespace()
			if x.Tenant != ns.Tenant() {
				ns = r.DatabaseNamespace()
			}
			now, err := r.As(ns).Sequences()
			if err != nil {
				return nil, err
			}
			q.upTo[x.Number] = now
		}
		return x, nil
	}
	return nil, nil
}

// restart forgets what was read. Nobody has seen any of it yet, so another
// plan may answer when an index went away.
func (q *Query) restart() {
	fresh := New(q.req, q.scope, q.indexes)
	fresh.stats, fresh.budget, fresh.paths = q.stats, q.budget, q.paths // it was read all the same
	fresh.caught, fresh.upTo = q.caught, q.upTo
	*q = *fresh
}

// check reports whether the plan's indexes are still there.
func (q *Query) check(r *store.Reader) error {
	for _, b := range q.plan.Branches {
		x := b.Index()
		if x == nil {
			continue
		}
		if now, err := index.At(r, x); now == nil || err != nil {
			return cmp.Or(err, index.ErrGone)
		}
	}
	return nil
}

// page reads the next rows.
func (q *Query) page(ctx context.Context, r *store.Reader, sink Sink) error {
	q.scan.begin(r, pageKeys)
	for ; q.at.branch < len(q.plan.Branches) && q.left != 0; q.at = (position{branch: q.at.branch + 1}) {
		b := q.plan.Branches[q.at.branch]
		q.scan.enter(b)
		for ; q.at.span < len(b.ranges); q.at.span, q.at.row = q.at.span+1, nil {
			if q.scan.budget--; q.scan.budget < 0 { // there may be a million runs, and nothing in any of them
				return nil
			}
			stop, err := q.scanRange(ctx, b, sink)
			if stop || err != nil {
				q.over = q.left == 0
				return err
			}
		}
	}
	q.over = true
	return nil
}

// stand moves to a row.
func (q *Query) stand(tuple []byte, id document.ID) {
	q.row = field.RowKey{Tuple: tuple, ID: id}
	q.at.row = &q.row
}

// met notes what a row or document cost.
func (q *Query) met(id document.ID, size int) {
	q.stats.Bytes += size
	if q.partitions == nil {
		return
	}
	if p := id.Partition(); p != q.partition {
		q.partition = p
		q.partitions[p] = true
	}
}

// found takes a document that matches. stop says that the page ends with it.
func (q *Query) found(row *Row, sink Sink) (stop bool, err error) {
	if err := q.budget.Spend(q.picking(&row.Doc)); err != nil {
		return true, err
	}
	if q.summary != nil {
		return false, q.summary.add(&row.Doc)
	}
	if q.skip > 0 {
		q.skip--
		return false, nil
	}
	full, err := sink.Row(row)
	if err != nil {
		return true, err
	}
	q.lastRow = q.row
	q.last = position{q.at.branch, q.at.span, &q.lastRow}
	q.stats.Results++
	q.left--
	return full || q.left == 0, nil
}

// picking is how many steps it takes to pick what is asked for out of a document.
func (q *Query) picking(d *selector.Doc) int {
	if q.summary != nil {
		return q.summary.cost(d)
	}
	return q.req.Fields.Cost(d)
}

// Empty reports whether the selector contradicts itself, so that nothing was
// looked for.
func (q *Query) Empty() bool { return len(q.plan.Branches) == 1 && q.plan.Branches[0].empty() }

// Plan returns the index that is read first of all, and how the plan reads what, with nothing of
// what was asked for; "" before there is one.
func (q *Query) Plan() (index, plan string) {
	if q.plan == nil || len(q.plan.Branches) == 0 {
		return "_find", ""
	}
	var b []byte
	for i, at := range q.plan.Branches {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = fmt.Appendf(b, "%s: %d ranges", at.label(), len(at.ranges))
		if at.descending {
			b = append(b, " from the end"...)
		}
		if at.Covering() {
			b = append(b, ", no documents"...)
		}
	}
	return q.plan.Branches[0].label(), string(b)
}

// Stats reports what the query cost so far.
func (q *Query) Stats() Stats {
	s := q.stats
	s.Partitions = len(q.partitions)
	return s
}

// Bookmark returns the position after the last row: "nil" if there is none.
func (q *Query) Bookmark() string {
	switch {
	case q.last.row != nil:
		return q.plan.bookmark(q.last)
	case q.req.Bookmark != "":
		return q.req.Bookmark
	}
	return NoBookmark
}

// ratio is how many documents may be read for each that is returned before the
// answer warns.
const ratio = 10

// Warning returns the warnings of an answer, "" for none.
func (q *Query) Warning() string {
	all := q.plan.Warnings
	if q.stats.Docs > ratio*max(q.stats.Results, 1) && q.summary == nil {
		all = append(all[:len(all):len(all)], warnExamined)
	}
	return strings.Join(all, "\n")
}
