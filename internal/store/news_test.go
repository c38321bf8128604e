package store

import (
	"context"
	"reflect"
	"testing"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// newTwo opens two stores over one engine.
func newTwo(t testing.TB, tells bool) (one, two *world) {
	t.Helper()
	e := kvtest.NewModel(kvtest.ModelOptions{})
	shared := kvtest.NewSharing(e, tells)
	one, two = openWorld(t, shared.Engine(), Options{Holder: 1}), openWorld(t, shared.Engine(), Options{Holder: 2})
	t.Cleanup(func() {
		one.check()
		one.Close()
		two.Close()
		e.Close()
	})
	return one, two
}

// TestNewsOfOthers has somebody wait at one store for what another does: with messages he is
// woken at once, without them when the store looks.
func TestNewsOfOthers(t *testing.T) {
	for name, tells := range map[string]bool{"told": true, "looked at": false} {
		t.Run(name, func(t *testing.T) {
			one, two := newTwo(t, tells)
			here := one.create("db", true)
			there, err := two.Database(ctx, "db")
			if err != nil {
				t.Fatal(err)
			}
			woken := func(what string, wait <-chan struct{}, do func()) {
				t.Helper()
				select {
				case <-wait:
					t.Fatalf("%s: woken before", what)
				default:
				}
				if do(); !tells {
					if err := two.tick(ctx, false); err != nil {
						t.Fatal(err)
					}
				}
				select {
				case <-wait:
				default:
					t.Fatalf("%s: not woken", what)
				}
			}
			last := func() Seq {
				q, err := there.Whole().lastSeq()
				if err != nil {
					t.Fatal(err)
				}
				return q
			}
			wait, leave := there.Whole().Watch(last())
			woken("a document", wait, func() { one.put(here, "p:a", "", `{}`) })
			leave()
			wait, leave = there.Within("p").Watch(last())
			woken("a document of a partition", wait, func() { one.put(here, "p:b", "", `{}`) })
			leave()
			wait, leave = there.WatchDoc("p:c")
			woken("one document", wait, func() { one.put(here, "p:c", "", `{}`) })
			leave()
			wait, leave = there.Whole().Watch(last())
			woken("the security", wait, func() {
				if err := here.SetSecurity(ctx, []byte(`{"x":1}`)); err != nil {
					t.Fatal(err)
				}
			})
			leave()
			wait, leave = there.WatchDefinitions()
			one.put(here, "p:d", "", `{}`)
			woken("the definitions", wait, func() {
				if err := here.SetSecurity(ctx, []byte(`{"x":2}`)); err != nil {
					t.Fatal(err)
				}
			})
			leave()
			wait, leave = here.WatchDefinitions()
			woken("the definitions where they are changed", wait, func() {
				if err := here.SetSecurity(ctx, []byte(`{"x":3}`)); err != nil {
					t.Fatal(err)
				}
			})
			leave()
			wait, leave = there.Whole().Watch(last())
			woken("a partition dropped", wait, func() {
				if err := here.DropPartition(ctx, "p", false); err != nil {
					t.Fatal(err)
				}
			})
			leave()
			_, _, wait, err = two.Updates(ctx, 0)
			if err != nil {
				t.Fatal(err)
			}
			woken("a database made", wait, func() { one.create("other", false) })
			wait, leave = there.Whole().Watch(last())
			woken("the database dropped", wait, func() {
				if err := one.Drop(ctx, "db"); err != nil {
					t.Fatal(err)
				}
			})
			leave()
		})
	}
}

// TestOthersSleep: of those who wait at one store for partitions of a database, a write at another wakes who waits for its
// partition, and a look wakes nobody more; unless a message was lost.
func TestOthersSleep(t *testing.T) {
	e := kvtest.NewModel(kvtest.ModelOptions{})
	shared := kvtest.NewSharing(e, true)
	one, two := openWorld(t, shared.Engine(), Options{Holder: 1}), openWorld(t, shared.Engine(), Options{Holder: 2})
	t.Cleanup(func() {
		one.Close()
		two.Close()
		e.Close()
	})
	here := one.create("db", true)
	there, err := two.Database(ctx, "db")
	if err != nil {
		t.Fatal(err)
	}
	look := func() {
		t.Helper()
		if err := two.tick(ctx, false); err != nil {
			t.Fatal(err)
		}
	}
	asleep := func(p document.Partition) func() bool {
		q, err := there.Within(p).lastSeq()
		if err != nil {
			t.Fatal(err)
		}
		wait, leave := there.Within(p).Watch(q)
		t.Cleanup(leave)
		return func() bool {
			select {
			case <-wait:
				return false
			default:
				return true
			}
		}
	}
	first := asleep("p")
	if look(); first() {
		t.Error("the first look wakes nobody")
	}
	p, q := asleep("p"), asleep("q")
	one.put(here, "p:a", "", `{}`)
	if p() {
		t.Error("who waits for the partition sleeps")
	}
	if look(); !q() {
		t.Error("who waits for another partition is woken")
	}
	shared.Lose()
	p = asleep("p")
	one.put(here, "q:a", "", `{}`)
	if look(); q() || p() {
		t.Error("a look after a lost message wakes not all")
	}
}

// TestNewsForm: messages say what they were told, and what is no message of this version is an error.
func TestNewsForm(t *testing.T) {
	n := news{name: "db", number: 7, all: true, from: 3, to: 5, partitions: []document.Partition{"p", "q"}}
	got, err := decodeNews(n.encode())
	if err != nil || !reflect.DeepEqual(got, n) {
		t.Errorf("%+v became %+v, %v", n, got, err)
	}
	for _, message := range [][]byte{nil, {1}, n.encode()[:5], append(n.encode(), 0)} {
		if _, err := decodeNews(message); err == nil {
			t.Errorf("%x is taken", message)
		}
	}
}

// TestHeard: commits are counted in whatever order they are told.
func TestHeard(t *testing.T) {
	var h commitTracker
	h.found(10)
	for _, c := range [][2]uint64{{12, 15}, {9, 10}, {10, 12}, {16, 17}} {
		h.note(c[0], c[1])
	}
	if !h.all(15) || h.all(16) {
		t.Errorf("after commits up to 15, and 17: up to %d", h.upTo)
	}
	if h.found(16); !h.all(17) || len(h.ahead) > 0 {
		t.Errorf("after a look at 16: up to %d, %d ahead", h.upTo, len(h.ahead))
	}
}

// TestNobodyWaits holds that a look costs what is waited for, and nothing where nobody waits.
func TestNobodyWaits(t *testing.T) {
	trips := kvtest.NewRemote(kvtest.NewModel(kvtest.ModelOptions{}), nil)
	shared := kvtest.NewSharing(trips, false)
	w := openWorld(t, shared.Engine(), Options{})
	defer trips.Close()
	defer w.Close()
	d, e := w.create("a", false), w.create("b", false)
	w.put(d, "x", "", `{}`)
	looks := func() int {
		trips.Take()
		if err := w.look(context.Background()); err != nil {
			t.Fatal(err)
		}
		return len(trips.Take())
	}
	if n := looks(); n != 0 {
		t.Errorf("%d round trips while nobody waits", n)
	}
	for _, db := range []*Database{d, e} {
		for _, p := range []document.Partition{"", "p"} {
			_, leave := db.Within(p).Watch(100)
			defer leave()
		}
	}
	if n := looks(); n != 1 {
		t.Errorf("%d round trips for the waiters of two databases", n)
	}
}
