package index_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/field"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/crashfs"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestCrashWhileBuilding takes the power away at random moments of a build
// beside writers. What is there afterwards is sound at once, and after the build
// has gone on the index holds what the documents give.
func TestCrashWhileBuilding(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 4
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 11))
		fs := crashfs.New()
		after := crashed(t, fs, r)
		open(t, after, func(s *store.Store, x *index.Indexes) {
			if err := s.Check(ctx); err != nil {
				t.Fatalf("seed %d: after the crash: %v", seed, err)
			}
			d, err := s.Database(ctx, "db")
			if err == nil {
				err = x.Run(ctx, d)
			}
			if err != nil {
				t.Fatalf("seed %d: going on: %v", seed, err)
			}
			if set, _ := d.Indexes().(*index.Set); set != nil {
				for _, ix := range set.Indexes {
					if ix.State != index.Readable {
						t.Errorf("seed %d: the index is %s", seed, ix.State)
					}
				}
			}
			if err := s.Check(ctx); err != nil {
				t.Fatalf("seed %d: after the build: %v", seed, err)
			}
		})
	}
}

// open runs fn with a store on a file system.
func open(t *testing.T, fs vfs.FS, fn func(*store.Store, *index.Indexes)) {
	t.Helper()
	e, err := pebblekv.Open(pebblekv.Options{Dir: "db", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	x := index.New(index.Options{Kinds: []index.Kind{field.Kind{}}, Idle: true, Page: 1000})
	s, err := store.Open(ctx, kvtest.NewShortLocks(t, e, keyspace.IsLaneHead), store.Options{Indexer: x, Idle: true})
	if err == nil {
		err = x.Start(ctx, s)
	}
	if err != nil {
		t.Fatal(err)
	}
	fn(s, x)
	x.Close()
	if err := errors.Join(s.Close(), e.Close()); err != nil {
		t.Fatal(err)
	}
}

// crashed lets a build and writers run, and returns the disk as a crash at a
// random moment leaves it.
func crashed(t *testing.T, fs *crashfs.FS, r *rand.Rand) (after vfs.FS) {
	t.Helper()
	open(t, fs, func(s *store.Store, x *index.Indexes) {
		d, err := s.Create(ctx, "db", store.Creation{Partitioned: true})
		if err != nil {
			t.Fatal(err)
		}
		edits := make([]document.Edit, 3000)
		for i := range edits {
			edits[i] = document.Edit{ID: document.ID(fmt.Sprintf("p%d:%d", i%7, i)), Body: fmt.Appendf(nil, `{"n":%d}`, i)}
		}
		if _, err := d.Whole().Write(ctx, edits, store.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		define(t, d, design)
		var work sync.WaitGroup
		work.Go(func() {
			if err := x.Run(ctx, d); err != nil {
				t.Errorf("the build: %v", err)
			}
		})
		crash := r.IntN(40)
		for i := range 40 {
			if i == crash {
				after = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r})
			}
			e := document.Edit{ID: document.ID(fmt.Sprintf("p1:new%d", i)), Body: fmt.Appendf(nil, `{"n":%d}`, -i)}
			if _, err := d.Whole().Write(ctx, []document.Edit{e}, store.WriteOptions{}); err != nil {
				t.Error(err)
			}
		}
		work.Wait()
	})
	return after
}
