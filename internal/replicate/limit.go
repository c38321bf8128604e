package replicate

import "sync/atomic"

// limit is how much goes into one request. It halves when a peer finds that too
// much, and grows again by an eighth with each success.
type limit struct {
	now  atomic.Int64
	most int64
}

func newLimit(most int) *limit {
	l := &limit{most: int64(most)}
	l.now.Store(l.most)
	return l
}

func (l *limit) get() int { return int(l.now.Load()) }

func (l *limit) shrink() { l.now.Store(max(1, l.now.Load()/2)) }

func (l *limit) grow() {
	if v := l.now.Load(); v < l.most {
		l.now.Store(min(l.most, v+max(1, v/8)))
	}
}
