package store

import (
	"bytes"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// expirePage is how many documents expire in one commit.
const expirePage = 100

// duePage is a page of the queue of what is due, read in one snapshot: tombstones are
// written over it. A document is readable until then.
//
// The tombstones go through the same rows of code as everybody's, but no
// validation function is asked: the setting is an administrator's, as the drop
// of a partition is, and replicas must come to the same end whatever functions
// they have.
type duePage struct {
	d       *Database
	version uint64 // of the definitions
	last    []byte // the key of the last row
	more    bool   // rows may follow
	docs    []dated
}

func (p *duePage) read(r *Reader, j *jobs.Job) error {
	*p = duePage{d: p.d}
	now := p.d.store.o.Clock().Unix()
	since := dueSince(now)
	rg := kv.Range{Start: keyspace.Due.Key(p.d.number, keyspace.U(since)), End: keyspace.Due.Key(p.d.number, keyspace.U(uint64(max(now, 0))+1))}
	if after := []byte(j.Checkpoint); len(after) > 0 && bytes.Compare(after, rg.Start) >= 0 {
		rg.Start = append(after, 0)
	}
	l, err := r.lane()
	if err != nil {
		return err
	}
	p.version = l.version
	fields, err := r.fields()
	if err != nil {
		return err
	}
	it, err := r.v.Iterate(rg, kv.IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	for n := 0; it.Next(); n++ {
		if n == expirePage {
			p.more = true
			return nil
		}
		p.last = append(p.last[:0], it.Key()...)
		_, parts, err := keyspace.Due.Decode(it.Key())
		if err != nil {
			return err
		}
		a := asked{since: since}
		value, err := it.Value()
		if err == nil {
			a.written, err = decodeDue(value)
		}
		if err == nil {
			err = p.look(r, document.ID(parts[1].String()), fields, a, uint64(now))
		}
		if err != nil {
			return err
		}
	}
	return it.Err()
}

// look adds a document that is queued to the page if one of its leaves has
// expired, and it can be seen.
func (p *duePage) look(r *Reader, id document.ID, fields *fields, a asked, now uint64) error {
	if !r.sees(id) {
		return nil // its partition is being dropped
	}
	value, err := r.v.Get(p.d.headKey(id))
	if err != nil {
		return err
	}
	h, err := p.d.decodeHeadRow(r.v, id, value)
	if err != nil {
		return err
	}
	found, err := fields.dueOf(id, &h, &a)
	if err != nil {
		return err
	}
	doc := dated{id: id, seq: h.seq}
	for _, l := range found.leaves {
		if l.time <= now {
			doc.old = append(doc.old, l.rev)
		}
	}
	if doc.old != nil { // else a walk has not come to it yet
		p.docs = append(p.docs, doc)
	}
	return nil
}

func (p *duePage) size() int { return 512 * (1 + len(p.docs)) }

// write writes the tombstones of a page, over documents that still are as they were
// read.
func (p *duePage) write(g *group, j *jobs.Job) (over bool, err error) {
	if g.lane.version != p.version {
		return false, errPage
	}
	for _, doc := range p.docs {
		expired, err := g.expireDoc(doc)
		if err != nil {
			return false, err
		}
		if expired {
			j.Done++
		}
	}
	if j.Checkpoint = string(p.last); p.more {
		return false, nil
	}
	j.Checkpoint = ""
	return g.nextDue(j)
}

// nextDue makes the job due when the next document is; over if there is none. What is
// due and could not expire, since its partition is being dropped or a walk has not
// come to it, is looked at again in a while. (It reads a range, which changes only
// where the lane head does.)
func (g *group) nextDue(j *jobs.Job) (over bool, err error) {
	rg := kv.Range{Start: keyspace.Due.Key(g.db.number, keyspace.U(dueSince(g.now.Unix()))), End: keyspace.Due.Key(g.db.number, keyspace.U(dueUnreadable))}
	it, err := g.tx.Iterate(rg, kv.IterOptions{})
	if err != nil {
		return false, err
	}
	defer it.Close()
	if !it.Next() {
		return true, it.Err()
	}
	_, parts, err := keyspace.Due.Decode(it.Key())
	if err != nil {
		return false, err
	}
	if j.Due = time.Unix(int64(parts[0].Num()), 0); !j.Due.After(g.now) {
		j.Due = g.now.Add(sweepEvery)
	}
	return false, nil
}

func (g *group) expireDoc(doc dated) (expired bool, err error) {
	if err := g.requireLive(doc.id.Partition()); err != nil {
		if refusal(err) {
			err = nil
		}
		return false, err
	}
	s, err := g.doc(doc.id)
	if err != nil || s.edits > 0 || s.head.seq != doc.seq {
		return false, err
	}
	for _, rev := range doc.old {
		if err := g.tombstone(s, rev, ByExpiry); err != nil {
			return false, err
		}
	}
	s.swept = s.edits
	return true, g.finishNow(s)
}

// tombstone writes a tombstone over a live leaf. It has no body of its own: its
// revision depends on the leaf alone, and is the same on every replica.
// Invalid for a leaf of the highest generation there is.
func (g *group) tombstone(s *docState, leaf document.Rev, cause Cause) error {
	e := &pendingEdit{Edit: document.Edit{ID: s.id, Parent: leaf, Deleted: true, Body: []byte("{}")}}
	e.prepared.value, e.prepared.chunks = bodyValue(e.Body, nil)
	p := g.newPlan(s, e)
	if err := g.planEdit(p, e); err != nil {
		return err
	}
	g.settle(p)
	g.cause = cause
	defer func() { g.cause = ByWriter }()
	return g.put(p)
}
