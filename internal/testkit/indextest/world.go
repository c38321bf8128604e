package indextest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// world is stores over one engine, with indexes of the subject's kind: one, or several that
// are dealt what is done.
type world struct {
	*testing.T
	Subject
	*server // whose turn it is
	all     []*server
	deaths  int
	engine  kv.Engine
	r       *rand.Rand
	longest int // of a row; 0: as ever
	now     time.Time
	revs    map[document.ID]document.Rev
	log     []string
	amended int // comparisons of amend that said something
}

// server is a store with its indexes, and the database as it knows it.
type server struct {
	life     *kvtest.Mortal
	store    *store.Store
	indexes  *index.Indexes
	db       *store.Database
	building chan error // has the end of a build beside others; nil: there is none
}

var ctx = context.Background()

// runHistory runs a history, and returns how often amend compared answers.
func runHistory(t *testing.T, s Subject, engine func(*testing.T) kv.Engine, servers int, partitioned bool, seed uint64) int {
	t.Helper()
	w := &world{T: t, Subject: s, engine: engine(t), r: rand.New(rand.NewPCG(seed, 7)), now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		revs: map[document.ID]document.Rev{}}
	if seed%2 == 1 { // nearly all rows lie in pieces
		w.longest = 30
	}
	defer w.engine.Close()
	defer w.end()
	w.server = w.serve(servers > 1, s.Kind)
	var err error
	if w.db, err = w.store.Create(ctx, "db", store.Creation{Partitioned: partitioned}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.db.Whole().SetExpiry(ctx, store.Expiry{Own: true, Field: "expires"}), w.db.SetDeletedTTL(ctx, store.Period{Text: "1_hour"})); err != nil {
		t.Fatal(err)
	}
	for range servers - 1 {
		w.join()
	}
	for range 4 {
		w.round()
		if s.Amended != nil {
			w.amend(seed)
		}
		w.compare(seed)
	}
	return w.amended
}

// serve opens a store; one of several has the engine as a process of its own.
func (w *world) serve(several bool, k index.Kind) *server {
	w.Helper()
	s := &server{life: &kvtest.Mortal{Engine: w.engine}}
	clock := func() time.Time { return w.now }
	s.indexes = index.New(index.Options{Kinds: []index.Kind{k}, Clock: clock, Idle: true})
	o, e := store.Options{Clock: clock, Idle: true, Indexer: s.indexes, LongestRow: w.longest}, w.engine
	if several {
		o.Holder, o.Lease = uint64(len(w.all)+w.deaths+1), time.Minute
		o.AssumeStale = kvtest.RandomStale(o.Holder)
		e = kvtest.NewShared(s.life)
	}
	var err error
	if s.store, err = store.Open(ctx, kvtest.NewShortLocks(w, e, keyspace.IsLaneHead), o); err != nil {
		w.Fatal(err)
	}
	w.all = append(w.all, s)
	return s
}

// join adds a server to several.
func (w *world) join() {
	w.Helper()
	k := w.Kind
	if w.Another != nil {
		k = w.Another()
	}
	s := w.serve(true, k)
	var err error
	if s.db, err = s.store.Database(ctx, "db"); err != nil {
		w.Fatal(err)
	}
}

// end ends a server, or all.
func (w *world) end() {
	for _, s := range w.all {
		s.end(w.T)
	}
}

func (s *server) end(t *testing.T) {
	s.indexes.Close()
	if err := s.store.Close(); err != nil && !s.life.Dead() {
		t.Error(err)
	}
}

// deal gives the turn to any server.
func (w *world) deal() {
	if len(w.all) > 1 {
		w.server = w.all[w.r.IntN(len(w.all))]
	}
}

// round runs some steps, half of the time beside a build, or beside those of several servers, of
// which one may die in the middle.
func (w *world) round() {
	for _, s := range w.all {
		if w.r.IntN(2) == 0 {
			s.building = make(chan error, 1)
			go func() { s.building <- s.indexes.Run(ctx, s.db) }()
		}
	}
	dies := w.r.IntN(60)
	for n := range 30 {
		if n == dies && len(w.all) > 1 {
			w.die()
		}
		w.deal()
		w.step()
	}
	for _, s := range w.all {
		w.built(s)
	}
}

// built waits for the end of the build that a server is at, if there is one.
func (w *world) built(s *server) {
	if s.building == nil {
		return
	}
	if err := <-s.building; err != nil && !s.life.Dead() {
		w.Fatalf("a build beside writers: %v\n%s", err, strings.Join(w.log, "\n"))
	}
	s.building = nil
}

// die has a server die, whatever it is at, and another begin. What files there were may be lost
// with it.
func (w *world) die() {
	i := w.r.IntN(len(w.all))
	s := w.all[i]
	w.say("a server dies")
	s.life.Die()
	w.built(s)
	w.all = slices.Delete(w.all, i, i+1)
	s.end(w.T)
	w.deaths++
	w.join()
	if w.Lose != nil {
		w.Lose()
	}
}
