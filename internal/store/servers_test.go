package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// fleet is one engine on which servers are started at a time of the test's.
type fleet struct {
	t      *testing.T
	engine kv.Engine
	now    time.Time
	steps  []formatStep // of the newest build
	holder uint64       // of the process that is started next, if it is not 0
}

func newFleet(t *testing.T) *fleet {
	return &fleet{t: t, engine: kvtest.NewModel(kvtest.ModelOptions{}), now: time.Unix(1_000_000, 0), steps: formatSteps}
}

// start starts a server of a build whose newest format is the one given.
func (f *fleet) start(name string, format byte) (*Store, error) {
	steps := f.steps[:format-firstFormat]
	return openWith(f.t.Context(), f.engine, Options{Idle: true, Clock: func() time.Time { return f.now },
		Server: Server{Name: name, Address: "http://" + name}, Holder: max(f.holder, uint64(len(name))), Lease: time.Minute}, steps)
}

// next adds a format to those of the newest build, and returns it.
func (f *fleet) next(waits bool) byte {
	format := currentFormat(f.steps) + 1
	f.steps = append(slices.Clone(f.steps), formatStep{version: format, what: "of the future", waits: waits})
	return format
}

func (f *fleet) started(name string, format byte) *Store {
	f.t.Helper()
	s, err := f.start(name, format)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// living is who lives by what s sees, and who is there besides.
func (f *fleet) living(s *Store) (names []string) {
	f.t.Helper()
	all, err := s.Servers(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, o := range all {
		if name := o.Name; o.Lives(f.now) {
			names = append(names, name)
		} else {
			names = append(names, "("+name+")")
		}
	}
	return names
}

func (f *fleet) want(s *Store, names ...string) {
	f.t.Helper()
	if d := cmp.Diff(names, f.living(s)); d != "" {
		f.t.Error(d)
	}
}

func (f *fleet) signs(all ...*Store) {
	f.t.Helper()
	for _, s := range all {
		if err := s.sign(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
	}
}

func TestServersKnowEachOther(t *testing.T) {
	f := newFleet(t)
	newest := currentFormat(formatSteps)
	a := f.started("a@one", newest)
	b := f.started("b@two", newest)
	f.want(a, "a@one", "b@two")
	f.now = f.now.Add(serverLife - time.Second)
	f.signs(a)
	f.now = f.now.Add(2 * time.Second)
	f.want(a, "a@one", "(b@two)") // no sign of life since it began
	f.signs(b)
	f.want(b, "a@one", "b@two")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	f.want(a, "a@one", "(b@two)")
	b = f.started("b@two", newest) // it comes back at once
	f.want(a, "a@one", "b@two")
	f.now = f.now.Add(serverKept + time.Hour)
	f.started("c@three", newest)
	f.want(a, "c@three")
	f.signs(a, b)
	f.want(a, "a@one", "b@two", "c@three")
}

// TestFormatWaitsForServers holds that no server brings the store to a format that another
// which lives does not know.
func TestFormatWaitsForServers(t *testing.T) {
	f := newFleet(t)
	newest := f.next(false)
	old := f.started("old@one", newest-1)
	_, err := f.start("new@two", newest)
	if !dberr.Is(err, dberr.Unavailable) || !strings.Contains(err.Error(), "old@one") {
		t.Fatalf("it came up beside an older one: %v", err)
	}
	f.want(old, "old@one") // and left no trace

	f.now = f.now.Add(time.Minute) // the old one is taken for dead
	f.started("new@two", newest)
	if _, err := f.start("older@three", newest-1); !dberr.Is(err, dberr.Unavailable) {
		t.Errorf("an older one came up: %v", err)
	}
	create := func() error {
		_, err := old.Create(context.Background(), "db", Creation{})
		return err
	}
	f.signs(old) // it was only slow
	if err := create(); !errors.Is(err, ErrOutdated) {
		t.Errorf("a server of an older format writes: %v", err)
	}
}

// formats is the format of the store as each server knows it.
func (f *fleet) formats(want byte, all ...*Store) {
	f.t.Helper()
	for _, s := range all {
		if got := s.Format(); got != want {
			f.t.Errorf("%s: format %d, want %d", s.Name(), got, want)
		}
	}
}

// TestFormatIsRaisedLater replaces servers one after the other by those of a build that can
// write what the one before reads: the format is raised when the last of these is gone.
func TestFormatIsRaisedLater(t *testing.T) {
	f := newFleet(t)
	newest := f.next(true)
	old := newest - 1
	one, two, three := f.started("one", old), f.started("two", old), f.started("three", old)
	for _, s := range []**Store{&one, &two} {
		name := (*s).Name()
		if err := (*s).Close(); err != nil {
			t.Fatal(err)
		}
		*s = f.started(name, newest)
		f.signs(one, two, three)
		f.formats(old, one, two, three)
	}
	if err := three.Close(); err != nil {
		t.Fatal(err)
	}
	three = f.started("three", old) // it was only restarted
	f.signs(one, two, three)
	f.formats(old, one, two, three)
	f.now = f.now.Add(serverLife / 2)
	f.signs(one, two)
	f.formats(old, one, two)
	f.now = f.now.Add(serverLife/2 + time.Second) // the last one is taken for dead
	f.signs(two, one)
	f.formats(newest, one, two)
	if _, err := f.start("late", old); !dberr.Is(err, dberr.Unavailable) || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("an older server came up: %v", err)
	}
	f.signs(three)
	if _, err := three.Create(t.Context(), "db", Creation{}); !errors.Is(err, ErrOutdated) {
		t.Errorf("a server of an older format writes: %v", err)
	}
	f.want(one, "one", "three", "two")

	f.next(true)
	last := f.next(false) // what comes after a format that need not wait can't be put off
	if _, err := f.start("four", last); !dberr.Is(err, dberr.Unavailable) || !strings.Contains(err.Error(), "one") {
		t.Errorf("it came up beside older ones: %v", err)
	}
	f.formats(newest, one, two)
}

// TestOneRaisesTheFormat has all servers find at once that nobody keeps the format from
// being raised, and an older one come up meanwhile.
func TestOneRaisesTheFormat(t *testing.T) {
	for range 20 {
		f := newFleet(t)
		newest := f.next(true)
		old := f.started("old", newest-1)
		servers := []*Store{f.started("one", newest), f.started("two", newest), f.started("three", newest)}
		f.formats(newest-1, servers...)
		if err := old.Close(); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for _, s := range servers {
			all.Go(func() {
				if err := s.sign(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		again, err := f.start("old", newest-1)
		all.Wait()
		f.signs(servers...)
		if err == nil { // it was faster
			f.formats(newest-1, append(servers, again)...)
		} else if f.formats(newest, servers...); !dberr.Is(err, dberr.Unavailable) {
			t.Error(err)
		}
	}
}

// TestTwins has two processes run under one name, as from copies of one data directory: the
// one that came later writes nothing as long as the other lives.
func TestTwins(t *testing.T) {
	f := newFleet(t)
	newest := currentFormat(formatSteps)
	first := f.started("node", newest)
	f.now = f.now.Add(time.Second)
	f.holder = 1000
	twin := f.started("node", newest)
	f.signs(first, twin)
	write := func(s *Store, name string) error {
		_, err := s.Create(t.Context(), name, Creation{})
		return err
	}
	if err := write(twin, "a"); !dberr.Is(err, dberr.Unavailable) || !strings.Contains(err.Error(), "[sectional] node") {
		t.Errorf("the twin writes: %v", err)
	}
	if err := write(first, "b"); err != nil {
		t.Error(err)
	}
	f.want(first, "node")
	if err := twin.Close(); err != nil {
		t.Fatal(err)
	}
	f.want(first, "node") // it lives on

	f.holder = 2000
	again := f.started("node", newest) // a restart, and the former process only stood still
	f.now = f.now.Add(serverLife - time.Second)
	f.signs(again)
	f.now = f.now.Add(2 * time.Second)
	f.signs(first, again)
	if err := write(again, "c"); err != nil {
		t.Error(err)
	}
	if err := write(first, "d"); !dberr.Is(err, dberr.Unavailable) {
		t.Errorf("who was taken for dead writes: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	f.signs(first)
	if err := write(first, "e"); err != nil {
		t.Errorf("when it is alone: %v", err)
	}
}

// TestFirstServers has two servers of different builds come up on an empty engine at once.
func TestFirstServers(t *testing.T) {
	f := newFleet(t)
	newest := f.next(false)
	type started struct {
		s   *Store
		err error
	}
	both := make(chan started, 2)
	for name, format := range map[string]byte{"old@one": newest - 1, "newer@two": newest} {
		go func() {
			s, err := f.start(name, format)
			both <- started{s, err}
		}()
	}
	up := 0
	for range 2 {
		if r := <-both; r.err == nil {
			up++
		} else if !dberr.Is(r.err, dberr.Unavailable) {
			t.Error(r.err)
		}
	}
	if up != 1 {
		t.Errorf("%d came up", up)
	}
}

// TestServerAlone holds that a store without names has no rows of servers.
func TestServerAlone(t *testing.T) {
	f := newFleet(t)
	s := f.started("", currentFormat(formatSteps))
	f.signs(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f.want(s)
}
