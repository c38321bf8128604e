package script

import "time"

// clock measures what the unit at hand has used of its allowance. Each unit has
// the whole of it for itself, so the one at which the clock runs out is guilty
// whatever came before it.
//
// What counts is the time of the processor: on a busy machine a function gets
// little of it in a second, and that is not its fault. The collector's time is
// the child's too and runs beside the function, so it is never more than the
// time that has passed; and a unit that gets next to nothing ends after
// maxStarved times the whole allowance all the same, for somebody waits.
type clock struct {
	allowance   time.Duration
	limit       time.Duration // the whole allowance, where this one is a short one
	start       time.Time     // of the job
	unit        int           // how many units had ended when began was taken
	began       time.Time     // of the unit
	used        time.Duration // of the processor, by then
	waiting     bool          // for rows: the clock stands still
	interrupted int           // the unit for which the realm was interrupted; -1 for none
}

// maxStarved is how many times its allowance a unit may take that does not get
// the processor.
const maxStarved = 6

func newClock(allowance, limit time.Duration) clock {
	now := time.Now()
	return clock{allowance: allowance, limit: limit, start: now, began: now, used: processorTime(), interrupted: -1}
}

// late reports by how much the unit is over its allowance; units is how many ended
// before it. A unit that was not seen yet begins now.
func (c *clock) late(now time.Time, units int) time.Duration {
	if c.waiting {
		return 0
	}
	if c.unit != units {
		c.restart(units)
	}
	passed := now.Sub(c.began)
	return max(min(passed, processorTime()-c.used)-c.allowance, passed-maxStarved*c.limit)
}

// restart begins with a unit now.
func (c *clock) restart(unit int) { c.unit, c.began, c.used = unit, time.Now(), processorTime() }

// old reports whether the job has gone on for so long that whoever waits should
// hear what is done.
func (c *clock) old() bool { return time.Since(c.start) > c.limit/2 }
