package index

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/worktime"
)

// forgetRemovals forgets in the background what sweepRemovals does.
func (x *Indexes) forgetRemovals(ctx context.Context, ns store.Scope) {
	if err := x.sweepRemovals(ctx, ns); err != nil && ctx.Err() == nil && !gone(err) {
		x.o.Logger.Error("forgetting removed documents failed and will be tried again", "database", ns.Name(), "error", err)
	}
}

// sweepRemovals forgets the removals that all following indexes of a namespace have
// passed, unless one is being built. An index that nobody asks for keeps what it
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

// passed returns the removal that all following indexes of a namespace have passed;
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
// ErrGone when it is dropped meanwhile. It is not the work of the request that ctx is of, unless the index is a tenant's own.
func (x *Indexes) CatchUp(ctx context.Context, d *store.Database, ix *Index, m store.Sequences) error {
	t := x.task(d, ix)
	defer x.release(t)
	t.asks()
	if hasReached(m)(t) {
		return nil
	}
	if ix.Tenant == "" { // the background would do it
		defer worktime.Pause(ctx)()
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
	if err == nil {
		var bad []error
		bad, err = x.checkDefined(r)
		found = append(found, bad...)
	}
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
