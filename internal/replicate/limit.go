package replicate

import "sync/atomic"

// limit is how much goes into one request. It halves when a peer finds that too
// much, and grows again by an eighth with each success.
type limit struct {
	now atomic.Int64
	max int64
}

func newLimit(most int) *limit {
	l := &limit{max: int64(most)}
	l.now.Store(l.max)
	return l
}

func (l *limit) get() int { return int(l.now.Load()) }

func (l *limit) shrink() { l.now.Store(max(1, l.now.Load()/2)) }

func (l *limit) grow() {
	if v := l.now.Load(); v < l.max {
		l.now.Store(min(l.max, v+max(1, v/8)))
	}
}
