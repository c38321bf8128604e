package store

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// expirePage is how many documents expire in one commit, and expireRound about
// how many in one round of the background work.
const (
	expirePage  = 100
	expireRound = 2000
)

// expire writes tombstones over what is due, page by page from after on, and
// tells where to go on, if there is more than a round's worth: writers come in
// between two pages, other background work between two rounds. A document is
// readable until then.
//
// The tombstones go through the same rows of code as everybody's, but no
// validation function is asked: the setting is an administrator's, as the drop
// of a partition is, and replicas must come to the same end whatever functions
// they have.
func (d *Database) expire(ctx context.Context, after []byte) (next []byte, n int, err error) {
	for n < expireRound {
		page := duePage{d: d}
		if err := d.Whole().View(ctx, func(r *Reader) error { return page.read(r, after) }); err != nil {
			return nil, n, err
		}
		done, err := d.expireDocs(ctx, &page)
		if n += done; errors.Is(err, errPage) {
			continue // read again
		}
		if err != nil || !page.more {
			return nil, n, err
		}
		after = page.last
		d.store.rest(ctx)
	}
	return after, n, nil
}

// duePage is a page of the queue of what is due, read in one snapshot.
type duePage struct {
	d       *Database
	version uint64 // of the definitions
	last    []byte // the key of the last row
	more    bool   // rows may follow
	docs    []dated
}

func (p *duePage) read(r *Reader, after []byte) error {
	*p = duePage{d: p.d}
	now := p.d.store.o.Clock().Unix()
	since := dueSince(now)
	rg := kv.Range{Start: keyspace.Due.Key(p.d.number, keyspace.U(since)), End: keyspace.Due.Key(p.d.number, keyspace.U(uint64(max(now, 0))+1))}
	if after != nil {
		rg.Start = append(after[:len(after):len(after)], 0)
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
	h, err := p.d.readHead(r.v, id, value)
	if err != nil {
		return err
	}
	if a.setting, err = fields.of(id); err != nil {
		return err
	}
	found, err := p.d.dueOf(r.v, id, &h.tree, a)
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

// expireDocs writes the tombstones of a page in one commit, over documents that
// still are as they were read. errPage if a setting has changed.
func (d *Database) expireDocs(ctx context.Context, p *duePage) (n int, err error) {
	if len(p.docs) == 0 {
		return 0, nil
	}
	stale := false
	err = d.submit(ctx, "store.expire", 512*len(p.docs), func(g *group) error {
		n = 0
		if stale = g.lane.version != p.version; stale {
			return nil
		}
		for _, doc := range p.docs {
			expired, err := g.expireDoc(doc)
			if err != nil {
				return err
			}
			if expired {
				n++
			}
		}
		return nil
	})
	if err == nil && stale {
		err = errPage
	}
	return n, err
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
	return true, nil
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

// queued reports whether anything is in the queue of what expires.
func (d *Database) queued(ctx context.Context) (any bool, err error) {
	err = d.Whole().View(ctx, func(r *Reader) error {
		it, err := r.v.Iterate(kv.Prefix(keyspace.Due.Key(d.number)), kv.IterOptions{})
		if err != nil {
			return err
		}
		defer it.Close()
		any = it.Next()
		return it.Err()
	})
	if dberr.Is(err, dberr.NotFound) {
		return false, nil
	}
	return any, err
}
