package index

import (
	"context"

	"github.com/sectional/sectional/internal/store"
)

// Wait waits until others have built an index.
func (x *Indexes) Wait(ctx context.Context, d *store.Database, ix *Index) error {
	t := x.task(d, ix)
	defer x.release(t)
	return t.wait(ctx, built)
}

// Tasks reports how many tasks are remembered, and how many goroutines build.
func (x *Indexes) Tasks() (remembered, building int) {
	x.tasks.Lock()
	defer x.tasks.Unlock()
	return len(x.tasks.by), len(x.tasks.building)
}
