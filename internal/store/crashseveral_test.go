package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/testkit/crashfs"
	"github.com/sectional/sectional/internal/testkit/enginetest"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

// process is a store that may die, with the database as it knows it.
type process struct {
	*world
	life *kvtest.Mortal
	d    *Database
}

// crew are the processes over an engine. Their machines' clocks are apart.
type crew struct {
	t      testing.TB
	engine kv.Engine
	mu     sync.Mutex
	now    time.Time
	living []*process
	dead   []*process
	serial int
	rand   kvtest.Rand
	rest   func() // ends the clients
}

// crewBegan is when all worlds begin.
var crewBegan = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func newCrew(t testing.TB, e kv.Engine, seed uint64, n int) *crew {
	c := &crew{t: t, engine: e, now: crewBegan, rand: kvtest.NewRand(seed)}
	for range n {
		c.start()
	}
	return c
}

func (c *crew) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// later moves all clocks.
func (c *crew) later(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// start adds a process; the first makes the database.
func (c *crew) start() {
	p := &process{world: &world{t: c.t}, life: &kvtest.Mortal{Engine: c.engine}}
	shared := kvtest.NewSharing(p.life, false)
	shared.Clock(c.time)
	n := c.serial
	c.serial++
	p.serve(shared.Engine(), Options{Holder: uint64(n + 1), Lease: 10 * time.Second, LongestRow: 100 + n}, func() time.Time { return c.time().Add(apart[n%len(apart)]) })
	var err error
	if n == 0 {
		p.d = p.create("db", true)
		err = p.d.SetChangeLog(ctx, Period{Text: "30_min", Length: 30 * time.Minute})
	} else {
		p.d, err = p.Database(ctx, "db")
	}
	if err != nil {
		c.t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.living = append(c.living, p)
}

// kill has one die.
func (c *crew) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.rand.IntN(len(c.living))
	p := c.living[i]
	p.life.Die()
	c.living = slices.Delete(c.living, i, i+1)
	c.dead = append(c.dead, p)
}

// deal returns the database as one of them knows it.
func (c *crew) deal() *Database {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.living[c.rand.IntN(len(c.living))].d
}

func (c *crew) deaths() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.dead)
}

// runs has a client send its requests to any process. When one dies the client has no answer,
// and begins anew.
func (c *crew) runs(ctx context.Context, number int, cl client, f *facts, r kvtest.Rand) {
	for run := 0; ctx.Err() == nil; run++ {
		before := c.deaths()
		if err := cl(ctx, c.deal, f, run*1_000_000, r); ctx.Err() == nil && c.deaths() == before {
			c.t.Errorf("client %d: %v", number, err)
			return
		}
	}
}

// passing lets time pass, beside the clients: leases end, and things get old.
func (c *crew) passing(ctx context.Context, _ func() *Database, _ *facts, _ int, r kvtest.Rand) error {
	for ctx.Err() == nil {
		if err := c.deal().store.Sweep(ctx); err != nil {
			return err
		}
		c.later(time.Duration(r.IntN(15)) * time.Second)
	}
	return ctx.Err()
}

// close closes all.
func (c *crew) close() {
	for _, p := range append(c.dead, c.living...) {
		p.Close()
	}
}

// TestCrashOfSeveral has clients send what they do to two or three stores over one engine, of
// which one after the other dies, in the middle of whatever it is at, and another comes up. In
// the end all but one die, or the engine crashes: what was acknowledged is there, and what was
// begun is finished by who is left.
func TestCrashOfSeveral(t *testing.T) {
	engines := []string{"pebble*2", "model*3"}
	rounds, first := 2, uint64(0)
	if overPostgres() {
		engines, rounds = []string{"postgres*3"}, 1
	}
	switch {
	case testing.Short():
		rounds = 1
	case testrun.IsLong():
		rounds, first = 60, uint64(time.Now().UnixNano())
	}
	for _, engine := range engines {
		for seed := first; seed < first+uint64(rounds); seed++ {
			t.Run(fmt.Sprintf("%s/%d", engine, seed), func(t *testing.T) { crashOfSeveral(t, engine, seed) })
		}
	}
}

func crashOfSeveral(t *testing.T, engine string, seed uint64) {
	r := kvtest.NewRand(seed)
	var e kv.Engine
	fs, err := crashfs.New(), error(nil)
	switch name, _, _ := strings.Cut(engine, "*"); name {
	case "pebble":
		e, err = pebblekv.Open(pebblekv.Options{Dir: "db", FS: fs, CacheBytes: 1 << 20, MemTableBytes: 256 << 10, Logger: quiet})
	case "postgres":
		e = enginetest.Open(t)
	default:
		e = kvtest.NewChecked(t, kvtest.NewModel(kvtest.ModelOptions{}))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	c := newCrew(t, e, seed, storesOf(engine))
	defer c.close()
	known := c.lives(r)
	if strings.HasPrefix(engine, "pebble") && r.Chance(2) {
		after := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r.Rand})
		c.rest()
		recovered(t, after, known, c.time().Sub(crewBegan))
		return
	}
	for len(c.living) > 1 {
		c.kill()
	}
	c.rest()
	w := c.living[0]
	w.check()
	w.holds(w.d, known)
	c.later(30 * time.Hour)
	w.sweep() // by a clock that is not believed yet
	w.completes(w.d, c.later)
}

// lives has the clients at work while one process after the other dies, and returns what they
// were told until some moment. They go on.
func (c *crew) lives(r kvtest.Rand) *facts {
	dies := make(chan bool, 10)
	f, more := newFacts(5+r.IntN(50), nil), kvtest.NewRand(r.Uint64())
	deaths := 1 + r.IntN(3)
	f.enough = func() {
		if f.due += 20 + more.IntN(300); len(dies) < cap(dies) {
			dies <- true
		}
	}
	ctx, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	c.rest = func() { stop(); work.Wait() }
	for i, cl := range append(clients[:len(clients):len(clients)], c.passing) {
		of := kvtest.NewRand(r.Uint64())
		work.Go(func() { c.runs(ctx, i, cl, f, of) })
	}
	for range deaths {
		<-dies
		c.start()
		c.kill()
	}
	<-dies
	return f.frozen()
}
