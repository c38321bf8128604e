package store

import "time"

// Where an engine can't begin a commit while the one before is on its way to the disk, the
// writers of a database would fall into two halves that wait for each other's commits: of
// those who were answered the first is back at once, and its commit leaves without the
// others. So a commit waits for as many as have been writing at the same time, for a part
// of what the last commit took: all of them go together, and each waits for one commit
// and not for two.

// longestGather bounds how long a commit waits for writers.
const longestGather = 10 * time.Millisecond

// gathering is what a queue knows of its writers. It is guarded by the queue's lock.
type gathering struct {
	writers int           // who wait for a commit, or are in one
	max     int           // of them, since the last group was taken
	ended   time.Time     // when the last commit did
	took    time.Duration // that it took
	enough  chan struct{} // closed when all are there; nil while nobody waits for that
}

// entered notes a writer.
func (q *queue) entered() {
	q.pending.Lock()
	defer q.pending.Unlock()
	q.pending.gathering.writers++
	q.pending.gathering.max = max(q.pending.gathering.max, q.pending.gathering.writers)
}

// left notes that a writer has its answer.
func (q *queue) left() {
	q.pending.Lock()
	defer q.pending.Unlock()
	q.pending.gathering.writers--
}

// ended notes that a commit that began at that time is over.
func (q *queue) ended(began time.Time) {
	q.pending.Lock()
	defer q.pending.Unlock()
	g := &q.pending.gathering
	g.ended = time.Now()
	g.took = g.ended.Sub(began)
}

// complete reports whether nobody is to be waited for. Large requests and those of several
// databases make a commit long anyway.
func (q *queue) complete() bool {
	p := &q.pending
	return len(p.small) >= p.gathering.max || len(p.large) > 0 || len(p.small) > 0 && p.small[len(p.small)-1].reservation != nil
}

// gather waits for the writers of the last commit.
func (q *queue) gather() {
	q.pending.Lock()
	g := &q.pending.gathering
	left := min(g.took/2, longestGather) - time.Since(g.ended)
	if left <= 0 || q.complete() {
		q.pending.Unlock()
		return
	}
	enough := make(chan struct{})
	g.enough = enough
	q.pending.Unlock()
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-enough:
	case <-timer.C:
		q.pending.Lock()
		g.enough = nil
		q.pending.Unlock()
	}
}

// arrived tells who waits for writers that there are enough of them. The caller holds the lock.
func (q *queue) arrived() {
	if g := &q.pending.gathering; g.enough != nil && q.complete() {
		close(g.enough)
		g.enough = nil
	}
}
