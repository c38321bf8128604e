package store

import "slices"

// A commit of several databases is one transaction of the engine, with a group for
// each of them. It must stand in line with the commits of each: what those make known
// in this process becomes known in order. So it reserves the committers: it puts a
// request into the queue of each database, in the order of their numbers, and when all have come to it,
// carries the commit out in their place. All such commits of a store come from one
// queue, which takes those that have gathered at once, so that nobody waits for a
// committer and has another one that somebody else waits for. A database whose last commit
// is in doubt while the engine is away refuses its committer, or all databases that
// a commit has already reserved would wait for it.

// reservation is a database's committer, handed over to a commit of several databases.
type reservation struct {
	begun   chan struct{}   // closed when the committer has come to it
	before  <-chan struct{} // the database's commit before this one, which answers first
	applied func()          // to be called when the database's next commit may begin
	ended   chan struct{}   // closed when the commit has answered
	refused error           // the committer was not handed over: the database can't begin a commit
}

// handOver lets whoever waits for the committer have it until it is released.
func (c *reservation) handOver(before <-chan struct{}, applied func()) {
	c.before, c.applied = before, applied
	close(c.begun)
	<-c.ended
}

// refuse tells whoever waits for the committer that it won't come.
func (c *reservation) refuse(err error) {
	c.refused = err
	close(c.begun)
}

// reserve waits for a database's committer, or for its refusal.
func (d *Database) reserve() *reservation {
	c := &reservation{begun: make(chan struct{}), ended: make(chan struct{})}
	d.store.enqueue(&d.queue, &request{reservation: c}, true, d.commit)
	<-c.begun
	return c
}

// reserveAll reserves the committers of databases, which are in order of their numbers. Where one is refused,
// none is kept, and it returns the database that did.
func reserveAll(ds []*Database) (committers []*reservation, refusing *Database, err error) {
	for _, d := range ds {
		c := d.reserve()
		if c.refused != nil {
			releaseAll(committers)
			return nil, d, c.refused
		}
		committers = append(committers, c)
	}
	return committers, nil, nil
}

// releaseAll lets the databases go on with their own commits.
func releaseAll(committers []*reservation) {
	for _, c := range committers {
		close(c.ended)
	}
}

// commitTogether is the commit of requests of several databases. Those of a database that can't
// begin a commit are told so, and the others go on without them.
func (s *Store) commitTogether(batch []*request, before <-chan struct{}, applied func()) {
	for len(batch) > 0 {
		ds := databasesOf(batch)
		committers, refusing, err := reserveAll(ds)
		if err != nil {
			batch = refuseOf(batch, refusing, err)
			continue
		}
		defer releaseAll(committers)
		s.commitBatch(ds, batch, func() {
			for _, c := range committers {
				wait(c.before)
			}
			wait(before)
		}, func() {
			for _, c := range committers {
				c.applied()
			}
			applied()
		})
		return
	}
}

// databasesOf are the databases of requests, in order of their numbers.
func databasesOf(batch []*request) (ds []*Database) {
	for _, r := range batch {
		ds = append(ds, r.databases...)
	}
	return inOrder(ds)
}

// refuseOf tells the requests that write to a database that they are not carried out, and returns the others.
func refuseOf(batch []*request, d *Database, err error) (others []*request) {
	for _, r := range batch {
		if slices.ContainsFunc(r.databases, func(of *Database) bool { return of.number == d.number }) {
			r.done <- err
		} else {
			others = append(others, r)
		}
	}
	return others
}

// of returns the group of another database in the same commit.
func (g *group) of(d *Database) *group {
	return g.all[slices.IndexFunc(g.all, func(g *group) bool { return g.db.number == d.number })]
}
