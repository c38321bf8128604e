package store

import (
	"context"
	"errors"
	"math"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// Purging is one document's part of a purge, and its outcome.
type Purging struct {
	ID   document.ID
	Revs []document.Rev
}

// Purge forgets leaves, as if they had never been; the answer has those really
// removed, in the order of ps. A document without leaves is gone, from the feed
// too.
func (d *Database) Purge(ctx context.Context, ps []Purging) ([]Purging, error) {
	for i := range ps {
		if err := d.checkID(ps[i].ID); err != nil {
			return nil, err
		}
	}
	done := make([]Purging, len(ps))
	var refused error
	err := d.submit(kv.Freeing(ctx), "store.Purge", purgeSize(ps), func(g *group) error {
		if refused = g.openAll(ps); refused != nil {
			if refusal(refused) {
				return nil
			}
			return refused
		}
		for i, p := range ps {
			revs, err := g.purge(p)
			if err != nil {
				return err
			}
			done[i] = Purging{ID: p.ID, Revs: revs}
		}
		return nil
	})
	if err == nil {
		err = refused
	}
	return done, err
}

// purgeSize is about what a purge writes, in bytes.
func purgeSize(ps []Purging) (n int) {
	for i := range ps {
		n += 512 * (1 + len(ps[i].Revs))
	}
	return n
}

// openAll refuses a purge that meets a partition being dropped.
func (g *group) openAll(ps []Purging) error {
	for i := range ps {
		if err := g.requireLive(ps[i].ID.Partition()); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) purge(p Purging) ([]document.Rev, error) {
	s, err := g.doc(p.ID)
	if err != nil || s.tree.Empty() {
		return nil, err
	}
	if s.marker != nil {
		return g.purgeMarked(s, p.Revs)
	}
	if err := g.remember(s); err != nil {
		return nil, err
	}
	g.stem(s)
	tree := s.tree.Clone()
	if err := g.db.loadTree(g.tx, p.ID, &tree); err != nil {
		return nil, err
	}
	purged := tree.Purge(p.Revs)
	if len(purged) == 0 {
		return nil, nil
	}
	if tree.Empty() {
		err = g.dropBodies(p.ID)
	} else {
		for _, rev := range purged {
			if err = g.dropBody(p.ID, rev); err != nil {
				break
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if err := g.forgetMarked(p.ID, purged); err != nil {
		return nil, err
	}
	s.setTree(&tree)
	g.moved(s)
	e := logEntry{cause: ByPurge, purged: purged}
	if tree.Empty() {
		e.purged = nil
	}
	if err := errors.Join(g.logged(s, e), g.redefineBy(s)); err != nil {
		return nil, err
	}
	return purged, g.putPurge(p.ID, purged)
}

// dropBodies removes every body of a document, leaves' and superseded ones: the
// head, which all writers of bodies write, was read for update.
func (g *group) dropBodies(id document.ID) error {
	revs, err := g.bodies(id, math.MaxInt)
	for _, rev := range revs {
		if err == nil {
			err = g.dropBody(id, rev)
		}
	}
	return err
}

// bodies returns up to most revisions whose bodies are stored, oldest first.
func (g *group) bodies(id document.ID, most int) (revs []document.Rev, err error) {
	r := kv.Prefix(keyspace.Doc.Key(g.db.number, keyspace.T(string(id)), keyspace.U(keyspace.SubBody)))
	err = kv.Each(g.tx, r, func(key, _ []byte) error {
		_, parts, err := keyspace.Doc.Decode(key)
		if err != nil {
			return err
		}
		if revs = append(revs, bodyRev(parts[2].String())); len(revs) >= most {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return revs, err
}

// bodyRev reads the revision from the tail of a body row's key.
func bodyRev(tail string) document.Rev {
	if len(tail) < 4 {
		return document.Rev{}
	}
	gen := uint32(tail[0])<<24 | uint32(tail[1])<<16 | uint32(tail[2])<<8 | uint32(tail[3])
	return document.Rev{Gen: gen, Hash: tail[4:]}
}

// putPurge notes a purge for _purged_infos and forgets what is over its limit.
func (g *group) putPurge(id document.ID, revs []document.Rev) error {
	l := &g.lane
	l.purgeSeq++
	l.purged++
	p := packed.Writer{}
	p.Byte(rowVersion)
	p.Text(string(id))
	p.Uint(uint64(len(revs)))
	for _, r := range revs {
		writeRev(&p, r)
	}
	if err := g.tx.Put(g.db.purgeKey(l.purgeSeq), p); err != nil {
		return err
	}
	for ; l.purged > uint64(g.db.PurgedInfosLimit()); l.purged-- {
		if err := g.tx.Delete(g.db.purgeKey(l.purgeSeq - l.purged + 1)); err != nil {
			return err
		}
	}
	return nil
}

func (d *Database) purgeKey(n uint64) []byte { return keyspace.Purge.Key(d.number, keyspace.U(n)) }

// Purged lists the last purges, oldest first.
func (d *Database) Purged(ctx context.Context) (ps []Purging, err error) {
	err = d.Whole().View(ctx, func(r *Reader) error {
		ps = ps[:0]
		return kv.Each(r.v, kv.Prefix(keyspace.Purge.Key(d.number)), func(_, value []byte) error {
			u := packed.ReadVersion(value, rowVersion)
			p := Purging{ID: document.ID(u.Text())}
			for n := u.Uint(); n > 0 && !u.Failed(); n-- {
				p.Revs = append(p.Revs, decodeRev(&u))
			}
			ps = append(ps, p)
			return u.Done()
		})
	})
	return ps, err
}
