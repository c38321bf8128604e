package store

import "slices"

// A commit of several databases is one transaction of the engine, with a group for
// each of them. It must stand in line with the commits of each: what those make known
// in this process becomes known in order. So it borrows the committers: it puts a
// request into the queue of each database, in the order of their numbers, and when all have come to it,
// carries the commit out in their place. All such commits of a store come from one
// queue, which takes those that have gathered at once, so that nobody waits for a
// committer and has another one that somebody else waits for. A database whose last commit
// is in doubt while the engine is away refuses its committer, or all databases that
// a commit has already borrowed would wait for it.

// borrowed is a database's committer, handed over to a commit of several databases.
type borrowed struct {
	begun   chan struct{}   // closed when the committer has come to it
	before  <-chan struct{} // the database's commit before this one, which answers first
	applied func()          // to be called when the database's next commit may begin
	ended   chan struct{}   // closed when the commit has answered
	refused error           // the committer was not handed over: the database can't begin a commit
}

// handOver lets whoever waits for the committer have it until it is given back.
func (l *borrowed) handOver(before <-chan struct{}, applied func()) {
	l.before, l.applied = before, applied
	close(l.begun)
	<-l.ended
}

// refuse tells whoever waits for the committer that it won't come.
func (l *borrowed) refuse(err error) {
	l.refused = err
	close(l.begun)
}

// borrow waits for a database's committer, or for its refusal.
func (d *Database) borrow() *borrowed {
	l := &borrowed{begun: make(chan struct{}), ended: make(chan struct{})}
	d.store.enqueue(&d.queue, &request{borrowed: l}, true, d.commit)
	<-l.begun
	return l
}

// borrowAll borrows the committers of databases, which are in order of their numbers. Where one is refused,
// none is kept, and it returns the database that did.
func borrowAll(ds []*Database) (committers []*borrowed, refusing *Database, err error) {
	for _, d := range ds {
		l := d.borrow()
		if l.refused != nil {
			giveBack(committers)
			return nil, d, l.refused
		}
		committers = append(committers, l)
	}
	return committers, nil, nil
}

// giveBack lets the databases go on with their own commits.
func giveBack(committers []*borrowed) {
	for _, l := range committers {
		close(l.ended)
	}
}

// commitTogether is the commit of requests of several databases. Those of a database that can't
// begin a commit are told so, and the others go on without them.
func (s *Store) commitTogether(batch []*request, before <-chan struct{}, applied func()) {
	for len(batch) > 0 {
		ds := databasesOf(batch)
		committers, refusing, err := borrowAll(ds)
		if err != nil {
			batch = refuseOf(batch, refusing, err)
			continue
		}
		defer giveBack(committers)
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
