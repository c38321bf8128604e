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
	"github.com/sectional/sectional/internal/seats"
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

// Workers of the pools. Most of them wait for a seat.
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
	err := x.seated(ctx, "index.bring", d, ix, func() error { return t.run(ctx, done) })
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

// seated runs work on an index once there is room for one more: a database that keeps
// many builds busy, or whose functions hang, does not keep others from building.
func (x *Indexes) seated(ctx context.Context, what string, d *store.Database, ix *Index, fn func() error) error {
	all, party := x.seats, seats.Party{Kind: "database", Name: strconv.FormatUint(d.Number(), 10)}
	if p := ix.Tenant; p != "" {
		all, party = x.tenantSeats, seats.Party{Kind: "tenant", Name: party.Name + "/" + string(p)}
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
	// gather is how long changes come together before the indexes of a database
	// follow them without being asked: one batch for many writes.
	gather = 200 * time.Millisecond
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
// into the queue again with the next one.
func (x *Indexes) followDatabase(ctx context.Context, d *store.Database, j jobs.Job) error {
	s, to, err := x.now(ctx, d.Whole())
	if err != nil {
		return err
	}
	hangs := false
	for _, ix := range s.Indexes {
		if ix.follows() {
			later, failed := (interface{ Later() time.Duration })(nil), x.bring(ctx, d, ix, hasReached(to))
			if errors.As(failed, &later) {
				hangs, failed = true, nil
			}
			err = errors.Join(err, failed)
		}
	}
	if err != nil {
		return err
	}
	if !hangs {
		x.forgetRemovals(ctx, d.Whole())
	}
	return d.UpdateLane(ctx, 1<<10, func(m store.LaneTxn) error {
		changed, more, err := m.Changed(d.Whole(), to, 1)
		switch {
		case err != nil:
			return err
		case len(changed) > 0 || more:
			return m.PutOffJob(j, gather, "")
		case hangs:
			return m.PutOffJob(j, hangingFollows, "")
		}
		return m.EndJob(j)
	})
}

// forgetRemovals forgets in the background what sweepRemovals does.
func (x *Indexes) forgetRemovals(ctx context.Context, ns store.Scope) {
	if err := x.sweepRemovals(ctx, ns); err != nil && ctx.Err() == nil && !gone(err) {
		x.o.Logger.Error("forgetting removed documents failed and will be tried again", "database", ns.Name(), "error", err)
	}
}

// sweepRemovals forgets the removals that all following indexes of a namespace have
// behind them, unless one is being built. An index that nobody asks for keeps what it
// has not seen.
func (x *Indexes) sweepRemovals(ctx context.Context, ns store.Scope) error {
	upTo := uint64(0)
	err := ns.View(ctx, func(r *store.Reader) (err error) {
		upTo = 0
		for _, err := range r.Removals(0) {
			if err == nil {
				upTo, err = passed(r)
			}
			return err // there are some
		}
		return nil
	})
	if err != nil || upTo == 0 {
		return err
	}
	return ns.SweepRemovals(ctx, upTo)
}

// passed returns the removal that all following indexes of a namespace have behind them;
// 0 while one is being built.
func passed(r *store.Reader) (uint64, error) {
	s, err := Of(r)
	if err != nil {
		return 0, err
	}
	now, err := r.Sequences()
	if err != nil {
		return 0, err
	}
	upTo := now.Removals // none of later: an index may be defined meanwhile
	for _, ix := range s.Indexes {
		if ix.State == Building {
			return 0, nil
		}
		if _, follows := ix.Kind.(Asynchronous); !follows || ix.State == Failed {
			continue
		}
		at, err := ix.Progress(r.Snapshot(), r.Database().Number())
		if err != nil {
			return 0, err
		}
		upTo = min(upTo, at.UpTo.Removals)
	}
	return upTo, nil
}

// now reads a namespace's indexes and last sequences.
func (x *Indexes) now(ctx context.Context, ns store.Scope) (s *Set, m store.Sequences, err error) {
	err = ns.View(ctx, func(r *store.Reader) error {
		if s, err = Of(r); err == nil {
			m, err = r.Sequences()
		}
		return err
	})
	return s, m, err
}

// Run builds all indexes of a database and its tenants and lets them follow its
// feed to the end, in the caller's goroutine.
func (x *Indexes) Run(ctx context.Context, d *store.Database) error {
	var all []store.Scope
	err := d.Whole().View(ctx, func(r *store.Reader) (err error) {
		all, err = Namespaces(r)
		return err
	})
	for _, ns := range all {
		err = errors.Join(err, x.buildAll(ctx, ns))
	}
	return err
}

// buildAll is Run for one namespace.
func (x *Indexes) buildAll(ctx context.Context, ns store.Scope) error {
	s, upTo, err := x.now(ctx, ns)
	if err != nil {
		return err
	}
	for _, ix := range s.Indexes {
		if ix.State == Failed {
			continue
		}
		done := built
		if _, follows := ix.Kind.(Asynchronous); follows {
			done = hasReached(upTo)
		}
		t := x.task(ns.Database(), ix)
		err := t.run(ctx, done)
		x.release(t)
		if err == nil {
			_, err = x.Maintain(ctx, ns.Database(), ix)
		}
		if err != nil && !gone(err) && !errors.Is(err, errBroken) {
			return err
		}
	}
	return x.sweepRemovals(ctx, ns)
}

// Await waits until an index that is being built is readable, or ctx ends.
// ErrGone when it is dropped meanwhile.
func (x *Indexes) Await(ctx context.Context, d *store.Database, ix *Index) error {
	t := x.task(d, ix)
	defer x.release(t)
	if x.o.Idle || ix.Manual || ix.Tenant != "" {
		return t.run(ctx, built)
	}
	return t.wait(ctx, built)
}

// CatchUp brings an index of a following kind that has been built up to sequences.
// ErrGone when it is dropped meanwhile.
func (x *Indexes) CatchUp(ctx context.Context, d *store.Database, ix *Index, m store.Sequences) error {
	t := x.task(d, ix)
	defer x.release(t)
	if hasReached(m)(t) {
		return nil
	}
	err := t.run(ctx, hasReached(m))
	if err == nil {
		x.maintainLater(d, ix)
	}
	if err == nil && ix.Tenant != "" {
		err = x.sweepRemovals(ctx, t.ns)
	}
	return err
}

// Active is a build under way, or an index that is behind.
type Active struct {
	Database string
	Design   document.ID // the first design document that defines it
	Kind     string
	Progress Progress
}

// active is an index that is being built.
type active struct {
	d  *store.Database
	ix *Index
}

// Active lists the builds under way.
func (x *Indexes) Active() (all []Active) {
	x.tasks.Lock()
	var building []active
	for _, a := range x.tasks.building {
		building = append(building, a)
	}
	x.tasks.Unlock()
	for _, b := range building {
		t := x.task(b.d, b.ix)
		t.state.Lock()
		a := Active{Database: b.d.Name(), Kind: b.ix.Kind.Name(), Progress: t.state.progress}
		t.state.Unlock()
		x.release(t)
		a.Design = b.ix.DesignIn(b.d)
		all = append(all, a)
	}
	return all
}

// DesignIn returns the first design document of a database that defines the index; ""
// for none, as for a tenant's.
func (x *Index) DesignIn(d *store.Database) document.ID {
	if s, _ := d.Indexes().(*Set); s != nil {
		for _, n := range s.Named {
			if n.Index.Number == x.Number {
				return n.Design
			}
		}
	}
	return ""
}

// Check is store.Indexer's: it holds the rows of kept indexes that are readable
// against the documents, and those of other kinds against each other.
func (x *Indexes) Check(r *store.Reader) (found []error, err error) {
	err = EachSet(r, func(ns store.Scope, s *Set) error {
		bad, err := checkSet(r.As(ns), s)
		found = append(found, bad...)
		return err
	})
	return found, err
}

// checkSet is Check for one namespace.
func checkSet(r *store.Reader, s *Set) (found []error, err error) {
	if found, err = checkJobs(r, s); err != nil {
		return nil, err
	}
	for _, ix := range s.Indexes {
		if ix.State != Readable {
			continue
		}
		var bad []error
		switch k := ix.Kind.(type) {
		case Transactional:
			bad, err = checkTransactional(r, k, ix)
		case Checked:
			bad, err = k.Check(r, ix)
		}
		if err != nil {
			return nil, err
		}
		found = append(found, bad...)
	}
	return found, nil
}
