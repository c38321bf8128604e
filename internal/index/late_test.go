package index_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// asked is the field kind, counts how often it is asked what a design document defines, and
// finds something else from another version on.
type asked struct {
	field.Kind
	times atomic.Int64
	then  func(times int64)
	finds int
}

func (k *asked) Defined(d index.Design) []index.Definition {
	if n := k.times.Add(1); k.then != nil {
		k.then(n)
	}
	return k.Kind.Defined(d)
}

func (k *asked) Finds() int { return k.finds }

// started opens a store with a kind of index, or without for nil, and starts its indexes.
func started(t *testing.T, e kv.Engine, k index.Kind) (*store.Store, *index.Indexes) {
	t.Helper()
	o := index.Options{Idle: true}
	if k != nil {
		o.Kinds = []index.Kind{k}
	}
	x := index.New(o)
	s := openStore(t, e, x)
	if err := x.Start(ctx, s); err != nil {
		t.Fatal(err)
	}
	return s, x
}

func closed(t *testing.T, s *store.Store, x *index.Indexes) {
	t.Helper()
	x.Close()
	if err := errors.Join(s.Check(ctx), s.Close()); err != nil {
		t.Error(err)
	}
}

// olderData makes data with a server that knows no kind of index: databases with a design
// document, and one with tenants that have some, or had.
func olderData(t *testing.T, databases, tenants int) kv.Engine {
	t.Helper()
	e := openEngine(t)
	s, x := started(t, e, nil)
	if done, err := x.DefineAll(ctx); done || err != nil {
		t.Fatal(done, err)
	}
	for i := range databases {
		d, err := s.Create(ctx, fmt.Sprintf("a%03d", i), store.Creation{})
		if err != nil {
			t.Fatal(err)
		}
		load(t, d, 3)
		put(t, d, "_design/d", design)
		put(t, d, "_design/other", `{}`)
	}
	d, err := s.Create(ctx, "parts", store.Creation{Partitioned: true})
	if err != nil {
		t.Fatal(err)
	}
	put(t, d, "_design/d", design)
	for i := range tenants {
		p := fmt.Sprintf("p%04d", i)
		put(t, d, p+":doc", `{"n":1}`)
		switch i % 4 {
		case 0:
			put(t, d, p+":_design/d", design)
		case 1:
			rev := put(t, d, p+":_design/d", design)
			if _, err := d.Whole().Write(ctx, []document.Edit{{ID: document.ID(p + ":_design/d"), Parent: rev, Deleted: true}}, store.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		case 2:
			put(t, d, p+":_design/d", design)
			if err := d.DropPartition(ctx, document.Partition(p), false); err != nil {
				t.Fatal(err)
			}
		}
	}
	closed(t, s, x)
	return e
}

// defined reports whether a namespace has the index.
func defined(t *testing.T, ns store.Scope) (is bool) {
	t.Helper()
	err := ns.View(ctx, func(r *store.Reader) error {
		s, err := index.Of(r)
		is = s.Lookup("_design/d", field.KindName, "byN") != nil
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return is
}

// TestKindsThatCameLater opens older data with a kind of index that was not known when it was
// written, and stops at each step on the way: in the end each design document has its
// indexes, and a later start looks at none of them.
func TestKindsThatCameLater(t *testing.T) {
	const databases, tenants = 130, 40
	for _, every := range []int64{1 << 40, 311} {
		e := olderData(t, databases, tenants)
		starts, total := 0, int64(0)
		for done := false; !done; starts++ {
			stopping, stop := context.WithCancel(ctx)
			k := &asked{then: func(n int64) {
				if n == every {
					stop()
				}
			}}
			s, x := started(t, e, k)
			if starts == 0 && defined(t, database(t, s, "a000").Whole()) {
				t.Error("a start takes the time itself")
			}
			var err error
			for err == nil && !done && stopping.Err() == nil {
				done, err = x.DefineAll(stopping)
			}
			if err != nil {
				t.Fatal(err)
			}
			stop()
			total += k.times.Load()
			k.then = nil
			closed(t, s, x)
		}
		k := &asked{}
		s, x := started(t, e, k)
		if done, err := x.DefineAll(ctx); !done || err != nil || k.times.Load() > 0 {
			t.Errorf("a later start looks at %d design documents (%v, %v)", k.times.Load(), done, err)
		}
		for i := range databases {
			if d := database(t, s, fmt.Sprintf("a%03d", i)); !defined(t, d.Whole()) {
				t.Errorf("stopped every %d: %s has no index", every, d.Name())
			}
		}
		d := database(t, s, "parts")
		if !defined(t, d.Whole()) {
			t.Errorf("stopped every %d: the partitioned database has no index", every)
		}
		for i := range tenants {
			if got, want := defined(t, d.Tenant(document.Partition(fmt.Sprintf("p%04d", i)))), i%4 == 0; got != want {
				t.Errorf("stopped every %d: the tenant %d has an index: %t", every, i, got)
			}
		}
		if err := x.Run(ctx, d); err != nil {
			t.Fatal(err)
		}
		if got := rowsOf(t, d, "p0004"); fmt.Sprint(got) != "[doc]" {
			t.Errorf("the tenant's index has %v", got)
		}
		closed(t, s, x)
		if every < 1<<40 && starts < 2 || total > 4*(databases+tenants) {
			t.Errorf("stopped every %d: %d starts, %d questions", every, starts, total)
		}
		k = &asked{finds: 1}
		s, x = started(t, e, k)
		if _, err := x.DefineAll(ctx); err != nil || k.times.Load() < databases {
			t.Errorf("a kind that finds more is asked of %d design documents (%v)", k.times.Load(), err)
		}
		closed(t, s, x)
	}
}

func database(t *testing.T, s *store.Store, name string) *store.Database {
	t.Helper()
	d, err := s.Database(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestQueriesBeforeTheDefinition asks for indexes of older data before the background has
// come to them: they are defined then, the tenant's own and the one that it shares.
func TestQueriesBeforeTheDefinition(t *testing.T) {
	e := olderData(t, 1, 4)
	s, x := started(t, e, field.Kind{})
	defer closed(t, s, x)
	d := database(t, s, "parts")
	for _, c := range []struct {
		scope  store.Scope
		name   string
		found  bool
		shared bool
	}{
		{database(t, s, "a000").Whole(), "byN", true, false},
		{database(t, s, "a000").Whole(), "byM", false, false},
		{d.Tenant("p0000"), "byN", true, false},
		{d.Tenant("p0003"), "byN", true, true},
		{d.Within("p0003"), "byN", true, false},
	} {
		got, err := x.Session(ctx, c.scope, "_design/d", field.KindName, c.name)
		if err != nil || (got != nil) != c.found || got != nil && got.Shared() != c.shared {
			t.Errorf("%s of %s: %+v, %v", c.name, c.scope.Name(), got, err)
		}
	}
	for done := false; !done; {
		var err error
		if done, err = x.DefineAll(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Run(ctx, d); err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, d, "p0000"); fmt.Sprint(got) != "[doc]" {
		t.Errorf("the tenant's index has %v", got)
	}
}

// TestDefinitionsMoveMeanwhile writes design documents anew and deletes them while the
// background looks at them: what they are at the end is what there is.
func TestDefinitionsMoveMeanwhile(t *testing.T) {
	const databases = 40
	e := olderData(t, databases, 8)
	s, x := started(t, e, field.Kind{})
	defer closed(t, s, x)
	var writers sync.WaitGroup
	for i := range databases {
		d := database(t, s, fmt.Sprintf("a%03d", i))
		writers.Go(func() {
			for n := range 6 {
				err := d.Whole().View(ctx, func(r *store.Reader) error {
					rev, err := r.Winner("_design/d")
					if err != nil {
						return err
					}
					edit := document.Edit{ID: "_design/d", Parent: rev.Rev, Deleted: i%2 == 0 && n == 5, Body: []byte(design)}
					if edit.Deleted || n%2 == 0 {
						edit.Body = []byte(`{}`)
					}
					rs, err := d.Whole().Write(ctx, []document.Edit{edit}, store.WriteOptions{})
					return errors.Join(err, rs[0].Err)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for done := false; !done; {
		var err error
		if done, err = x.DefineAll(ctx); err != nil {
			t.Fatal(err)
		}
	}
	writers.Wait()
	for i := range databases {
		if got, want := defined(t, database(t, s, fmt.Sprintf("a%03d", i)).Whole()), i%2 == 1; got != want {
			t.Errorf("database %d has an index: %t", i, got)
		}
	}
}
