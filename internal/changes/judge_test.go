package changes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/store"
)

// oddJudge lets odd sequences pass. It says how often it was asked, and
// complains if that was inside of a snapshot.
type oddJudge struct {
	t      *testing.T
	m      *memory
	max    int // changes for one decision; 0 for no bound
	taken  [][]document.Rev
	asked  int
	failAt int
}

func (j *oddJudge) Take(r Reader, c *store.Change, revs []document.Rev) (bool, error) {
	revs, err := odd(r, c, revs)
	j.taken = append(j.taken, append([]document.Rev(nil), revs...))
	return len(j.taken) == j.max, err
}

func (j *oddJudge) Verdicts(context.Context) ([][]document.Rev, error) {
	j.m.Lock()
	defer j.m.Unlock()
	if j.m.open {
		j.t.Error("a decision inside of a snapshot")
	}
	if j.asked++; j.asked == j.failAt {
		return nil, errors.New("the function failed")
	}
	taken := j.taken
	j.taken = nil
	return taken, nil
}

// TestJudgeIsAFilter holds feeds with a judge to feeds with a filter that says
// the same.
func TestJudgeIsAFilter(t *testing.T) {
	synctest.Test(t, judgeIsAFilter)
}

func judgeIsAFilter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		m := newMemory()
		for range random.IntN(40) {
			name := fmt.Sprintf("%c", 'a'+random.IntN(26))
			m.put(name + []string{"", "", "!", "+"}[random.IntN(4)])
		}
		f := Feed{Limit: random.IntN(8) - 1, Since: store.Seq(random.IntN(10)), Descending: random.IntN(3) == 0, Leaves: random.IntN(2) == 0}
		if random.IntN(4) == 0 {
			f.IDs = []document.ID{"a", "b", "c", "d", "e", "f", "g"}
		}
		full := random.IntN(3)
		filtered := f
		filtered.Filter = odd
		want := m.runInto(t, t.Context(), filtered, &script{m: m, began: time.Now(), full: full})
		for _, most := range []int{0, 1, 3} {
			f.Judge = &oddJudge{t: t, m: m, max: most}
			got := m.runInto(t, t.Context(), f, &script{m: m, began: time.Now(), full: full})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("round %d, %d at a time, %+v (-filter +judge):\n%s", round, most, f, diff)
			}
		}
	}
}

// TestViewsThatBeginAgain holds feeds whose every View fails at its first read, and runs again, to those whose Views do not.
func TestViewsThatBeginAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(3, 4))
		for round := range 300 {
			m := newMemory()
			for range random.IntN(40) {
				m.put(fmt.Sprintf("%c", 'a'+random.IntN(26)) + []string{"", "", "!", "+"}[random.IntN(4)])
			}
			f := Feed{Limit: random.IntN(8) - 1, Since: store.Seq(random.IntN(10)), Descending: random.IntN(3) == 0, Leaves: random.IntN(2) == 0}
			if random.IntN(4) == 0 {
				f.IDs = []document.ID{"a", "b", "c", "d", "e", "f", "g"}
			}
			full, most, judged := random.IntN(3), random.IntN(4), random.IntN(2) == 0
			run := func() string {
				if judged {
					f.Judge = &oddJudge{t: t, m: m, max: most}
				}
				return m.runInto(t, t.Context(), f, &script{m: m, began: time.Now(), full: full})
			}
			want := run()
			m.rerunViews = true
			if diff := cmp.Diff(want, run()); diff != "" {
				t.Fatalf("round %d, judged %t, %+v (-once +again):\n%s", round, judged, f, diff)
			}
		}
	})
}

func TestJudgeIsAskedSeldom(t *testing.T) {
	m := newMemory()
	for i := range 950 {
		m.put(fmt.Sprintf("doc%d", i))
	}
	j := &oddJudge{t: t, m: m, max: 100}
	if _, err := (Feed{Limit: -1, Judge: j}).Run(t.Context(), m, &script{m: m}); err != nil || j.asked != 10 {
		t.Errorf("asked %d times about 950 changes, error %v", j.asked, err)
	}
}

func TestJudgeThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("a", "b", "c", "d")
		got := m.run(t, t.Context(), Feed{Limit: -1, Judge: &oddJudge{t: t, m: m, max: 2, failAt: 2}})
		expect(t, got, "1 a 1-b", "error the function failed")
	})
}

func TestJudgeOfALiveFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("a", "b")
		done := make(chan struct{})
		go func() {
			time.Sleep(time.Second)
			m.put("c")
			time.Sleep(time.Second)
			m.put("d")
			time.Sleep(time.Second)
			close(done)
		}()
		got := m.run(t, t.Context(), Feed{Mode: Endless, Limit: -1, Timeout: time.Hour, Done: done, Judge: &oddJudge{t: t, m: m}})
		expect(t, got, "1 a 1-b", "wait", "3 c 1-b @1s", "wait @1s", "wait @2s", "end 4 pending 0 @3s")
	})
}
