package store

import (
	"slices"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/kvtest"
)

// TestActs leaves acts before there is a store: they are told in the order of time, once, by one of the servers; one that
// dies over an act leaves it to another, when it has had time enough.
func TestActs(t *testing.T) {
	f := newFleet(t)
	for i, text := range []string{"second", "third", "first"} {
		if err := LeaveAct(t.Context(), f.engine, f.now.Add(time.Duration((i+1)%3)*time.Second), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	format := currentFormat(f.steps)
	one, two := f.started("a", format), f.started("bb", format)
	take := func(s *Store) (told []string) {
		t.Helper()
		if err := s.TakeActs(t.Context(), func(text []byte) { told = append(told, string(text)) }); err != nil {
			t.Fatal(err)
		}
		return told
	}
	rows, err := actsIn(t.Context(), f.engine)
	if err != nil || len(rows) != 3 {
		t.Fatal(rows, err)
	}
	if a, err := one.claimAct(t.Context(), rows[0].key); err != nil || string(a.text) != "first" {
		t.Fatal(a, err)
	}
	if got := take(two); !slices.Equal(got, []string{"second", "third"}) {
		t.Errorf("%q", got)
	}
	f.now = f.now.Add(claimedFor)
	if got := take(two); !slices.Equal(got, []string{"first"}) {
		t.Errorf("%q", got)
	}
	if got := append(take(one), take(two)...); got != nil {
		t.Errorf("%q", got)
	}
}

// TestActsOfTheDead: a store that one server has for itself tells at once what its process before had begun to.
func TestActsOfTheDead(t *testing.T) {
	e := kvtest.NewModel(kvtest.ModelOptions{})
	if err := LeaveAct(t.Context(), e, time.Now(), []byte("act")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{0, 1, 0} {
		s, err := Open(t.Context(), e, Options{Idle: true})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := actsIn(t.Context(), e)
		if err == nil && want == 0 && len(rows) > 0 {
			_, err = s.claimAct(t.Context(), rows[0].key)
		} else if err == nil {
			told := 0
			err = s.TakeActs(t.Context(), func([]byte) { told++ })
			if told != want {
				t.Errorf("told %d times, not %d", told, want)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
