package index

import (
	"testing"
	"time"
)

// TestRests: what ends a rest is that somebody asked, that too many changes are left, that
// they are too many bytes, or that they would take too long, by the cheapest batch.
func TestRests(t *testing.T) {
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	p := pace{}
	p.worked(start, start.Add(200*time.Millisecond), 1000)
	p.worked(start, start.Add(300*time.Millisecond), 1)
	p.worked(start, start.Add(200*time.Millisecond), 0)
	now := start.Add(time.Second)
	for _, c := range []struct {
		left  lag
		asked time.Time
		rest  time.Duration
	}{
		{lag{1, 100}, time.Time{}, time.Second},
		{lag{265, 100}, time.Time{}, time.Second}, // 37.7 ms each, since a change by itself took longer
		{lag{266, 100}, time.Time{}, 0},
		{lag{1, 64<<20 + 1}, time.Time{}, 0},
		{lag{1, 100}, now.Add(-9 * time.Second), 0},
		{lag{1, 100}, now.Add(-10 * time.Second), time.Second},
	} {
		p.asked = c.asked
		if got := p.rest(now, c.left); got != c.rest {
			t.Errorf("%+v asked for at %v: a rest of %v, want %v", c.left, c.asked, got, c.rest)
		}
	}
	p.worked(start, start.Add(100*time.Millisecond), 1000)
	p.worked(start, start.Add(20*time.Microsecond), 1000)
	p.asked = time.Time{}
	if p.rest(now, lag{40_000, 0}) == 0 || p.rest(now, lag{40_001, 0}) != 0 {
		t.Error("the number of changes is not bounded by 40,000")
	}
	if got := p.rest(start.Add(-time.Hour), lag{1, 1}); got != longestRest {
		t.Errorf("a clock that was set back makes a rest of %v", got)
	}
	p.worked(start, start.Add(time.Minute), 1)
	if got := p.rest(start.Add(time.Minute), lag{1, 1}); got != longestRest {
		t.Errorf("a long batch makes a rest of %v", got)
	}
}
