package selector

import (
	"context"

	"github.com/sectional/sectional/internal/dberr"
)

// A step is about as much work as to hold one condition against one value. Going
// through a value's bytes costs a step for each 1<<bytesPerStep of them.
const bytesPerStep = 6

// Budget is what a request's matching may still cost, and how it learns that
// nobody waits for its answer any more. Every condition, element, pattern and
// comparison takes steps from it, in the same number on every machine. It is for
// one goroutine. Once it is spent every match fails.
type Budget struct {
	allowance int // steps until the bounds are looked at again
	granted   int64
	max       int64
	done      func() error
	err       error
}

// grant is how many steps are taken before the bounds are looked at: about a
// tenth of a millisecond's work.
const grant = 1 << 14

// NewBudget makes a budget of as many as most steps; 0 is for no bound. When ctx
// is done, matching ends with its error; when the steps are spent, with Invalid
// too_many_steps.
func NewBudget(ctx context.Context, most int64) *Budget {
	return &Budget{allowance: grant, granted: grant, max: most, done: ctx.Err}
}

// spend takes steps; false says that there are none left.
func (b *Budget) spend(steps int) bool {
	b.allowance -= steps
	return b.allowance >= 0 || b.refill()
}

func (b *Budget) refill() bool {
	if b.err == nil {
		b.err = b.done()
	}
	if b.err == nil && b.max > 0 && b.granted-int64(b.allowance) > b.max {
		b.err = dberr.New(dberr.Invalid, "too_many_steps", "The selector takes more than %d steps on these documents, "+
			"which is what [sectional] selector_steps lets a request take. An index may help.", b.max)
	}
	if b.err != nil {
		b.allowance = -1
		return false
	}
	b.granted += grant - int64(b.allowance)
	b.allowance = grant
	return true
}

// Spend is regex.Meter's.
func (b *Budget) Spend(steps int) error {
	if b.spend(steps) {
		return nil
	}
	return b.err
}
