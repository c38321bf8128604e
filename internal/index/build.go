package index

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// Bounds of one page of a build: few enough that the writers, who wait while a
// page is written, do not notice.
const (
	pageDocs  = 1000
	pageBytes = 1 << 20
)

// page is a run of documents of a build.
type page struct {
	begin string // the document behind which it begins
	revs  []*store.Revision
	docs  []Change // of revs, for Following kinds
	after string   // the last document looked at
	end   bool     // there are no more
	mark  store.Mark
	total uint64
}

// readPage reads the next documents behind p.After at a snapshot of its own.
func (t *task) readPage(ctx context.Context, p *Progress) (g page, err error) {
	designs, scope := t.ix.designs(), t.home.scope(t.d)
	err = scope.View(ctx, func(r *store.Reader) error {
		g = page{begin: p.After, after: p.After}
		if g.mark, err = r.Mark(); err != nil {
			return err
		}
		t, err := r.Totals()
		if err != nil {
			return err
		}
		g.total = t.Docs
		bytes, seen := 0, 0
		sp := store.Span{}
		if p.After != "" {
			sp.From = p.After + "\x00"
		}
		for e, err := range r.Docs(sp, true) {
			if err != nil {
				return err
			}
			g.after = string(e.Doc.ID)
			seen++
			if e.Winner != nil && (designs || !scope.Designs(e.Doc.ID)) {
				g.revs = append(g.revs, e.Winner)
				g.docs = append(g.docs, changeOf(e.Doc, e.Winner))
				bytes += len(e.Winner.Body)
			}
			if len(g.revs) >= pageDocs || bytes >= pageBytes || seen >= 4*pageDocs {
				return nil
			}
		}
		g.end = true
		return nil
	})
	return g, err
}

// readAhead begins to read the page that follows, while this one is written.
func (t *task) readAhead(ctx context.Context, next Progress) {
	t.ahead = make(chan ahead, 1)
	go func(to chan<- ahead) {
		g, err := t.readPage(ctx, &next)
		to <- ahead{g, err}
	}(t.ahead)
}

// dropAhead waits for a page that nobody will ask for.
func (t *task) dropAhead() {
	if t.ahead != nil {
		<-t.ahead
		t.ahead = nil
	}
}

// ahead is a page that was read before it was asked for.
type ahead struct {
	page
	err error
}

// page gives the next page of a build, the one that was read ahead if it is it.
func (t *task) page(ctx context.Context, p *Progress) (page, error) {
	if t.ahead != nil {
		a := <-t.ahead
		t.ahead = nil
		if a.err == nil && a.begin == p.After {
			return a.page, nil
		}
	}
	return t.readPage(ctx, p)
}

// next gives the progress after a page.
func (g *page) next(p Progress, now int64) Progress {
	if !p.Begun {
		p.Begun, p.Mark, p.Total = true, g.mark, g.total
	}
	p.After, p.Updated = g.after, now
	p.Done += uint64(len(g.revs))
	if g.end {
		p.After, p.Phase = "", phaseFinish
	}
	return p
}

// buildKept adds one page of documents to an index of a kept kind. It writes
// the rows of a document only if that has not changed since the page was read:
// the writers, who keep the index too, have written newer ones then.
func (t *task) buildKept(ctx context.Context, k Kept, p *Progress) error {
	g, err := t.page(ctx, p)
	if err != nil {
		return err
	}
	rows, ends, size, err := t.rowsOf(k, &g)
	if err != nil {
		return err
	}
	next := g.next(*p, t.x.clock().Unix())
	if next.Phase == phaseFinish {
		next.Phase = phaseFeed
	} else {
		t.readAhead(ctx, next)
	}
	var moved error
	scope := t.home.scope(t.d)
	err = t.d.Maintain(ctx, size, func(m store.Maintenance) error {
		// An error here fails writers: what concerns this task alone is kept apart.
		if moved = move(m.Tx(), t.d.Number(), t.ix.Number, p, &next); moved != nil {
			return other(moved)
		}
		changed, more, err := m.Changed(g.mark, maxChanged)
		if err != nil {
			return err
		}
		if more { // so many that the page had better be read again
			moved = errAgain
			return putProgress(m.Tx(), t.d.Number(), t.ix.Number, p)
		}
		from := 0
		for i, rev := range g.revs {
			if !changed[scope.Stored(rev.ID)] {
				if err := putAll(m.Tx(), rows[from:ends[i]]); err != nil {
					return err
				}
			}
			from = ends[i]
		}
		if next.Phase == phaseFeed {
			return t.x.settle(m, t.d, t.home, t.ix.Number, Readable, "")
		}
		return nil
	})
	if err == nil {
		err = moved
	}
	if errors.Is(err, errAgain) {
		return nil
	}
	if err == nil {
		*p = next
	}
	return err
}

// maxChanged is how many changes a page may be behind the writers.
const maxChanged = 10_000

var errAgain = errors.New("index: the page is too old")

// other is err unless it concerns the task alone.
func other(err error) error {
	if errors.Is(err, errMoved) {
		return nil
	}
	return err
}

// rowsOf makes the rows of a page; ends tells where each document's end.
func (t *task) rowsOf(k Kept, g *page) (rows []Row, ends []int, size int, err error) {
	ends = make([]int, len(g.revs))
	for i, rev := range g.revs {
		if rows, err = k.Rows(rows, t.d.Number(), t.ix, rev); err != nil {
			return nil, nil, 0, err
		}
		ends[i] = len(rows)
	}
	for _, r := range rows {
		size += len(r.Key) + len(r.Value)
	}
	return rows, ends, size + 256, nil
}

func putAll(tx kv.Txn, rows []Row) error {
	for _, r := range rows {
		if err := tx.Put(r.Key, r.Value); err != nil {
			return err
		}
	}
	return nil
}
