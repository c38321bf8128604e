package store

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jobs"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// DropPartition hides a partition at every endpoint at once and removes its rows
// in the background; with tombstones it writes a tombstone over each document
// instead, so that replicas delete too. Writes to it get Conflict until the
// work is done. NotFound when it holds nothing.
func (d *Database) DropPartition(ctx context.Context, p document.Partition, tombstones bool) error {
	var refused error
	err := d.do(kv.Freeing(ctx), "store.DropPartition", func(g *group) error {
		refused = nil
		s, err := g.partition(p)
		if err != nil {
			return err
		}
		switch {
		case s == nil:
			refused = errEmptyPartition
			return nil
		case s.state != partitionLive:
			return nil // under way already
		}
		if s.empty() && !g.touches(p) {
			marked, err := g.hasMarkers(p)
			if err != nil {
				return err
			}
			if tombstones || !marked {
				refused = errEmptyPartition
				return nil
			}
		}
		return g.dropPartition(p, s, tombstones)
	})
	if err == nil {
		err = refused
	}
	return err
}

var errEmptyPartition = dberr.New(dberr.NotFound, "not_found", "The partition holds no documents.")

// hasMarkers reports whether a partition has deletion markers. (It reads a range, but they
// change only where the lane head does.)
func (g *group) hasMarkers(p document.Partition) (any bool, err error) {
	it, err := g.tx.Iterate(g.db.span(&keyspace.Marker, Span{}, string(p)), kv.IterOptions{})
	if err != nil {
		return false, err
	}
	defer it.Close()
	any = it.Next()
	return any, it.Err()
}

// touches reports whether the group has changed documents of the partition, which
// its counters do not show yet.
func (g *group) touches(p document.Partition) bool {
	for _, s := range g.order {
		if s.id.Partition() == p {
			return true
		}
	}
	return false
}

// dropPartition changes the partition's state. Edits that came before in this
// group are finished first: afterwards its counters are at zero.
func (g *group) dropPartition(p document.Partition, s *partitionState, tombstones bool) error {
	for _, doc := range g.order {
		if doc.edits > 0 && doc.id.Partition() == p {
			if err := g.finishNow(doc); err != nil {
				return err
			}
		}
	}
	g.lane.add(s.counts, counts{})
	g.lane.version++
	s.counts, s.changed, s.rerank = counts{}, true, true
	s.state = partitionDropping
	kind := jobPartition
	if tombstones {
		s.state, kind = partitionTombstones, jobTombstones
	} else if err := errors.Join(g.stampDrop(p), g.loggedDrop(p)); err != nil {
		return err
	}
	g.stale = true
	return g.putJob(kind, string(p))
}

// hiding returns which partitions are being dropped, and how: their states. The
// tombstones of a drop are shown as they are written: a reader of the feed
// who went past them unseen would never come back for them.
type hiding map[document.Partition]byte

// loadHidden reads which partitions are being dropped; nil for none.
func (d *Database) loadHidden(v kv.Snapshot) (*hiding, error) {
	hidden := hiding{}
	for kind, state := range map[string]byte{jobPartition: partitionDropping, jobTombstones: partitionTombstones} {
		err := jobs.Each(v, kind, func(j jobs.Job) error {
			hidden[document.Partition(j.Subject)] = state
			return nil
		}, d.number)
		if err != nil {
			return nil, err
		}
	}
	if len(hidden) == 0 {
		return nil, nil
	}
	return &hidden, nil
}

// dropPage is how many documents one commit of a partition's removal handles.
const dropPage = 100

// dropping is a page of a partition's removal, or of its tombstones. The page, the
// place to go on from and the end are one transaction each, so a crash repeats
// nothing. No writer comes between, so the documents are looked up in the commit.
type dropping struct{}

func (dropping) read(*Reader, *jobs.Job) error { return nil }

func (dropping) size() int { return 512 * dropPage }

func (dropping) write(g *group, j *jobs.Job) (over bool, err error) {
	p := document.Partition(j.Subject)
	s, err := g.partition(p)
	if err != nil {
		return false, err
	}
	ids, err := g.nextDocs(p, j.Checkpoint)
	if err != nil {
		return false, err
	}
	if len(ids) == 0 {
		more, err := g.endDrop(p, s, j.Kind)
		return !more, err
	}
	return false, g.dropDocs(ids, j)
}

// dropBodyRows is about how many bodies one commit of a removal handles.
const dropBodyRows = 1000

// dropDocs handles a page of documents, or as many as have few enough bodies,
// and moves the job's checkpoint.
func (g *group) dropDocs(ids []document.ID, j *jobs.Job) error {
	room := dropBodyRows
	for _, id := range ids {
		if j.Kind == jobPartition {
			left, err := g.thin(id, &room)
			if err != nil || left {
				return err
			}
		}
		if err := g.dropDoc(id, j.Kind == jobTombstones); err != nil {
			return err
		}
		j.Checkpoint = string(id)
		j.Done++
	}
	return nil
}

// thin removes superseded bodies of a document that has more of them than there is
// room for in the commit; it reports whether it did. One that was edited without
// a pause may have hundreds of thousands.
func (g *group) thin(id document.ID, room *int) (left bool, err error) {
	revs, err := g.bodies(id, *room+1)
	if err != nil || len(revs) <= *room {
		*room -= len(revs)
		return false, err
	}
	s, err := g.doc(id)
	for _, rev := range revs {
		if err != nil {
			return false, err
		}
		if _, leaf, _ := s.tree.Node(rev); !leaf {
			left, err = true, g.dropBody(id, rev)
		}
	}
	*room = 0
	return left, err
}

// nextDocs returns the ids of the next page of the partition's documents.
func (g *group) nextDocs(p document.Partition, after string) (ids []document.ID, err error) {
	r := g.db.span(&keyspace.Doc, Span{}, string(p))
	if after != "" {
		r.Start = kv.PrefixEnd(keyspace.Doc.Key(g.db.number, keyspace.T(after)))
	}
	it, err := g.tx.Iterate(r, kv.IterOptions{})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for ok := it.Next(); ok && len(ids) < dropPage; {
		_, parts, err := keyspace.Doc.Decode(it.Key())
		if err != nil {
			return nil, err
		}
		id := document.ID(parts[0].String())
		ids = append(ids, id)
		ok = it.Seek(kv.PrefixEnd(keyspace.Doc.Key(g.db.number, keyspace.T(string(id)))))
	}
	return ids, it.Err()
}

// dropDoc removes a document of a partition that is being dropped, or writes
// tombstones over it. The counters forgot the document when the drop began.
func (g *group) dropDoc(id document.ID, tombstones bool) error {
	s, err := g.doc(id)
	if err != nil {
		return err
	}
	s.counted = counts{}
	if tombstones {
		// A leaf of the highest generation there is can have no tombstone over
		// it: then the document goes like one of a partition that is removed.
		if err := g.writeTombstones(s); err == nil || !refusal(err) {
			return err
		}
	}
	if err := g.remember(s); err != nil {
		return err
	}
	old := s.logged()
	if err := g.remove(s); err != nil {
		return err
	}
	if tombstones {
		s.was = &old
		if err := g.logged(s, logEntry{cause: ByPurge}); err != nil {
			return err
		}
	}
	return g.redefineBy(s)
}

// writeTombstones writes tombstones over a document's live leaves and counts it again.
func (g *group) writeTombstones(s *docState) error {
	for _, l := range s.tree.Leaves() {
		if l.Deleted {
			continue
		}
		if err := g.tombstone(s, l.Rev, ByDrop); err != nil {
			return err
		}
	}
	if s.edits > 0 {
		return nil // finish counts it
	}
	g.lane.add(counts{}, s.counts())
	if g.db.tombstoneAge() > 0 {
		g.needs(jobCollect, g.now)
	}
	p, err := g.partition(s.id.Partition())
	if err != nil {
		return err
	}
	p.changed = true
	p.add(counts{}, s.counts())
	s.counted = s.counts()
	return nil
}

// endDrop returns the partition free again, once all that is left of it besides
// documents is gone; it reports whether there is more of that.
func (g *group) endDrop(p document.Partition, s *partitionState, kind string) (more bool, err error) {
	if kind == jobPartition {
		if more, err = g.dropRest(p); more || err != nil {
			return more, err
		}
	}
	g.stale = true
	g.lane.version++
	if kind == jobTombstones {
		s.state, s.changed, s.rerank = partitionLive, true, true
		return false, nil
	}
	s.changed = false
	delete(g.partitions, p)
	return false, g.tx.Delete(g.db.partitionKey(p))
}

// dropRest removes a page of what a partition has besides documents: deletion markers,
// the local documents of its endpoints, notes for its tenant's indexes, rows of followers.
func (g *group) dropRest(p document.Partition) (more bool, err error) {
	room := dropBodyRows
	ranges := []kv.Range{
		g.db.span(&keyspace.Marker, Span{}, string(p)),
		kv.Prefix(keyspace.Local.Key(g.db.number, g.db.Within(p).endpoint())),
		g.db.span(&keyspace.Local, Span{}, string(p)), // the tenant's, readers'
		kv.Prefix(g.db.Tenant(p).removalKey()),
	}
	for _, k := range keyspace.Spaces {
		if k.Follower {
			ranges = append(ranges, kv.Prefix(k.Key(g.db.number, keyspace.T(string(p)))))
		}
	}
	for _, r := range ranges {
		if more, err = g.dropRange(r, &room); more || err != nil {
			return more, err
		}
	}
	return false, nil
}

// dropRange removes as many rows as there is room for; it reports whether it met any
// more of them.
func (g *group) dropRange(r kv.Range, room *int) (more bool, err error) {
	var keys [][]byte
	err = kv.Each(g.tx, r, func(key, _ []byte) error {
		if more = len(keys) == *room; more {
			return errEnough
		}
		keys = append(keys, append([]byte(nil), key...))
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	*room -= len(keys)
	for _, key := range keys {
		err = errors.Join(err, g.tx.Delete(key))
	}
	return more, err
}
