package store

import (
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// The queue of what expires has a row (time, document) for each document of
// which a live leaf says when it expires; the time is the first of these. The
// row's time is in the document's head too, so a writer that changes the
// document finds the row without reading the old body, and whatever the setting
// was when it was made: at every moment, a row is there exactly if a head says
// so. Whether the head says what the setting wants is a second matter: after a
// change of the setting a walk over the documents (walk.go) sees to it.
//
// Each live leaf counts by its own member, not the winner's: a tombstone over
// a leaf depends on nothing but the leaf, so replicas that expire by
// themselves, in whatever order conflicts reach them, make the same revisions,
// and a conflict that lost does not outlive its time.
//
// Relative times count from the document's last write on this server, by
// whatever way it came: neither a revision nor a body says when it was made,
// and a body is not changed by a setting. The time of that write is the value
// of the queue's row, where a leaf needs it. Replicas that count by themselves
// may come to different times; the first tombstone is the one that the others
// would make, and goes to them as every revision does.
//
// A document of which a leaf has a member that nobody can read, and no leaf
// expires, is in the queue at dueUnreadable, which never comes: so they are
// counted by a range, of the database and of a partition.

// dueUnreadable is where in the queue unreadable documents are.
const dueUnreadable = maxDue + 1

// MaxUnreadable is how many unreadable documents are counted, and how many are
// named.
const (
	MaxUnreadable = 10000
	maxExamples   = 10
)

func (d *Database) dueKey(time uint64, id document.ID) []byte {
	return keyspace.Due.Key(d.number, keyspace.U(time), keyspace.T(string(id)))
}

// dueLeaf is a live leaf that expires.
type dueLeaf struct {
	rev  document.Rev
	time uint64
}

// due is what a document's live leaves say of expiry.
type due struct {
	leaves     []dueLeaf // those that expire; the winner, if it does, first
	relative   bool      // a leaf's time counts from the last write
	unreadable bool      // a leaf has a member that nobody can read
}

// asked is what dueOf has to know beside the document.
type asked struct {
	setting Expiry
	written uint64 // when the document was written last, 0 if nobody knows
	since   uint64 // the earliest time that counts
}

// dueOf reads when the live leaves of a document expire. Of one whose last
// write is not known, relative times are left out.
func (d *Database) dueOf(v kv.Snapshot, id document.ID, t *document.Tree, a asked) (found due, err error) {
	if a.setting.off() || id.Designs(d.partitioned) {
		return found, nil
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
			return found, err
		}
		found.leaf(l.Rev, a.setting.timeOf(b.body), a)
	}
	return found, nil
}

func (f *due) leaf(rev document.Rev, m expiryTime, a asked) {
	switch m.kind {
	case timeNever:
	case timeAfter:
		f.relative = true
		if a.written > 0 {
			f.leaves = append(f.leaves, dueLeaf{rev, a.written + m.at})
		}
	case timeAt:
		if m.at >= a.since {
			f.leaves = append(f.leaves, dueLeaf{rev, m.at})
			return
		}
		f.unreadable = f.unreadable || !a.setting.Seconds
	case timeUnreadable:
		f.unreadable = true
	}
}

// row returns the document's row in the queue: its time, 0 for none, and the time
// of the last write, if that has to be known.
func (f *due) row(written uint64) (time, value uint64) {
	for _, l := range f.leaves {
		if time == 0 || l.time < time {
			time = l.time
		}
	}
	if time == 0 && f.unreadable {
		time = dueUnreadable
	}
	if !f.relative || time == 0 {
		written = 0
	}
	return time, written
}

// queue puts a changed document into the queue of what expires, or takes it out.
func (g *group) queue(s *docState, p *partitionState) error {
	var t *partition
	if p != nil {
		t = &p.partition
	}
	a := asked{setting: g.db.settings.Load().expiryOf(t), written: uint64(max(g.now.Unix(), 1)), since: dueSince(g.now.Unix())}
	if s.stored.due != 0 && s.swept > 0 && s.swept == s.edits {
		// What expires is no write: the other leaves' time goes on.
		value, err := g.tx.Get(g.db.dueKey(s.stored.due, s.id))
		if err != nil {
			return err
		}
		if a.written, err = decodeDue(value); err != nil {
			return err
		}
	}
	found, err := g.db.dueOf(g.tx, s.id, &s.tree, a)
	if err != nil {
		return err
	}
	if found.unreadable {
		g.db.store.expiry.unreadable.Add(1)
	}
	time, written := found.row(a.written)
	return g.setDue(s, time, written)
}

// setDue moves a document's row in the queue. The head is written by the caller.
func (g *group) setDue(s *docState, due, written uint64) error {
	old := s.stored.due
	s.head.due, s.stored.due = due, due
	if old != 0 && old != due {
		if err := g.tx.Delete(g.db.dueKey(old, s.id)); err != nil {
			return err
		}
	}
	if due == 0 {
		return nil
	}
	if due != dueUnreadable {
		g.needs(jobDue, time.Unix(int64(due), 0))
	}
	return g.tx.Put(g.db.dueKey(due, s.id), encodeDue(written))
}

// encodeDue makes the value of a row in the queue: the time of the document's
// last write in Unix seconds, nothing where no leaf counts from it.
func encodeDue(written uint64) []byte {
	if written == 0 {
		return nil
	}
	p := packed.Writer{dueWithWrite}
	p.Uint(written)
	return p
}

func decodeDue(value []byte) (written uint64, err error) {
	if len(value) == 0 {
		return 0, nil
	}
	u := packed.ReadVersion(value, dueWithWrite)
	written = u.Uint()
	return written, u.Done()
}

// unreadable counts the documents of the scope of which nobody can read when
// they expire.
func (r *Reader) unreadable(state *ExpiryState) error {
	rg := kv.Prefix(keyspace.Due.Key(r.db.number, keyspace.U(dueUnreadable)))
	if p := r.partition; p != "" {
		rg.Start = r.db.dueKey(dueUnreadable, document.ID(p+":"))
		rg.End = r.db.dueKey(dueUnreadable, document.ID(p+";"))
	}
	it, err := r.v.Iterate(rg, kv.IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	for state.Unreadable < MaxUnreadable && it.Next() {
		_, parts, err := keyspace.Due.Decode(it.Key())
		if err != nil {
			return err
		}
		id := document.ID(parts[1].String())
		if !r.sees(id) {
			continue
		}
		if state.Unreadable++; len(state.Examples) < maxExamples {
			state.Examples = append(state.Examples, r.shown(id))
		}
	}
	return it.Err()
}
