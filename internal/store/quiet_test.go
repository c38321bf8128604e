package store

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// viewed is an engine that counts what is read and written.
type viewed struct {
	kv.Engine
	views, updates atomic.Int64
}

func (e *viewed) View(ctx context.Context, fn func(kv.Snapshot) error) error {
	e.views.Add(1)
	return e.Engine.View(ctx, fn)
}

func (e *viewed) Update(ctx context.Context, fn func(kv.Txn) error, locked ...[]byte) error {
	e.updates.Add(1)
	return e.Engine.Update(ctx, fn, locked...)
}

// TestIdleDatabasesCostNothing lets a day pass over a store that was just opened: how
// often the engine is read does not depend on how many databases there are, though all
// of them have documents that expire later, and none is opened.
func TestIdleDatabasesCostNothing(t *testing.T) {
	testrun.Sequential(t)
	quiet := func(databases int) (reads int64) {
		synctest.Test(t, func(t *testing.T) {
			e := &viewed{Engine: kvtest.NewModel(kvtest.ModelOptions{})}
			w := openWorld(t, e, Options{})
			for n := range databases {
				d := w.create(fmt.Sprintf("db%d", n), true)
				if err := d.Whole().SetExpiry(ctx, Expiry{Own: true, Field: "e"}); err != nil {
					t.Fatal(err)
				}
				w.put(d, "p:a", "", fmt.Sprintf(`{"e":%d}`, time.Now().Add(48*time.Hour).Unix()))
			}
			w.sweep()
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			e.views.Store(0)
			e.updates.Store(0)
			s, err := Open(ctx, e, Options{})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(24 * time.Hour)
			if n := len(s.openNames()); n > 0 {
				t.Errorf("%d databases are open", n)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			reads = e.views.Load()
			if n := e.updates.Load(); n > 200 { // the time is stored now and then
				t.Errorf("%d transactions", n)
			}
		})
		return reads
	}
	if one, many := quiet(1), quiet(200); many > one+10 || many > 24*60*20 {
		t.Errorf("%d reads in a day over one database, %d over 200", one, many)
	}
}

// TestDropsRunSideBySide drops many partitions at once, in a store that works by
// itself: their steps share commits.
func TestDropsRunSideBySide(t *testing.T) {
	const drops = 300
	e := &viewed{Engine: kvtest.NewModel(kvtest.ModelOptions{})}
	s, err := Open(ctx, e, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d, err := s.Create(ctx, "db", Creation{Partitioned: true})
	if err != nil {
		t.Fatal(err)
	}
	var edits []document.Edit
	for n := range drops {
		edits = append(edits, document.Edit{ID: document.ID(fmt.Sprintf("p%d:a", n)), Body: []byte(`{}`)})
	}
	if _, err := d.Whole().Write(ctx, edits, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.updates.Store(0)
	var fns []func(*group) error
	for n := range drops {
		p := document.Partition(fmt.Sprintf("p%d", n))
		fns = append(fns, func(g *group) error {
			t, err := g.partition(p)
			if err == nil {
				err = g.dropPartition(p, t, false)
			}
			return err
		})
	}
	for _, err := range together(d, fns...) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for left := drops; left > 0; {
		list, err := s.Working(ctx)
		if err != nil {
			t.Fatal(err)
		}
		left = len(list)
	}
	if n := e.updates.Load(); n > drops {
		t.Errorf("%d drops of two steps each took %d transactions", drops, n)
	}
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
}

// TestTwoStoresOnOneEngine has two servers work on the drop of one partition: one
// stands still between what it has read and its commit while the other does the work,
// ends it, and somebody writes to the partition again.
func TestTwoStoresOnOneEngine(t *testing.T) {
	e := kvtest.NewModel(kvtest.ModelOptions{})
	one := openWorld(t, e, Options{})
	d := one.create("db", true)
	one.aging(d, "")
	for n := range 3 {
		one.put(d, fmt.Sprintf("p:%d", n), "", one.expiresIn(time.Hour, ""))
	}
	two := openWorld(t, e, Options{})
	two.now = two.now.Add(2 * time.Hour)
	one.now = two.now
	id := d.job(jobDue, "", time.Time{}).ID
	paused := &standing{page: &duePage{d: d}, before: func() {
		two.sweep()
		if got := two.get(two.database("db"), "p:0"); got != "not_found: deleted" {
			t.Errorf("after the other's sweep: %s", got)
		}
		two.put(two.database("db"), "p:0", "", `{"n":1}`)
	}}
	if n, _, err := d.step(ctx, id, paused); err != nil || n != 0 {
		t.Errorf("the one that stood still handled %d documents, %v", n, err)
	}
	if got := one.get(d, "p:0"); len(got) < 2 || got[len(got)-7:] != `{"n":1}` {
		t.Errorf("what was written meanwhile: %s", got)
	}
	one.check()
	two.Close()
	one.closeAll()
}

// standing is a page whose worker stands still before its commit.
type standing struct {
	page
	before func()
}

func (p *standing) read(r *Reader, j *jobs.Job) error { return p.page.read(r, j) }

func (p *standing) size() int {
	p.before()
	return p.page.size()
}

func (w *world) database(name string) *Database {
	w.t.Helper()
	d, err := w.Database(ctx, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// TestHaving finds the databases with rows of a kind among more than one page of others,
// and opens none.
func TestHaving(t *testing.T) {
	testrun.Sequential(t)
	w := newWorld(t, Options{})
	want := []string{}
	for n := range 2*namesPage + 3 {
		name := fmt.Sprintf("db%05d", n)
		d := w.create(name, false)
		if n%namesPage == 0 || n == 2*namesPage+2 {
			w.put(d, "a", "", `{}`)
			want = append(want, name)
		}
	}
	w.closeDatabases()
	var got []string
	for name, err := range w.DatabasesWithRows(ctx, &keyspace.Due, &keyspace.Feed) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, name)
	}
	if !slices.Equal(got, want) || len(w.openNames()) > 0 {
		t.Errorf("%v, want %v; %d are open", got, want, len(w.openNames()))
	}
}
