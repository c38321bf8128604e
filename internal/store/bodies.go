package store

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// A commit that removes a document removes its bodies, the superseded ones too. Which
// there are only a walk tells, and while it walks others wait for the lane head. So they
// are looked up in a snapshot before, and the commit reads those by name. What came in
// between are bodies of leaves, which the tree names, or was superseded since: that is
// left to the sweeper, who has a row of it.

// bodies are the revisions of documents of which bodies were stored when a page or a
// request looked, oldest first.
type bodies map[document.ID][]document.Rev

// Of many documents so many are walked over at once, each of which has so few bodies as a rule.
const (
	bodiesTogether = 32
	bodiesExpected = 4
)

// bodiesOf looks up the bodies of documents, up to most of them: documents for which there is no
// room are not in the answer. Only the first is there in any case, if it has more with one more
// than there is room for.
func (d *Database) bodiesOf(v kv.Snapshot, ids []document.ID, most int) (bodies, error) {
	found := bodies{}
	for page := range slices.Chunk(ids, bodiesTogether) {
		walks := make([]kv.Walk, len(page))
		for i, id := range page {
			walks[i] = kv.Walk{Range: kv.Prefix(keyspace.Doc.Key(d.number, keyspace.T(string(id)), keyspace.U(keyspace.SubBody))), IterOptions: kv.IterOptions{Want: bodiesExpected}}
		}
		f, err := v.Read(kv.Reads{Walks: walks})
		if err != nil {
			return nil, err
		}
		for i := 0; i < len(page) && most > 0 && err == nil; i++ {
			var revs []document.Rev
			if revs, err = bodyRevs(f.Walks[i], most+1); len(revs) <= most || len(found) == 0 {
				found[page[i]] = revs
			}
			most -= len(revs)
		}
		f.Close()
		if err != nil || most <= 0 {
			return found, err
		}
	}
	return found, nil
}

// bodyRevs reads up to most revisions from the keys of bodies.
func bodyRevs(it kv.Iterator, most int) (revs []document.Rev, err error) {
	for len(revs) < most && it.Next() {
		_, parts, err := keyspace.Doc.Decode(it.Key())
		if err != nil {
			return nil, err
		}
		revs = append(revs, bodyRev(parts[2].String()))
	}
	return revs, it.Err()
}

// bodyRev reads the revision from the tail of a body row's key.
func bodyRev(tail string) document.Rev {
	if len(tail) < 4 {
		return document.Rev{}
	}
	gen := uint32(tail[0])<<24 | uint32(tail[1])<<16 | uint32(tail[2])<<8 | uint32(tail[3])
	return document.Rev{Gen: gen, Hash: tail[4:]}
}

// fetchDocs reads ahead what a page will read of documents: their heads and deletion
// markers, then bodies.
func (g *group) fetchDocs(ids []document.ID, of bodies) error {
	if g.careful {
		return nil
	}
	var keys [][]byte
	for _, id := range ids {
		if keys = append(keys, g.db.headKey(id)); g.db.settings.Load().markers {
			keys = append(keys, g.db.markerKey(id))
		}
	}
	if _, err := g.ahead.FetchForUpdate(keys); err != nil {
		return err
	}
	return g.fetchRevs(ids, of)
}

// fetchRevs reads bodies ahead.
func (g *group) fetchRevs(ids []document.ID, of bodies) error {
	var keys [][]byte
	for _, id := range ids {
		for _, rev := range of[id] {
			keys = append(keys, g.db.bodyKey(id, rev))
		}
	}
	return g.ahead.Fetch(keys)
}

// dropBodies removes the bodies of a document: of the leaves, and those that were found
// when somebody looked, up to what one commit has room for. The head, which all writers of
// bodies write, was read for update.
func (g *group) dropBodies(s *docState, found []document.Rev) error {
	revs := slices.Clip(found[:min(len(found), dropBodyRows)])
	for _, leaf := range s.tree.Leaves() {
		revs = append(revs, leaf.Rev)
	}
	for page := range slices.Chunk(revs, bodiesAtOnce) {
		if err := g.fetchRevs([]document.ID{s.id}, bodies{s.id: page}); err != nil {
			return err
		}
		for _, rev := range page {
			if err := g.dropBody(s.id, rev); err != nil {
				return err
			}
		}
	}
	return nil
}

// bodiesAtOnce is how many bodies are in memory while they are removed.
const bodiesAtOnce = 200

// removing is what a commit that removes documents has to know of ranges, as a snapshot had it
// before.
type removing struct {
	bodies   bodies
	removals map[document.Partition][][]byte // keys of the removals that are noted for tenants' indexes
}

// lookBefore looks up what the removal of documents will need.
func (d *Database) lookBefore(ctx context.Context, ids []document.ID) (found *removing, err error) {
	err = d.Whole().View(ctx, func(r *Reader) error {
		found, err = r.removing(ids)
		return err
	})
	return found, err
}

func (r *Reader) removing(ids []document.ID) (found *removing, err error) {
	found = &removing{}
	if found.bodies, err = r.db.bodiesOf(r.v, ids, dropBodyRows); err != nil {
		return nil, err
	}
	found.removals, err = r.removalKeys(ids)
	return found, err
}

// removalKeys returns the keys of the removals that are noted for those tenants of documents
// who have indexes.
func (r *Reader) removalKeys(ids []document.ID) (map[document.Partition][][]byte, error) {
	if !r.db.partitioned {
		return nil, nil
	}
	ps := map[document.Partition]bool{}
	for _, id := range ids {
		ps[id.Partition()] = true
	}
	delete(ps, "") // design documents of the database
	all := slices.Collect(maps.Keys(ps))
	keys := make([][]byte, len(all))
	for i, p := range all {
		keys[i] = r.db.partitionKey(p)
	}
	rows, err := r.v.GetMany(keys)
	if err != nil {
		return nil, err
	}
	found := map[document.Partition][][]byte{}
	for i, p := range all {
		if rows[i] == nil {
			continue
		}
		t, err := decodePartition(rows[i])
		if err != nil {
			return nil, err
		}
		if t.designs > 0 {
			if found[p], err = keysIn(r.v, kv.Prefix(r.db.Tenant(p).removalKey()), math.MaxInt); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// keysIn returns the keys of a range, up to most.
func keysIn(v kv.Snapshot, rg kv.Range, most int) (keys [][]byte, err error) {
	err = kv.Each(v, rg, func(key, _ []byte) error {
		if len(keys) == most {
			return errEnough
		}
		keys = append(keys, bytes.Clone(key))
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return keys, err
}
