package index_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestBuildEndsBesideTheFollower has a build end while the job that follows the feed is at
// another index: it began before changes that the job has passed by then, and the job that
// it finds in the queue is that one. It must not end before it has brought both there.
func TestBuildEndsBesideTheFollower(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	f := &follower{clock: &now}
	x := index.New(index.Options{Kinds: []index.Kind{f}, Idle: true, Clock: func() time.Time { return now }})
	s, err := store.Open(ctx, kvtest.NewShortLocks(t, openEngine(t), keyspace.IsLaneHead), store.Options{Indexer: x, Idle: true})
	if err = errors.Join(err, x.Start(ctx, s)); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d, err := s.Create(ctx, "db", store.Creation{})
	if err != nil {
		t.Fatal(err)
	}
	load(t, d, 2500) // of which a page has 1000
	define(t, d, `{"follow":true}`)
	if err := x.Run(ctx, d); err != nil {
		t.Fatal(err)
	}
	first := d.Indexes().(*index.Set).Indexes[0].Number
	if _, err := d.Whole().Write(ctx, []document.Edit{{ID: "_design/e", Body: []byte(`{"built":"later"}`)}}, store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	pages, stop := 0, errors.New("stopped")
	f.before = func(x *index.Index) error {
		if x.Number == first {
			return nil
		}
		if pages++; pages == 2 {
			return stop
		}
		return nil
	}
	if err := x.Run(ctx, d); !errors.Is(err, stop) {
		t.Fatalf("the build ended: %v", err)
	}
	write(t, d, 10, "c")
	followed := false
	f.before = func(of *index.Index) error {
		if of.Number != first || followed {
			return nil
		}
		followed = true
		return x.BuildOnce(ctx)
	}
	if err, left := x.FollowOnce(ctx, d); err != nil || !followed || !left {
		t.Errorf("%v; a build ended beside it: %v; a job is left: %v", err, followed, left)
	}
	now = now.Add(time.Minute)
	if err, left := x.FollowOnce(ctx, d); err != nil || left {
		t.Errorf("%v; a job is left: %v", err, left)
	}
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
}
