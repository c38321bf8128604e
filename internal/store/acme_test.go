package store

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestACMERows: rows are of their kind, what is changed is there for all, and nobody waits for an engine that is away.
func TestACMERows(t *testing.T) {
	model := kvtest.NewModel(kvtest.ModelOptions{})
	defer model.Close()
	e := &goesAway{Engine: model, asked: make(chan struct{}, 1)}
	w := openWorld(t, e, Options{Idle: true})
	defer w.Close()
	set := func(kind, name, text string) {
		t.Helper()
		err := w.ChangeACMERow(ctx, kind, name, func(row []byte) ([]byte, error) {
			if text == "" {
				return nil, nil
			}
			return append(row, text...), nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	are := func(kind string, want ...string) {
		t.Helper()
		rows, err := w.ACMERows(ctx, kind)
		if got := slices.Sorted(maps.Keys(rows)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", kind, got, err)
		}
	}
	set("challenge", "b.test", "one")
	set("challenge", "a.test", "two")
	set("challenge2", "c.test", "of another kind")
	set("challenge", "a.test", "!")
	are("challenge", "a.test", "b.test")
	are("chall")
	if row, err := w.ACMERow(ctx, "challenge", "a.test"); string(row) != "two!" || err != nil {
		t.Errorf("%q, %v", row, err)
	}
	set("challenge", "b.test", "")
	are("challenge", "a.test")
	if row, err := w.ACMERow(ctx, "challenge", "b.test"); row != nil || err != nil {
		t.Errorf("%q, %v", row, err)
	}
	refused := errors.New("refused")
	if err := w.ChangeACMERow(ctx, "challenge", "a.test", func([]byte) ([]byte, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	are("challenge", "a.test")

	e.commits.Store(true) // and then is away
	told := make(chan error, 1)
	go func() {
		told <- w.ChangeACMERow(ctx, "challenge", "late", func([]byte) ([]byte, error) { return []byte("x"), nil })
	}()
	<-e.asked
	if err := <-told; !dberr.Is(err, dberr.Unavailable) || dberr.Is(err, dberr.UnknownOutcome) {
		t.Errorf("while the engine is away: %v", err)
	}
}
