package script

import (
	"testing"
	"time"
)

// TestClock holds what a unit is charged for: the processor's time, but never more
// than has passed, and a part of that when it does not get the processor. Each unit begins at nothing.
func TestClock(t *testing.T) {
	const allowance = time.Hour
	c := newClock(allowance, allowance)
	began := c.began
	for _, step := range []struct {
		passed, used time.Duration // since the beginning of the unit
		want         time.Duration // charged
	}{
		{10 * time.Minute, 10 * time.Minute, 10 * time.Minute},
		{10 * time.Minute, 18 * time.Minute, 10 * time.Minute}, // with the collector
		{30 * time.Minute, 10 * time.Minute, 10 * time.Minute}, // a busy machine
		{7 * time.Hour, 0, 2 * time.Hour},                      // no processor at all
	} {
		c.used = processorTime() - step.used
		got := c.late(began.Add(step.passed), 0) + allowance
		if got < step.want || got > step.want+time.Minute {
			t.Errorf("after %v with %v of the processor it is charged %v", step.passed, step.used, got)
		}
	}
	c.late(began.Add(6*time.Hour), 1)
	if got := c.late(time.Now(), 1) + allowance; got > time.Minute {
		t.Errorf("the next unit is charged %v", got)
	}
	c.allowance = time.Minute // a short one
	if c.late(c.began.Add(5*time.Hour), 1) > 0 {
		t.Error("a unit with a short allowance is late because it does not get the processor")
	}
	c.waiting = true
	if got := c.late(began.Add(24*time.Hour), 1); got != 0 {
		t.Errorf("while it waits it is late by %v", got)
	}
}
