package index

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/slots"
	"github.com/sectional/sectional/internal/store"
)

// The jobs of indexes; the words are in stored rows. A build has one from the commit on
// that defines the index until it is readable, and an index that failed until a server
// starts. All indexes of a database that follow its feed have one together, from the
// commit of a change until they have followed it.
const (
	poolIndex  = "index"
	poolTenant = "tenant" // of tenants' indexes: however many there are, the databases' own find workers
	jobBuild   = poolIndex + "/build"
	jobFollow  = poolIndex + "/follow"
	jobFailed  = poolIndex + "/failed"
	jobTenant  = poolTenant + "/build"
)

// Workers of the pools. Most of them wait for a slot.
const (
	indexWorkers  = 256
	tenantWorkers = 8
)

// buildJob is the job of building an index.
func buildJob(ns store.Scope, n uint64) jobs.Job { return jobOf(jobBuild, jobTenant, ns, n) }

// jobOf is a job of an index, of one kind for the database's own and another for tenants'.
func jobOf(kind, tenants string, ns store.Scope, n uint64) jobs.Job {
	if ns.Tenant() != "" {
		kind = tenants
	}
	j := ns.Database().Job(kind, strconv.FormatUint(n, 10), time.Time{})
	j.Checkpoint = string(ns.Tenant())
	return j
}

// Defined is store.Indexer's: there may be builds to begin.
func (x *Indexes) Defined(ns store.Scope) {
	ns.Database().WakeJobs(poolIndex)
	ns.Database().WakeJobs(poolTenant)
}

// do works on a job.
func (x *Indexes) do(ctx context.Context, j jobs.Job) error {
	d, err := x.store.OfJob(ctx, j)
	switch {
	case err == nil && j.Kind == jobFollow:
		err = x.followDatabase(ctx, d, j)
	case err == nil:
		err = x.build(ctx, d, j)
	}
	if dberr.Is(err, dberr.NotFound) {
		return nil // the database went
	}
	return err
}

// build builds the index of a job, or what is left of it.
func (x *Indexes) build(ctx context.Context, d *store.Database, j jobs.Job) error {
	n, err := strconv.ParseUint(j.Subject, 10, 64)
	if err != nil {
		return err
	}
	ns := d.Namespace(document.Partition(j.Checkpoint))
	s, _, err := x.now(ctx, ns)
	if err != nil {
		return err
	}
	for _, ix := range s.Indexes {
		if ix.Number != n || ix.State != Building {
			continue
		}
		key := taskKey{d.Number(), n}
		x.tasks.Lock()
		x.tasks.building[key] = active{d, ix}
		x.tasks.Unlock()
		err := x.bring(ctx, d, ix, built)
		x.tasks.Lock()
		delete(x.tasks.building, key)
		x.tasks.Unlock()
		if err != nil {
			return err
		}
		x.forgetRemovals(ctx, ns)
	}
	return x.store.EndJob(ctx, j)
}

// bring runs a task until done. That its index is gone or broken is no error, and none of
// a tenant's is: what fails there is left to the first query, which can say so. What timed out
// is put off.
func (x *Indexes) bring(ctx context.Context, d *store.Database, ix *Index, done func(*task) bool) error {
	t := x.task(d, ix)
	defer x.release(t)
	err := x.inSlot(ctx, "index.bring", d, ix, func() error { return t.run(ctx, done) })
	switch {
	case err == nil:
		x.maintainLater(d, ix)
		return nil
	case gone(err):
		return nil
	case ctx.Err() != nil:
		return err
	}
	t.fail(err)
	switch {
	case errors.Is(err, errBroken), ix.Tenant != "":
		return nil
	case dberr.Is(err, dberr.Timeout):
		return jobs.Later(hangingAfter)
	}
	return fmt.Errorf("the index %s of %q: %w", ix.Signature, d.Name(), err)
}

// inSlot runs work on an index once there is room for one more: a database that keeps
// many builds busy, or whose functions hang, does not keep others from building.
func (x *Indexes) inSlot(ctx context.Context, what string, d *store.Database, ix *Index, fn func() error) error {
	all, party := x.slots, slots.Party{Kind: "database", Name: strconv.FormatUint(d.Number(), 10)}
	if p := ix.Tenant; p != "" {
		all, party = x.tenantSlots, slots.Party{Kind: "tenant", Name: party.Name + "/" + string(p)}
	}
	leave, err := all.Take(ctx, 0, party)
	if err != nil {
		return err
	}
	defer leave()
	return dberr.Guard(x.o.Logger, what, fn)
}

const (
	// hangingAfter is how long a build rests whose function hangs.
	hangingAfter = time.Minute
	// hangingFollows is how long an index does whose function hangs at a change, unless
	// there are others.
	hangingFollows = time.Hour
	// gatherTime is how long changes come together before the indexes of a database
	// follow them without being asked: one batch for many writes.
	gatherTime = 200 * time.Millisecond
)

// gone reports whether an error means that the index or the database is gone.
func gone(err error) bool { return errors.Is(err, ErrGone) || dberr.Is(err, dberr.NotFound) }

// follows reports whether an index is kept close after the writers by the background.
func (x *Index) follows() bool {
	_, asynchronous := x.Kind.(Asynchronous)
	return asynchronous && !x.Manual && x.State == Readable
}

// followDatabase brings all indexes of a database that follow its feed up to now, and
// ends the job if there was no change meanwhile: in line with the writers, who put it
// into the queue again with the next one. An index that is to rest on the way there is
// gone on with later.
func (x *Indexes) followDatabase(ctx context.Context, d *store.Database, j jobs.Job) error {
	s, to, err := x.now(ctx, d.Whole())
	if err != nil {
		return err
	}
	each, err := meanSize(ctx, d)
	if err != nil {
		return err
	}
	hangs, resting := false, time.Duration(0)
	for _, ix := range s.Indexes {
		if !ix.follows() {
			continue
		}
		rest, failed := x.keepUp(ctx, d, ix, to, each)
		if rest > 0 && (resting == 0 || rest < resting) {
			resting = rest
		}
		later := (interface{ Later() time.Duration })(nil)
		if errors.As(failed, &later) {
			hangs, failed = true, nil
		}
		err = errors.Join(err, failed)
	}
	if err == nil && resting > 0 {
		err = jobs.Later(resting) // there is no change of the job that would be worth a commit
	}
	if err != nil {
		return err
	}
	if !hangs {
		x.forgetRemovals(ctx, d.Whole())
	}
	return d.UpdateLane(ctx, 1<<10, func(m store.LaneTxn) error {
		changed, more, err := m.Changed(d.Whole(), to, 1)
		if err == nil && !more && len(changed) == 0 {
			more, err = x.readableSince(m, s, d.Whole())
		}
		switch {
		case err != nil:
			return err
		case len(changed) > 0 || more:
			return m.PutOffJob(j, gatherTime, "")
		case hangs:
			return m.PutOffJob(j, hangingFollows, "")
		}
		return m.EndJob(j)
	})
}

// readableSince reports whether an index that was being built in a set is readable by now:
// what ended its build found this job in the queue, and it may be behind the changes that
// the job has followed with the others.
func (x *Indexes) readableSince(m store.LaneTxn, s *Set, ns store.Scope) (bool, error) {
	c := change{x: x, tx: m.Tx(), ns: ns, records: map[uint64]*record{}}
	for _, ix := range s.Indexes {
		if _, asynchronous := ix.Kind.(Asynchronous); !asynchronous || ix.Manual || ix.State != Building {
			continue
		}
		r, err := c.record(ix.Number)
		if errors.Is(err, kv.ErrNotFound) {
			continue // it was dropped
		}
		if err != nil || r.State == Readable {
			return err == nil, err
		}
	}
	return false, nil
}
