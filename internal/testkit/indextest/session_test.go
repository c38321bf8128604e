package indextest

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

// TestSession reads an index through its life: while it is built, after changes, while
// another takes its name, and when it is gone.
func TestSession(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	e := kvtest.NewChecked(t, kvtest.NewModel(kvtest.ModelOptions{}))
	x := index.New(index.Options{Kinds: []index.Kind{journal{}}, Clock: func() time.Time { return now }, Idle: true})
	s, err := store.Open(ctx, kvtest.NewShortLocks(t, e, keyspace.IsLaneHead), store.Options{Idle: true, Indexer: x})
	must(t, err)
	defer func() {
		x.Close()
		must(t, errors.Join(s.Close(), e.Close()))
	}()
	d, err := s.Create(ctx, "db", store.Creation{})
	must(t, err)
	write := func(e document.Edit) document.Rev {
		t.Helper()
		rs, err := d.Whole().Write(ctx, []document.Edit{e}, store.WriteOptions{})
		must(t, errors.Join(err, rs[0].Err))
		return rs[0].Rev
	}
	open := func() *index.Session {
		t.Helper()
		found, err := x.Session(ctx, d.Whole(), "_design/d", "journal", "journal")
		must(t, err)
		return found
	}
	reads := func(s *index.Session, want string, wantGone bool) {
		t.Helper()
		must(t, s.View(ctx, func(r *store.Reader, gone bool) error {
			if got, err := answers(r, s.Answers); got != want || gone != wantGone {
				t.Errorf("reads %q, gone %v: %v", got, gone, err)
			}
			return nil
		}))
	}
	if open() != nil {
		t.Error("there is an index before it is defined")
	}
	write(document.Edit{ID: "a", Body: []byte("{}")})
	rev := write(document.Edit{ID: "_design/d", Body: []byte(`{"journal":1}`)})
	first := open()
	must(t, errors.Join(first.Ready(ctx, time.Hour), first.CatchUp(ctx)))
	reads(first, "a {}\n", false)
	write(document.Edit{ID: "b", Body: []byte("{}")})
	reads(first, "a {}\n", false)
	must(t, first.CatchUp(ctx)) // b came after it began
	reads(first, "a {}\n", false)
	second := open()
	must(t, errors.Join(second.Ready(ctx, 0), second.CatchUp(ctx), x.Run(ctx, d)))
	reads(second, "a {}\nb {}\n", false)

	rev = write(document.Edit{ID: "_design/d", Parent: rev, Body: []byte(`{"journal":2}`)})
	other := open()
	if other.Soon(); other.Answers.Number != second.Index.Number {
		t.Error("nothing answers while another index is built")
	}
	reads(other, "a {}\nb {}\n", false)
	other = open()
	must(t, errors.Join(other.Ready(ctx, time.Hour), x.Run(ctx, d)))
	if other.Answers.Number == second.Index.Number {
		t.Error("the index before answers when the other is built")
	}
	reads(other, "a {}\nb {}\n", false)

	write(document.Edit{ID: "_design/d", Parent: rev, Deleted: true, Body: []byte("{}")})
	if err := other.Follow(ctx); err != nil {
		t.Errorf("following what is gone: %v", err)
	}
	reads(other, "a {}\nb {}\n", true)
	now = now.Add(2 * time.Minute)
	if err := other.View(ctx, func(*store.Reader, bool) error { return nil }); !errors.Is(err, index.ErrGone) {
		t.Errorf("long after it was dropped: %v", err)
	}
}
