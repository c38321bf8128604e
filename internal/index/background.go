package index

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/seats"
	"github.com/sectional/sectional/internal/store"
)

// Defined is store.Indexer's: it begins the builds that a namespace needs.
func (x *Indexes) Defined(ns store.Scope) {
	d := ns.Database()
	if x.o.Idle {
		return
	}
	x.tasks.Lock()
	defer x.tasks.Unlock()
	if x.tasks.closed {
		return
	}
	if !x.tasks.started { // the store is being opened
		x.tasks.waiting = append(x.tasks.waiting, ns)
		return
	}
	if ns.Tenant() != "" {
		x.definedTenant(ns)
		return
	}
	s, _ := d.Indexes().(*Set)
	if s == nil {
		return
	}
	follows := false
	for _, ix := range s.Indexes {
		if _, ok := ix.Kind.(Asynchronous); ok && !ix.Manual && ix.State != Failed {
			follows = true
		}
		if ix.State == Building && !ix.Manual {
			x.begin(d, ix)
		}
	}
	if follows && !x.tasks.databases[d.Number()] {
		x.tasks.databases[d.Number()] = true
		x.work.Go(func() { x.followDatabase(d) })
	}
}

// begin starts the build of an index unless it is under way. x.tasks is locked.
func (x *Indexes) begin(d *store.Database, ix *Index) {
	key := taskKey{d.Number(), ix.Number}
	if x.tasks.building[key] || ix.Tenant != "" && x.tasks.tenants >= mostTenantBuilds {
		return
	}
	if x.tasks.building[key] = true; ix.Tenant != "" {
		x.tasks.tenants++
	}
	x.work.Go(func() {
		defer func() {
			x.tasks.Lock()
			if delete(x.tasks.building, key); ix.Tenant != "" {
				x.tasks.tenants--
			}
			x.tasks.Unlock()
		}()
		if x.persist(d, ix, built, true) {
			x.forgetRemovals(d.Namespace(ix.Tenant))
		}
	})
}

// persist runs a task until done, and again when it failed, as long as the
// index is there. What timed out is tried again much later if it is a build, and
// at the next change if it is an index that follows. It reports whether nothing is left to do, for an index that is gone or broken too.
func (x *Indexes) persist(d *store.Database, ix *Index, done func(*task) bool, build bool) bool {
	for {
		t := x.task(d, ix)
		err := x.attempt(t, done)
		x.release(t)
		if err == nil {
			x.maintainLater(d, ix)
		}
		if err == nil || gone(err) {
			return true
		}
		if x.ctx.Err() != nil {
			return false
		}
		if !errors.Is(err, errBroken) && ix.Tenant == "" {
			x.o.Logger.Error("work on an index failed and will be tried again", "database", d.Name(), "index", ix.Signature, "error", err)
		}
		t.fail(err)
		if errors.Is(err, errBroken) || ix.Tenant != "" {
			return true // what fails of a tenant's is left to the first query, which can say so
		}
		pause := retryAfter
		if dberr.Is(err, dberr.Timeout) {
			if !build {
				return false
			}
			pause = hangingAfter
		}
		select {
		case <-x.ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
}

// attempt runs a task once there is room for one more.
func (x *Indexes) attempt(t *task, done func(*task) bool) error {
	return x.seated("index.attempt", t.d, t.ix, func() error { return t.run(x.ctx, done) })
}

// seated runs work on an index once there is room for one more: a database that keeps
// many builds busy, or whose functions hang, does not keep others from building.
func (x *Indexes) seated(what string, d *store.Database, ix *Index, fn func() error) error {
	all, party := x.seats, seats.Party{Kind: "database", Name: strconv.FormatUint(d.Number(), 10)}
	if p := ix.Tenant; p != "" {
		all, party = x.tenantSeats, seats.Party{Kind: "tenant", Name: party.Name + "/" + string(p)}
	}
	leave, err := all.Take(x.ctx, 0, party)
	if err != nil {
		return err
	}
	defer leave()
	return dberr.Guard(x.o.Logger, what, fn)
}

// How long a task that failed waits before it is tried again: for whatever went
// wrong, and for a function that hangs.
const (
	retryAfter   = time.Second
	hangingAfter = time.Minute
)

// gone reports whether an error means that the index or the database is gone.
func gone(err error) bool { return errors.Is(err, ErrGone) || dberr.Is(err, dberr.NotFound) }

// gather is how long changes come together before the indexes of a database
// follow them without being asked: one batch for many writes.
const gather = 200 * time.Millisecond

// followDatabase keeps the following indexes of a database close behind its
// writers, until it is dropped.
func (x *Indexes) followDatabase(d *store.Database) {
	defer func() {
		x.tasks.Lock()
		delete(x.tasks.databases, d.Number())
		x.tasks.Unlock()
	}()
	for x.ctx.Err() == nil && !d.Dropped() {
		upTo, any := x.pass(d)
		if !any {
			return
		}
		changed, leave := d.Whole().Watch(upTo.Seq)
		select {
		case <-x.ctx.Done():
		case <-changed:
		}
		leave()
		select {
		case <-x.ctx.Done():
		case <-time.After(gather):
		}
	}
}

// pass brings all following indexes of a database that are built up to now, and
// reports what that is and whether there are any.
func (x *Indexes) pass(d *store.Database) (upTo store.Sequences, any bool) {
	s, upTo, err := x.now(x.ctx, d.Whole())
	if err != nil {
		return upTo, !gone(err)
	}
	reached := true
	for _, ix := range s.Indexes {
		if _, follows := ix.Kind.(Asynchronous); follows && !ix.Manual && ix.State != Failed {
			any = true
			if ix.State != Building && !x.persist(d, ix, hasReached(upTo), false) {
				reached = false
			}
		}
	}
	if reached {
		x.forgetRemovals(d.Whole())
	}
	return upTo, any
}

// forgetRemovals forgets in the background what sweepRemovals does.
func (x *Indexes) forgetRemovals(ns store.Scope) {
	if err := x.sweepRemovals(x.ctx, ns); err != nil && x.ctx.Err() == nil && !gone(err) {
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

// Active lists the builds under way.
func (x *Indexes) Active() (all []Active) {
	x.tasks.Lock()
	var tasks []*task
	for key := range x.tasks.building {
		if t := x.tasks.by[key]; t != nil {
			tasks = append(tasks, t)
		}
	}
	x.tasks.Unlock()
	for _, t := range tasks {
		t.state.Lock()
		a := Active{Database: t.d.Name(), Kind: t.ix.Kind.Name(), Progress: t.state.progress}
		t.state.Unlock()
		a.Design = t.ix.DesignIn(t.d)
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
