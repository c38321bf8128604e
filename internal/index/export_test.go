package index

import (
	"context"

	"github.com/sectional/sectional/internal/jobs"
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

// FollowOnce works on the job of the indexes that follow a database once, as its worker
// does, and reports whether there is a job then.
func (x *Indexes) FollowOnce(ctx context.Context, d *store.Database) (err error, left bool) {
	if err := x.store.Jobs(ctx, jobFollow, func(j jobs.Job) error { return x.do(ctx, j) }); err != nil {
		return err, true
	}
	err = x.store.Jobs(ctx, jobFollow, func(jobs.Job) error { left = true; return nil })
	return err, left
}

// BuildOnce works on the jobs of builds once, as their workers do.
func (x *Indexes) BuildOnce(ctx context.Context) error {
	return x.store.Jobs(ctx, jobBuild, func(j jobs.Job) error { return x.do(ctx, j) })
}
