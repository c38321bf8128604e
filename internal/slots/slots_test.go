package slots

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// of returns the parties of a database's call by a caller, "" for nobody in particular.
func of(database, caller string) []Party {
	ps := []Party{{"database", database}}
	if caller != "" {
		ps = append(ps, Party{"caller", caller})
	}
	return ps
}

// hold takes a slot that is not given back.
func hold(t *testing.T, s *Slots, parties []Party) {
	go func() {
		leave, err := s.Take(t.Context(), 0, parties...)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err == nil {
			<-t.Context().Done()
			leave()
		}
	}()
}

// TestShared has some databases, or some callers, take every slot that they get for work that
// never ends: somebody else has one within the time that one waits.
func TestShared(t *testing.T) {
	for name, call := range map[string]func(i, k int) []Party{
		"databases":            func(i, k int) []Party { return of(fmt.Sprint("db", i), fmt.Sprint("user", i, k)) },
		"callers":              func(i, k int) []Party { return of(fmt.Sprint("db", i, k), fmt.Sprint("user", i)) },
		"nobody in particular": func(i, k int) []Party { return of(fmt.Sprint("db", i), "") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const each, overflow = 2, 200 * time.Millisecond
				s := New(1, each, overflow)
				for i := range 7 {
					for k := range 20 {
						hold(t, s, call(i, k))
					}
					time.Sleep(time.Minute) // one after the other takes all it gets
				}
				began := time.Now()
				leave, err := s.Take(t.Context(), 0, of("other", "somebody else")...)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > overflow {
					t.Errorf("it waited %v", took)
				}
				leave()
				if free := s.free[1]; free < 1 || free > 2*each {
					t.Errorf("%d of %d extra slots are free", free, fewestExtra)
				}
			})
		})
	}
}

// TestKinds holds that who holds all slots of a kind holds none of another.
func TestKinds(t *testing.T) {
	s := New(2, 1, time.Hour)
	if _, err := s.Take(t.Context(), 0, of("a", "")...); err != nil {
		t.Fatal(err)
	}
	leave, err := s.Take(t.Context(), 1, of("a", "")...)
	if err != nil {
		t.Fatal(err)
	}
	leave()
}

// TestWhoHasNone holds that a slot that becomes free goes to the one whose
// parties have the fewest, of those to the oldest, and that slots are counted.
func TestWhoHasNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(1, 1, time.Hour)
		first, err := s.Take(t.Context(), 0, of("a", "x")...)
		if err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		s.taken[Party{"database", "a"}] = shares{all: 2} // as if it had another one
		s.mu.Unlock()
		var order []string
		for _, db := range []string{"a", "b", "a", "c"} {
			go func() {
				leave, err := s.Take(t.Context(), 0, of(db, "x"+db)...)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, db)
				leave()
			}()
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			if _, err := s.Take(ctx, 0, of("d", "")...); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		first()
		synctest.Wait()
		if got := fmt.Sprint(order); got != "[b c a a]" {
			t.Error(got)
		}
		if len(s.waiting) != 0 || s.free[0] != 1 || len(s.taken) != 1 {
			t.Errorf("left: %d waiting, %v free, %v taken", len(s.waiting), s.free, s.taken)
		}
		if _, err := s.Take(t.Context(), 0, of("a", "")...); err != nil {
			t.Fatal(err)
		}
		go s.Close()
		for range 2 {
			if _, err := s.Take(t.Context(), 0, of("a", "")...); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
	})
}
