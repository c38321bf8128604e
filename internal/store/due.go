package store

import (
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// The queue of what expires has a row (time, document) for each document of
// which a live leaf says when it expires; the time is the first of these. The
// row's time stands in the document's head too, so a writer that changes the
// document finds the row without reading the old body, and whatever the setting
// was when it was made: at every moment, a row is there exactly if a head says
// so. Whether the head says what the setting wants is a second matter: after a
// change of the setting a walk over the documents (walk.go) sees to it.
//
// Each live leaf counts by its own member, not the winner's: a tombstone over
// a leaf depends on nothing but the leaf, so replicas that expire by
// themselves, in whatever order conflicts reach them, make the same revisions,
// and a conflict that lost does not outlive its time.

func (d *Database) dueKey(time uint64, id document.ID) []byte {
	return keyspace.Due.Key(d.number, keyspace.U(time), keyspace.T(string(id)))
}

// dueLeaf is a live leaf that expires.
type dueLeaf struct {
	rev  document.Rev
	time uint64
}

// dueLeaves gives the live leaves of a document that expire by the member
// field, as from since on; the winner, if it does, first.
func (d *Database) dueLeaves(v kv.Snapshot, id document.ID, t *document.Tree, field string, since uint64) (due []dueLeaf, err error) {
	if field == "" || id.Designs(d.partitioned) {
		return nil, nil
	}
	for _, l := range t.Leaves() {
		if l.Deleted {
			break // so are the leaves that follow
		}
		if _, err := t.Parent(l.Rev, true); err != nil {
			continue // of the highest generation there is: no tombstone can come over it
		}
		b, err := d.readBody(v, id, l.Rev)
		if err != nil {
			return nil, err
		}
		if time := dueTime(b.body, field); time >= since {
			due = append(due, dueLeaf{l.Rev, time})
		}
	}
	return due, nil
}

// first gives the time of the leaf that expires first, 0 for none.
func first(due []dueLeaf) (time uint64) {
	for _, l := range due {
		if time == 0 || l.time < time {
			time = l.time
		}
	}
	return time
}

// queue puts a changed document into the queue of what expires, or takes it out.
func (g *group) queue(s *docState, p *partitionState) error {
	var t *partition
	if p != nil {
		t = &p.partition
	}
	due, err := g.db.dueLeaves(g.tx, s.id, &s.tree, g.db.settings.Load().expiryField(t), dueSince(g.now.Unix()))
	if err != nil {
		return err
	}
	return g.setDue(s, first(due))
}

// setDue moves a document's row in the queue. The head is written by the caller.
func (g *group) setDue(s *docState, due uint64) error {
	old := s.stored.due
	s.head.due = due
	if due == old {
		return nil
	}
	s.stored.due = due
	if old != 0 {
		if err := g.tx.Delete(g.db.dueKey(old, s.id)); err != nil {
			return err
		}
	}
	if due == 0 {
		return nil
	}
	return g.tx.Put(g.db.dueKey(due, s.id), nil)
}
