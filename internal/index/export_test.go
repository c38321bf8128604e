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

// Tasks reports how many tasks of a database are remembered, and how many indexes are built.
func (x *Indexes) Tasks(d *store.Database) (remembered, building int) {
	x.tasks.Lock()
	defer x.tasks.Unlock()
	return len(tasksOf(d)), len(x.tasks.building)
}
