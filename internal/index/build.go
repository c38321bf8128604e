package index

import (
	"context"
	"errors"
	"slices"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/tracing"
)

// Bounds of one page of a build of an asynchronous kind: few enough that the writers,
// who wait while a page is written, do not notice.
const (
	pageDocs  = 1000
	pageBytes = 1 << 20
)

// Bounds of a page of a transactional kind, of which the rows alone are held: enough for
// the engine to write them as sorted tables (decision 0029).
const (
	transactionalDocs  = 40_000
	transactionalBytes = 6 << 20
)

// page is a range of documents of a build.
type page struct {
	begin string // the document after which it begins
	after string // the last document looked at
	end   bool   // there are no more
	count uint64 // documents that it brings
	upTo  store.Sequences
	total uint64

	docs []Change  // for asynchronous kinds
	rows []Row     // for transactional ones
	ends []endRows // whose they are
	size int       // bytes of them
}

// endRows says where a document's rows in a page end.
type endRows struct {
	id  document.ID
	end int
}

// readPage reads the next documents after p.After at a snapshot of its own, at
// most so many of them for a transactional kind.
func (t *task) readPage(ctx context.Context, p *Progress, most int) (g page, err error) {
	err = t.ns.View(ctx, func(r *store.Reader) error {
		g = page{begin: p.After, after: p.After}
		if g.upTo, err = r.Sequences(); err != nil {
			return err
		}
		totals, err := r.Totals()
		if err != nil {
			return err
		}
		g.total = totals.Docs
		sp := store.Span{}
		if p.After != "" {
			sp.From = p.After + "\x00"
		}
		if k, ok := t.ix.Kind.(Transactional); ok {
			return t.readRows(k, r, sp, most, &g)
		}
		return t.readDocs(r, sp, &g)
	})
	return g, err
}

// holds reports whether the index may hold a document of this id.
func (t *task) holds(r *store.Reader, id document.ID) bool { return t.ix.holds(r, id) }

func (x *Index) holds(r *store.Reader, id document.ID) bool { return x.designs() || !r.Designs(id) }

// PartitionDocs reads the documents of a partition that the index holds, or will
// when it is built, as they are at r's snapshot. all is false, and there are none, if they are more than
// most, or their bodies more than so many bytes.
func (x *Index) PartitionDocs(r *store.Reader, p document.Partition, most, bytes int) (docs []Change, all bool, err error) {
	seen := 0
	for e, err := range r.Docs(store.Span{From: string(p) + ":", To: string(p) + ";", Before: true}, true) {
		if err != nil {
			return nil, false, err
		}
		if seen++; seen > 4*most { // tombstones take time too
			return nil, false, nil
		}
		if e.Winner == nil || !x.holds(r, e.Doc.ID) {
			continue
		}
		c := changeOf(e.Doc, e.Winner)
		c.Rev.Body = slices.Clone(c.Rev.Body) // the engine's end with the snapshot
		docs = append(docs, c)
		if bytes -= len(c.Rev.Body); bytes < 0 || len(docs) > most {
			return nil, false, nil
		}
	}
	return docs, true, nil
}

// readDocs fills a page with documents.
func (t *task) readDocs(r *store.Reader, sp store.Span, g *page) error {
	bytes, seen := 0, 0
	for e, err := range r.Docs(sp, true) {
		if err != nil {
			return err
		}
		g.after = string(e.Doc.ID)
		seen++
		if e.Winner != nil && t.holds(r, e.Doc.ID) {
			g.docs = append(g.docs, changeOf(e.Doc, e.Winner))
			bytes += len(e.Winner.Body)
		}
		if len(g.docs) >= pageDocs || bytes >= pageBytes || seen >= 4*pageDocs {
			g.count = uint64(len(g.docs))
			return nil
		}
	}
	g.end, g.count = true, uint64(len(g.docs))
	return nil
}

// readRows fills a page with the rows of documents, which are themselves borrowed.
func (t *task) readRows(k Transactional, r *store.Reader, sp store.Span, most int, g *page) error {
	rowsOf := k.Rows(t.d.Number(), t.ix)
	seen := 0
	for rev, err := range r.Winners(sp) {
		if err != nil {
			return err
		}
		g.after = string(rev.ID)
		seen++
		if !rev.Deleted && t.holds(r, rev.ID) {
			g.count++
			from := len(g.rows)
			if g.rows, err = rowsOf(g.rows, rev); err != nil {
				return err
			}
			for _, row := range g.rows[from:] {
				g.size += len(row.Key) + len(row.Value)
			}
			if len(g.rows) > from {
				g.ends = append(g.ends, endRows{rev.ID, len(g.rows)})
			}
		}
		if seen >= most || len(g.rows) >= most || g.size >= transactionalBytes {
			return nil
		}
	}
	g.end = true
	return nil
}

// prefetchNext begins to read the page that follows, while this one is written.
func (t *task) prefetchNext(ctx context.Context, next Progress) {
	t.prefetch = make(chan prefetched, 1)
	go func(to chan<- prefetched, most int) {
		var g page
		err := dberr.Guard(t.x.o.Logger, "index.prefetchNext", func() (err error) {
			g, err = t.readPage(ctx, &next, most)
			return err
		})
		to <- prefetched{g, err}
	}(t.prefetch, t.max)
}

// dropPrefetched waits for a page that nobody will ask for.
func (t *task) dropPrefetched() {
	if t.prefetch != nil {
		<-t.prefetch
		t.prefetch = nil
	}
}

// prefetched is a page that was read before it was asked for.
type prefetched struct {
	page
	err error
}

// page returns the next page of a build, the one that was prefetched if it is it.
func (t *task) page(ctx context.Context, p *Progress) (page, error) {
	if t.prefetch != nil {
		a := <-t.prefetch
		t.prefetch = nil
		if a.err == nil && a.begin == p.After {
			return a.page, nil
		}
	}
	return t.readPage(ctx, p, t.max)
}

// next returns the progress after a page.
func (g *page) next(p Progress, now int64) Progress {
	if !p.Begun {
		p.Begun, p.UpTo, p.Total = true, g.upTo, g.total
	}
	p.After, p.Updated = g.after, now
	p.Done += g.count
	if g.end {
		p.After, p.Phase = "", phaseFinish
	}
	return p
}

// buildTransactional adds one page of documents to an index of a transactional kind. It writes
// the rows of a document only if that has not changed since the page was read:
// the writers, who keep the index too, have written newer ones then.
func (t *task) buildTransactional(ctx context.Context, p *Progress) (err error) {
	ctx, span := tracing.Work(ctx, "index.batch")
	defer func() { span.End(err) }()
	span.Text("db.namespace", t.d.Name())
	g, err := t.page(ctx, p)
	if err != nil {
		return err
	}
	next := g.next(*p, t.x.clock().Unix())
	if next.Phase == phaseFinish {
		next.Phase = phaseFeed
	} else {
		t.prefetchNext(ctx, next)
	}
	var moved error
	err = t.d.UpdateLane(ctx, g.size+256, func(m store.LaneTxn) error {
		// An error here fails writers: what concerns this task alone is kept apart.
		if moved = move(m.Tx(), t.d.Number(), t.ix.Number, p, &next); moved != nil {
			return other(moved)
		}
		changed, more, err := m.Changed(t.ns, g.upTo, maxChanged)
		if err != nil {
			return err
		}
		if more { // so many that the page had better be read again
			moved = errStalePage
			return putProgress(m.Tx(), t.d.Number(), t.ix.Number, p)
		}
		from := 0
		for _, of := range g.ends {
			if !changed[of.id] {
				if err := putAll(m.Tx(), g.rows[from:of.end]); err != nil {
					return err
				}
			}
			from = of.end
		}
		if next.Phase == phaseFeed {
			return t.x.setState(m, t.ns, t.ix.Number, Readable, "")
		}
		return nil
	})
	if err == nil {
		err = moved
	}
	if errors.Is(err, errStalePage) {
		t.max = max(t.max/2, 1)
		return nil
	}
	if err == nil {
		*p, t.max = next, t.x.o.Page
	}
	return err
}

// maxChanged is how many changes a page may be behind the writers.
const maxChanged = 10_000

var errStalePage = errors.New("index: the page is too old")

// other is err unless it concerns the task alone.
func other(err error) error {
	if errors.Is(err, errMoved) {
		return nil
	}
	return err
}

func putAll(tx kv.Txn, rows []Row) error {
	for _, r := range rows {
		if err := tx.Put(r.Key, r.Value); err != nil {
			return err
		}
	}
	return nil
}
