package store

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/dberr"
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
	looked, err := d.lookBefore(ctx, idsOf(ps))
	if err != nil {
		return nil, dberr.Wrap("store.Purge", err)
	}
	var refused error
	err = d.submit(kv.Freeing(ctx), "store.Purge", purgeSize(ps), func(g *group) error {
		if refused = g.openAll(ps); refused != nil {
			if refusal(refused) {
				return nil
			}
			return refused
		}
		g.knowRemovals(looked)
		for i, p := range ps {
			revs, err := g.purge(p, looked)
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

// idsOf are the documents of a purge.
func idsOf(ps []Purging) (ids []document.ID) {
	for i := range ps {
		ids = append(ids, ps[i].ID)
	}
	return ids
}

func (g *group) purge(p Purging, looked *removing) ([]document.Rev, error) {
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
		err = g.dropBodies(s, looked.bodies[p.ID])
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
	most := uint64(g.db.PurgedInfosLimit())
	for n := 0; l.purged > most && n < forgetPurges; n++ {
		if err := g.tx.Delete(g.db.purgeKey(l.purgeSeq - l.purged + 1)); err != nil {
			return err
		}
		l.purged--
	}
	return nil
}

// forgetPurges is how many old purges one forgets at most: the limit may have become
// lower by a lot.
const forgetPurges = 100

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
