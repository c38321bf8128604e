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
	rows    int    // of the page and before it
	serial  uint64 // of the lane head
	next    uint64 // when the first document expires that is not due, of which somebody can tell; 0: none
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
	p.version, p.serial = l.version, l.serial
	fields, err := r.fields()
	if err != nil {
		return err
	}
	it, err := r.v.Iterate(rg, kv.IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	for ; it.Next(); p.rows++ {
		if p.rows == expirePage {
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
	if err := it.Err(); err != nil {
		return err
	}
	return p.readNext(r.v, since, now, []byte(j.Checkpoint))
}

// readNext looks at what the last page leaves: rows of the pages before it that are still
// there, and the first one that is not due.
func (p *duePage) readNext(v kv.Snapshot, since uint64, now int64, checkpoint []byte) error {
	rg := kv.Range{Start: keyspace.Due.Key(p.d.number, keyspace.U(since)), End: append(checkpoint, 0)}
	if len(checkpoint) > 0 {
		before, err := keysIn(v, rg, 1)
		if err != nil {
			return err
		}
		p.rows += len(before)
	}
	rg.Start, rg.End = keyspace.Due.Key(p.d.number, keyspace.U(max(since, uint64(max(now, 0))+1))), keyspace.Due.Key(p.d.number, keyspace.U(dueUnreadable))
	after, err := keysIn(v, rg, 1)
	if err != nil || len(after) == 0 {
		return err
	}
	_, parts, err := keyspace.Due.Decode(after[0])
	if err == nil {
		p.next = parts[0].Num()
	}
	return err
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
	if err := p.fetch(g); err != nil {
		return false, err
	}
	left := p.rows
	for _, doc := range p.docs {
		expired, err := g.expireDoc(doc)
		if err != nil {
			return false, err
		}
		if expired {
			j.Done++
			left--
		}
	}
	if j.Checkpoint = string(p.last); p.more {
		return false, nil
	}
	j.Checkpoint = ""
	return p.end(g, j, left > 0), nil
}

// fetch reads ahead what the commit will read.
func (p *duePage) fetch(g *group) error {
	var ids []document.ID
	leaves := bodies{}
	for _, doc := range p.docs {
		ids = append(ids, doc.id)
		leaves[doc.id] = doc.old
	}
	return g.fetchDocs(ids, leaves)
}

// end makes the job due when the next document is; over if there is none. What is
// due and could not expire, since its partition is being dropped or a walk has not
// come to it, is looked at again in a while; so is the queue if somebody wrote since the
// page was read, whose rows have not been seen.
func (p *duePage) end(g *group, j *jobs.Job, left bool) (over bool) {
	seen, next := g.since == p.serial, time.Time{}
	if p.next != 0 {
		next = time.Unix(int64(p.next), 0)
	}
	next = g.earlier(jobDue, next)
	if seen && !left && next.IsZero() {
		return true
	}
	soon := g.now.Add(sweepEvery)
	if j.Due = next; next.IsZero() || left || !next.After(g.now) || !seen && soon.Before(next) {
		j.Due = soon
	}
	return false
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
	g.assign(p)
	g.cause = cause
	defer func() { g.cause = ByWriter }()
	return g.put(p)
}
