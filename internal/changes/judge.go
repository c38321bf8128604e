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
	for n := 0; n < len(u.taken); {
		err := u.src.View(ctx, func(r Reader) error {
			for n < len(u.taken) {
				a, revs := &u.taken[n], verdicts[n]
				n++
				if len(revs) == 0 {
					continue
				}
				full, err := u.tell(r, &a.change, revs)
				if err != nil {
					return err
				}
				if u.left == 0 {
					u.visited, over, n = a.visited, true, len(u.taken)
					return u.close(r, a.change.Seq, true)
				}
				if full {
					return nil
				}
			}
			return nil
		})
		if err != nil {
			return false, err
		}
		if err := u.sink.Send(); err != nil {
			return false, err
		}
	}
	return over, nil
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
