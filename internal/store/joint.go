package store

import "slices"

// A commit of several databases is one transaction of the engine, with a group for
// each of them. It must stand in line with the commits of each: what those make known
// in this process becomes known in order. So it borrows the committers: it puts a
// request into the queue of each database, in the order of their numbers, and when all have come to it,
// carries the commit out in their place. All such commits of a store come from one
// queue, which takes those that have gathered at once, so that nobody waits for a
// committer and has another one that somebody else waits for.

// borrowed is a database's committer, handed over to a commit of several databases.
type borrowed struct {
	begun   chan struct{}   // closed when the committer has come to it
	before  <-chan struct{} // the database's commit before this one, which answers first
	applied func()          // to be called when the database's next commit may begin
	ended   chan struct{}   // closed when the commit has answered
}

// handOver lets whoever waits for the committer have it until it is given back.
func (l *borrowed) handOver(before <-chan struct{}, applied func()) {
	l.before, l.applied = before, applied
	close(l.begun)
	<-l.ended
}

// borrow waits for a database's committer.
func (d *Database) borrow() *borrowed {
	l := &borrowed{begun: make(chan struct{}), ended: make(chan struct{})}
	d.store.enqueue(&d.queue, &request{borrowed: l}, true, d.commit)
	<-l.begun
	return l
}

// commitTogether is the commit of requests of several databases.
func (s *Store) commitTogether(batch []*request, before <-chan struct{}, applied func()) {
	var ds []*Database
	for _, r := range batch {
		ds = append(ds, r.databases...)
	}
	ds = inOrder(ds)
	committers := make([]*borrowed, len(ds))
	for i, d := range ds {
		committers[i] = d.borrow()
		defer close(committers[i].ended)
	}
	s.commitBatch(ds, batch, func() {
		for _, l := range committers {
			wait(l.before)
		}
		wait(before)
	}, func() {
		for _, l := range committers {
			l.applied()
		}
		applied()
	})
}

// of returns the group of another database in the same commit.
func (g *group) of(d *Database) *group {
	return g.all[slices.IndexFunc(g.all, func(g *group) bool { return g.db.number == d.number })]
}
