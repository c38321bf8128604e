package store

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/sectional/sectional/internal/dberr"
)

// closeDatabases closes all databases, as a restart does.
func (w *world) closeDatabases() {
	w.open.Lock()
	defer w.open.Unlock()
	clear(w.open.by)
	w.open.ring, w.open.hand = nil, 0
}

// openNames returns the names of open databases, in their order. The garbage collector changes them at any time.
func (s *Store) openNames() []string {
	s.open.RLock()
	defer s.open.RUnlock()
	return slices.Sorted(maps.Keys(s.open.by))
}

// closesAllBut collects garbage until at most so many databases are open: a commit holds its
// database for a moment longer than its writer waits. A database that stays open is a test without an end.
func (w *world) closesAllBut(most int) {
	for open := most + 1; open > most; {
		runtime.GC()
		open = 0
		w.open.each(func(*Database) { open++ })
	}
}

// TestDatabasesAreClosed uses many databases, of which few stay open: those that were
// used again and again, and those that somebody holds, by a feed that waits, or by a
// write that is queued. Whoever opens them again meets the same.
func TestDatabasesAreClosed(t *testing.T) {
	const most, many = 10, 200
	w := newWorld(t, Options{MaxOpen: most})
	w.create("often", false)
	held := w.create("held", false).Whole()
	woken, leave := held.Watch(0)
	defer leave()
	for n := range many {
		name := fmt.Sprintf("db%d", n)
		w.put(w.create(name, false), "a", "", `{}`)
		w.database("often")
	}
	w.closesAllBut(most + 1)
	w.open.RLock()
	often := w.open.by["often"].Value()
	w.open.RUnlock()
	if often == nil {
		t.Error("the one that was used often is closed")
	}
	if w.database("held") != held.Database() {
		t.Error("there are two of the one that is held")
	}
	w.put(w.database("held"), "a", "", `{}`)
	select {
	case <-woken:
	default:
		t.Error("who waits for a change of it was not told")
	}
	for n := range many {
		if got := w.get(w.database(fmt.Sprintf("db%d", n)), "a"); got == "" {
			t.Errorf("db%d: %s", n, got)
		}
	}
	w.check()
}

// TestClosedWhileDropped drops databases that are closed or being opened: none comes back.
func TestClosedWhileDropped(t *testing.T) {
	w := newWorld(t, Options{MaxOpen: 1})
	for _, name := range []string{"a", "b", "c"} {
		w.create(name, false)
	}
	w.closesAllBut(1)
	if err := w.Drop(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Database(ctx, "a"); !dberr.Is(err, dberr.NotFound) {
		t.Errorf("a dropped database: %v", err)
	}
	if d := w.create("a", false); d.Dropped() || w.database("a") != d {
		t.Error("the new database is not the open one")
	}
	for _, name := range []string{"a", "b", "c"} {
		closedDatabase(closing{weak.Make(&w.open), name})
	}
	if slices.Contains(w.openNames(), "b") || w.database("a").Dropped() {
		t.Error("the names of closed databases are there yet, or one of an open one is not")
	}
}
