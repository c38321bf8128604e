package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// apartWorlds are stores over one engine, whose machines' clocks are wrong: behind, right, ahead.
type apartWorlds struct {
	t      *testing.T
	engine kv.Engine
	stores []*world
}

func newApart(t *testing.T) *apartWorlds {
	a := &apartWorlds{t: t, engine: kvtest.NewModel(kvtest.ModelOptions{})}
	shared := kvtest.NewSharing(a.engine, false)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	shared.Clock(func() time.Time {
		if len(a.stores) == 0 {
			return now
		}
		return a.stores[0].time()
	})
	for i, wrong := range apart {
		a.stores = append(a.stores, openWrong(t, shared.Engine(), Options{Holder: uint64(i + 1), Lease: time.Minute}, now, wrong))
	}
	t.Cleanup(func() {
		a.stores[0].check()
		for _, w := range a.stores {
			w.Close()
		}
		a.engine.Close()
	})
	return a
}

func (a *apartWorlds) later(d time.Duration) {
	for _, w := range a.stores {
		w.later(d)
	}
}

func (a *apartWorlds) sweep() {
	a.t.Helper()
	for _, w := range a.stores {
		w.sweep()
	}
}

// databases are the handles of a database at each store.
func (a *apartWorlds) databases(name string) (all []*Database) {
	a.t.Helper()
	for _, w := range a.stores {
		d, err := w.Database(ctx, name)
		if err != nil {
			a.t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// TestOneClock holds that what is kept for a while is kept for so long, whichever server
// looks, and by whose clock it began.
func TestOneClock(t *testing.T) {
	a := newApart(t)
	for _, w := range a.stores {
		if got := w.Now(); !got.Equal(w.time()) {
			t.Errorf("a machine that is wrong by %v says %v at %v", w.wrong, got, w.time())
		}
	}
	a.stores[0].create("db", false)
	ds := a.databases("db")
	for i, w := range a.stores {
		t.Run(w.wrong.String(), func(t *testing.T) {
			w.t = t
			id := document.ID(w.wrong.String())
			old := w.mustWrite(ds[i], document.Edit{ID: id, Body: []byte(`{"n":1}`)})
			w.mustWrite(ds[i], document.Edit{ID: id, Parent: rev(t, old), Body: []byte(`{"n":2}`)})
			token, err := w.newToken()
			if err == nil {
				_, err = w.void(ctx, token)
			}
			if err != nil {
				t.Fatal(err)
			}
			dropped := w.create("dropped", false)
			w.put(dropped, "a", "", `{}`)
			if err := w.Drop(ctx, "dropped"); err != nil {
				t.Fatal(err)
			}
			passed := time.Duration(0)
			until := func(d time.Duration) {
				a.later(d - passed)
				passed = d
				a.sweep()
			}
			superseded := func(d *Database) bool {
				err := d.Whole().View(ctx, func(r *Reader) error {
					doc, err := r.Doc(id)
					if err == nil {
						_, err = r.Revision(doc, rev(t, old))
					}
					return err
				})
				return err == nil
			}
			there := func(r kv.Range) bool { return rows(t, a.engine, r, showKey) != "" }
			for _, part := range []struct {
				what string
				kept time.Duration
				is   func() bool
			}{
				{"the rows of a dropped database", a.engine.Limits().Age + commitsWithin, func() bool { return there(databaseRange(dropped)) }},
				{"a superseded body", 10 * time.Minute, func() bool { return superseded(ds[(i+1)%len(ds)]) }},
				{"a void token", tokenKeep, func() bool { return there(kv.Prefix(token)) }},
			} {
				until(part.kept - time.Second)
				if !part.is() {
					t.Errorf("%s: gone too early", part.what)
				}
				until(part.kept + time.Minute)
				if part.is() {
					t.Errorf("%s: still there", part.what)
				}
			}
		})
		w.t = t
	}
}

// TestLeasesOfOneClock holds that a lease ends for all at once: nobody whose machine is ahead
// takes over what another is at, and one that is behind does when it may.
func TestLeasesOfOneClock(t *testing.T) {
	for owner := range apart {
		for other := range apart {
			if owner == other {
				continue
			}
			a := newApart(t)
			id := jobs.ID{Kind: "nobody/held"}
			hold := func(at int, fn func(context.Context) error) error {
				return a.stores[at].Queue("nobody", nil, nil).Hold(ctx, id, jobs.Words{}, fn)
			}
			nothing := func(context.Context) error { return nil }
			err := hold(owner, func(context.Context) error {
				a.later(time.Minute - time.Second)
				if err := hold(other, nothing); !errors.Is(err, jobs.ErrElsewhere) {
					t.Errorf("%v beside %v before the lease ended: %v", apart[other], apart[owner], err)
				}
				a.later(2 * time.Second)
				if err := hold(other, nothing); err != nil {
					t.Errorf("%v after the lease of %v: %v", apart[other], apart[owner], err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// TestOnceByOneClock holds that a request that was carried out at one server is known at the
// others for ten minutes.
func TestOnceByOneClock(t *testing.T) {
	a := newApart(t)
	a.stores[0].create("db", false)
	ds := a.databases("db")
	asks := func(at int, token string) bool {
		t.Helper()
		edits := []document.Edit{{ID: document.ID(token), Body: []byte(`{}`)}}
		_, again, err := a.stores[at].TransactOnce(ctx, []ScopedEdits{{ds[at].Whole(), edits}}, Once{By: "u", Token: token})
		if err != nil && !dberr.Is(err, dberr.Conflict) {
			t.Fatal(err)
		}
		return again
	}
	for first := range apart {
		token := apart[first].String()
		if asks(first, token) {
			t.Error("it is known before it was asked for")
		}
		for _, after := range []time.Duration{0, OnceFor - time.Second} {
			a.later(after)
			a.sweep()
			for at := range apart {
				if !asks(at, token) {
					t.Errorf("%v later one of %v does not know what one of %v did", after, apart[at], apart[first])
				}
			}
		}
		a.later(time.Minute)
		if asks((first+1)%len(apart), token) {
			t.Error("it is known for ever")
		}
	}
}

// slowClock is the clock of an engine to which the way may be long.
type slowClock struct {
	kv.Engine
	ask func() (time.Time, error)
}

func (c *slowClock) Time(context.Context) (time.Time, error) { return c.ask() }

// TestEngineClock: an answer that may be as wrong as what is known changes nothing, one that was under
// way for long is believed if nothing is known, and a clock that is set is followed.
func TestEngineClock(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	machine := start.Add(-time.Hour)
	var ahead, way time.Duration
	var away error
	c := newEngineClock(&slowClock{ask: func() (time.Time, error) {
		machine = machine.Add(way)
		return machine.Add(time.Hour + ahead), away
	}}, func() time.Time { return machine })
	for _, s := range []struct {
		what       string
		ahead, way time.Duration
		away       error
		want       time.Duration // by how much it is wrong
	}{
		{what: "a long way, the answer is of its end", way: 4 * time.Second, want: 2 * time.Second},
		{what: "a shorter way", way: 20 * time.Millisecond, want: 10 * time.Millisecond},
		{what: "it may be right", way: 30 * time.Millisecond, want: 10 * time.Millisecond},
		{what: "a short way", way: 2 * time.Millisecond, want: time.Millisecond},
		{what: "set, and a long way", ahead: time.Minute, way: 3 * time.Second, want: time.Millisecond},
		{what: "set", ahead: time.Minute, want: time.Minute},
		{what: "set back", ahead: -time.Minute, want: -time.Minute},
		{what: "away", ahead: time.Hour, away: kv.ErrStopped, want: -time.Minute},
		{what: "back", want: 0},
	} {
		ahead, way, away = s.ahead, s.way, s.away
		if err := c.ask(ctx); !errors.Is(err, s.away) {
			t.Errorf("%s: %v", s.what, err)
		}
		machine = machine.Add(3 * time.Second)
		if got := c.now().Sub(machine.Add(time.Hour)); got != s.want {
			t.Errorf("%s: wrong by %v, want %v", s.what, got, s.want)
		}
	}
	if s := newEngineClock(kvtest.NewModel(kvtest.ModelOptions{}), func() time.Time { return machine }); s.ask(ctx) != nil || !s.now().Equal(machine) {
		t.Errorf("without a clock of the engine it is %v, want %v", s.now(), machine)
	}
}
