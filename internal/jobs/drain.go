package jobs

import (
	"context"
	"errors"
)

// Drain does what is due in the caller's goroutine, one job after the other, until
// nothing is, or ctx ends. What fails, or is put off, is left; errors are of all that
// failed.
func (q *Queue) Drain(ctx context.Context) (failed error) {
	left := map[ID]bool{}
	for again := true; again; {
		again = false
		for from := []byte(nil); ; {
			rows, next, _, err := q.page(ctx, from)
			if err != nil {
				return errors.Join(failed, err)
			}
			for _, row := range rows {
				id := row.ID
				if left[id] {
					continue
				}
				again = true
				if other := q.begin(id); other != nil {
					<-other
					continue
				}
				err := q.do(ctx, row)
				q.finish(id)
				if left[id] = err != nil; err != nil && !errors.As(err, new(later)) {
					failed = errors.Join(failed, err)
				}
			}
			if from = next; from == nil {
				break
			}
		}
		if err := ctx.Err(); err != nil {
			return errors.Join(failed, err)
		}
	}
	return failed
}
