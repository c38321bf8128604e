package index

import (
	"context"
	"time"

	"github.com/sectional/sectional/internal/store"
)

// Whoever writes shares the processors with the indexes that follow. A query waits for
// what is left of them anyway, so as long as nobody asks there is no hurry: while writes
// are on their way into commits, the background does one batch of an index and then rests
// nine times as long. Changes come together meanwhile, and large batches cost less for
// each. It goes on without a rest when no writes are on their way, when somebody asked
// lately, and when so much is left that a query would have to wait for seconds.
//
// Nothing depends on it but when the background works: a query does the steps itself.
const (
	askedLately = 10 * time.Second // an index that was asked for is kept close for so long
	restShare   = 9                // how many times as long as a batch took
	leastRest   = time.Second
	longestRest = 10 * time.Second
)

// What may be left of the feed. The time is that of batches beside writers, who have about
// half of the processors: a query alone is faster.
const (
	maxBehind   = 40_000
	bytesBehind = 64 << 20
	timeBehind  = 10 * time.Second
)

// pace is what the rests of an index depend on.
type pace struct {
	asked time.Time     // when a query needed the index up to date last
	until time.Time     // the end of the rest after the last batch
	cost  time.Duration // about what a change takes
}

// lag is how much of the feed is left to an index.
type lag struct{ changes, bytes uint64 }

// rest returns for how long the background leaves an index alone while writers are at
// work.
func (p *pace) rest(now time.Time, left lag) time.Duration {
	switch {
	case now.Sub(p.asked) < askedLately, left.changes > maxBehind, left.bytes > bytesBehind, time.Duration(left.changes)*p.cost > timeBehind:
		return 0
	}
	return min(p.until.Sub(now), longestRest)
}

// worked notes a batch.
func (p *pace) worked(began, now time.Time, changes uint64) {
	took := now.Sub(began)
	p.until = now.Add(min(max(restShare*took, leastRest), longestRest))
	if changes == 0 {
		return
	}
	cost := took / time.Duration(changes)
	if p.cost == 0 || cost < p.cost {
		p.cost = cost
	} else {
		p.cost += (cost - p.cost) / 8 // a small batch says little
	}
}

// asks notes that a query needs the index up to date.
func (t *task) asks() {
	now := t.x.clock()
	t.state.Lock()
	defer t.state.Unlock()
	t.state.pace.asked = now
}

// noteBatch notes what a batch of the feed took that began from a place.
func (t *task) noteBatch(began time.Time, from store.Sequences) {
	now := t.x.clock()
	t.state.Lock()
	defer t.state.Unlock()
	t.state.pace.worked(began, now, uint64(t.state.reached.Seq-from.Seq))
}

// rest returns for how long the background leaves the index alone, which is to come to
// sequences, where documents have so many bytes on average; 0 for not at all.
func (t *task) rest(to store.Sequences, each uint64) time.Duration {
	if !t.x.writing() {
		return 0
	}
	now := t.x.clock()
	t.state.Lock()
	defer t.state.Unlock()
	if !t.state.known || to.Seq < t.state.reached.Seq {
		return 0
	}
	left := uint64(to.Seq - t.state.reached.Seq)
	return max(0, t.state.pace.rest(now, lag{left, left * each}))
}

// keepUp brings an index to sequences, or on the way there until it is to rest, and
// returns for how long.
func (x *Indexes) keepUp(ctx context.Context, d *store.Database, ix *Index, to store.Sequences, each uint64) (rest time.Duration, err error) {
	t := x.task(d, ix)
	reached, left := hasReached(to), t.left(to)
	x.release(t)
	x.lags(d, ix, left, true) // it may have to wait for a slot
	err = x.bring(ctx, d, ix, func(t *task) bool {
		left = t.left(to)
		x.lags(d, ix, left, true)
		if rest = 0; reached(t) {
			return true
		}
		rest = t.rest(to, each)
		return rest > 0
	})
	x.lags(d, ix, left, false)
	return rest, err
}

// meanSize is how many bytes the documents of a database have on average.
func meanSize(ctx context.Context, d *store.Database) (each uint64, err error) {
	err = d.Whole().View(ctx, func(r *store.Reader) error {
		t, err := r.Totals()
		each = t.External / max(t.Docs, 1)
		return err
	})
	return each, err
}
