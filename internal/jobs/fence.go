package jobs

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/kv"
)

// A lease saves work, and proves nothing: a process that was stopped does not see its own
// lease end, and goes on where it was when it wakes. What a worker writes to the store is
// fenced by its transaction, which finds the job, or the progress, as it was read (Lock).
// What it does elsewhere, such as a request to somebody, is fenced by Fence right before.

type fenceKey struct{}

// Fence reports whether the job that ctx is of, which Do or Hold was called with, is still
// this process's: ErrElsewhere when another has taken it over, or it is done. It reads the
// job, and believes no clock. Where the process has the store for itself it is nil.
func Fence(ctx context.Context) error {
	if fence, ok := ctx.Value(fenceKey{}).(func(context.Context) error); ok {
		return fence(ctx)
	}
	return nil
}

func (q *Queue) fence(ctx context.Context, id ID) error {
	return q.o.Engine.View(ctx, func(v kv.Snapshot) error {
		j, err := Get(v, id)
		if errors.Is(err, ErrGone) || err == nil && j.holder != q.o.Holder {
			return ErrElsewhere
		}
		return err
	})
}
