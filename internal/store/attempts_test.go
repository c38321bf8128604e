package store

import (
	"testing"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestAttempts: what is counted is there, nothing is not, and nobody waits for an engine that is away.
func TestAttempts(t *testing.T) {
	model := kvtest.NewModel(kvtest.ModelOptions{})
	defer model.Close()
	e := &goesAway{Engine: model, asked: make(chan struct{}, 1)}
	w := openWorld(t, e, Options{Idle: true})
	defer w.Close()
	set := func(n uint64, text string) error {
		return w.ChangeAttempts(ctx, n, func([]byte) ([]byte, error) {
			if text == "" {
				return nil, nil
			}
			return []byte(text), nil
		})
	}
	is := func(n uint64, want string) {
		t.Helper()
		if row, err := w.Attempts(ctx, n); string(row) != want || err != nil || (row == nil) != (want == "") {
			t.Errorf("%d holds %q, %v, want %q", n, row, err, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	must(set(1, "one"))
	must(set(2, "two"))
	must(set(3, ""))
	is(1, "one")
	is(3, "")
	must(w.ChangeAttempts(ctx, 2, func(row []byte) ([]byte, error) { return append(row, '!'), nil }))
	is(2, "two!")
	must(set(1, ""))
	is(1, "")

	e.commits.Store(true) // and then is away
	told := make(chan error, 1)
	go func() { told <- set(4, "four") }()
	<-e.asked
	if err := <-told; !dberr.Is(err, dberr.Unavailable) || dberr.Is(err, dberr.UnknownOutcome) {
		t.Errorf("while the engine is away: %v", err)
	}
	e.away.Store(false)
	w.later(time.Minute)
	must(set(4, "later"))
	is(4, "later")
}
