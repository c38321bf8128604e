package changes

import (
	"context"
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// Judge is a filter that takes its time: it is given leaves page by page, in a
// snapshot, and decides about all of a page at once, when no snapshot is open.
type Judge interface {
	// Take notes the leaves revs of a change. It must not keep c or revs. full
	// says that the changes taken are enough for one decision.
	Take(r Reader, c *store.Change, revs []document.Rev) (full bool, err error)
	// Verdicts returns, for each call of Take since the last call of Verdicts
	// and in their order, the leaves that pass.
	Verdicts(ctx context.Context) ([][]document.Rev, error)
}

// awaiting is a change that a judge has taken.
type awaiting struct {
	change  store.Change
	visited uint64 // by the pass, with this one
}

// judged is a page of a feed that has a Judge: the changes are taken in one
// snapshot and those that pass are shown in another. What ends the feed in
// between, its limit, makes the place of that change the feed's, and what was
// taken after it is forgotten.
func (u *stream) judged(ctx context.Context) (over bool, err error) {
	u.taken = u.taken[:0]
	err = u.src.View(ctx, func(r Reader) (err error) {
		over, err = u.page(r)
		return err
	})
	if err != nil || len(u.taken) == 0 {
		return over, err
	}
	verdicts, err := u.Judge.Verdicts(ctx)
	if err != nil {
		return false, err
	}
	limited := false
	for n := 0; n < len(u.taken) && !limited; {
		err := u.src.View(ctx, func(r Reader) (err error) {
			n, limited, err = u.writeJudged(r, n, verdicts)
			return err
		})
		if err != nil {
			return false, err
		}
		if err := u.sink.Send(); err != nil {
			return false, err
		}
	}
	return over || limited, nil
}

// writeJudged returns what passed of the changes that were taken to the sink, from the n-th on, until a page is full, and closes
// the feed at its limit. A View whose first read fails runs again: next and the stream are then where they have come to, and
// the change whose read failed is still to come.
func (u *stream) writeJudged(r Reader, n int, verdicts [][]document.Rev) (next int, limited bool, err error) {
	for full := false; n < len(u.taken) && !full && u.left != 0; n++ {
		if len(verdicts[n]) == 0 {
			continue
		}
		if full, err = u.write(r, &u.taken[n].change, verdicts[n]); err != nil {
			return n, false, err
		}
	}
	if u.left != 0 {
		return n, false, nil
	}
	last := &u.taken[n-1]
	u.visited = last.visited
	return n, true, u.close(r, last.change.Seq, true)
}

// take returns a change to the judge.
func (u *stream) take(r Reader, c *store.Change, revs []document.Rev) (full bool, err error) {
	if full, err = u.Judge.Take(r, c, revs); err != nil {
		return false, err
	}
	kept := *c
	kept.Leaves = slices.Clone(c.Leaves)
	u.taken = append(u.taken, awaiting{kept, u.visited})
	return full, nil
}
