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
	looked, err := d.lookForMarkers(ctx, p)
	if err != nil && !dberr.Is(err, dberr.NotFound) {
		return dberr.Wrap("store.DropPartition", err)
	}
	var refused error
	err = d.do(kv.Freeing(ctx), "store.DropPartition", func(g *group) error {
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
		if s.empty() && !g.touches(p) && (tombstones || !s.marked(&looked)) {
			refused = errEmptyPartition
			return nil
		}
		return g.dropPartition(p, s, tombstones)
	})
	if err == nil {
		err = refused
	}
	return err
}

var errEmptyPartition = dberr.New(dberr.NotFound, "not_found", "The partition holds no documents.")

// emptyPartition is a partition as a snapshot had it, in which it may have had no documents.
type emptyPartition struct {
	partition
	marked bool // it has deletion markers
}

// lookForMarkers looks whether a partition has deletion markers, if it has no documents.
func (d *Database) lookForMarkers(ctx context.Context, p document.Partition) (e emptyPartition, err error) {
	err = d.Whole().View(ctx, func(r *Reader) error {
		if e.partition, err = d.decodePartitionRow(r.v.Get(d.partitionKey(p))); err != nil || !e.empty() {
			return err
		}
		keys, err := keysIn(r.v, d.span(&keyspace.Marker, Span{}, string(p)), 1)
		e.marked = len(keys) > 0
		return err
	})
	return e, err
}

// marked reports whether a partition without documents may have deletion markers. Where one
// comes a document went, which its counters or its last sequence tell.
func (s *partitionState) marked(e *emptyPartition) bool {
	return e.marked || s.seq != e.seq || s.counts != e.counts || s.state != e.state
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
// nothing. Nobody writes to the partition meanwhile: what a snapshot shows, in which the
// job is as the commit finds it, is what there is, and nothing comes to it.
type dropping struct {
	d      *Database
	ids    []document.ID // the next documents; none: there are no more
	bodies bodies        // of these
	rest   [][]byte      // keys of what there is besides, once there are no documents
	more   bool          // and there is more of that
}

func (p *dropping) read(r *Reader, j *jobs.Job) (err error) {
	*p = dropping{d: p.d}
	if err := p.walk(r.v, j); err != nil || len(p.ids) > 0 || j.Kind != jobPartition {
		return err
	}
	p.rest, p.more, err = p.d.restOf(r.v, document.Partition(j.Subject))
	return err
}

// walk reads which documents are next, and which bodies they have: as many as one commit has
// room for, or one document that has more.
func (p *dropping) walk(v kv.Snapshot, j *jobs.Job) error {
	r := p.d.span(&keyspace.Doc, Span{}, j.Subject)
	if j.Checkpoint != "" {
		r.Start = kv.PrefixEnd(keyspace.Doc.Key(p.d.number, keyspace.T(j.Checkpoint)))
	}
	p.bodies = bodies{}
	room := dropBodyRows
	err := kv.Each(v, r, func(key, _ []byte) error {
		_, parts, err := keyspace.Doc.Decode(key)
		if err != nil {
			return err
		}
		id := document.ID(parts[0].String())
		if n := len(p.ids); n == 0 || p.ids[n-1] != id {
			if n == dropPage {
				return errEnough
			}
			p.ids = append(p.ids, id)
		}
		if parts[1].Num() != keyspace.SubBody {
			return nil
		}
		p.bodies[id] = append(p.bodies[id], bodyRev(parts[2].String()))
		if room--; room >= 0 {
			return nil
		}
		if n := len(p.ids); n > 1 {
			p.ids = p.ids[:n-1]
		}
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return err
}

func (p *dropping) size() int { return 512 * (1 + len(p.ids)) }

func (p *dropping) write(g *group, j *jobs.Job) (over bool, err error) {
	name := document.Partition(j.Subject)
	s, err := g.partition(name)
	if err != nil {
		return false, err
	}
	if len(p.ids) > 0 {
		return false, p.dropDocs(g, j)
	}
	for _, key := range p.rest {
		if err := g.tx.Delete(key); err != nil {
			return false, err
		}
	}
	if p.more {
		return false, nil
	}
	return true, g.endDrop(name, s, j.Kind)
}

// dropBodyRows is about how many bodies one commit of a removal handles.
const dropBodyRows = 1000

// dropDocs handles a page of documents, and moves the job's checkpoint.
func (p *dropping) dropDocs(g *group, j *jobs.Job) error {
	if err := g.fetchDocs(p.ids, p.bodies); err != nil {
		return err
	}
	for _, id := range p.ids {
		if j.Kind == jobPartition {
			left, err := g.thin(id, p.bodies[id], dropBodyRows)
			if err != nil || left {
				return err
			}
		}
		if err := g.dropDoc(id, p.bodies[id], j.Kind == jobTombstones); err != nil {
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
func (g *group) thin(id document.ID, found []document.Rev, room int) (left bool, err error) {
	if len(found) <= room {
		return false, nil
	}
	s, err := g.doc(id)
	for _, rev := range found {
		if err != nil {
			return false, err
		}
		if _, leaf, _ := s.tree.Node(rev); !leaf {
			left, err = true, g.dropBody(id, rev)
		}
	}
	return left, err
}

// dropDoc removes a document of a partition that is being dropped, or writes
// tombstones over it. The counters forgot the document when the drop began.
func (g *group) dropDoc(id document.ID, found []document.Rev, tombstones bool) error {
	s, err := g.doc(id)
	if err != nil || s.tree.Empty() || s.marker != nil { // an old tombstone was collected meanwhile
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
	if err := g.remove(s, found); err != nil {
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

// endDrop returns the partition free again, of which nothing is left.
func (g *group) endDrop(p document.Partition, s *partitionState, kind string) error {
	g.stale = true
	g.lane.version++
	if kind == jobTombstones {
		s.state, s.changed, s.rerank = partitionLive, true, true
		return nil
	}
	s.changed = false
	delete(g.partitions, p)
	return errors.Join(g.tx.Delete(g.db.partitionKey(p)), g.hurryPieces())
}

// restOf returns keys of what a partition has besides documents: deletion markers,
// the local documents of its endpoints, notes for its tenant's indexes, rows of followers;
// as many as one commit removes.
func (d *Database) restOf(v kv.Snapshot, p document.Partition) (keys [][]byte, more bool, err error) {
	ranges := []kv.Range{
		d.span(&keyspace.Marker, Span{}, string(p)),
		kv.Prefix(keyspace.Local.Key(d.number, d.Within(p).endpoint())),
		d.span(&keyspace.Local, Span{}, string(p)), // the tenant's, readers'
		kv.Prefix(d.Tenant(p).removalKey()),
	}
	for _, k := range keyspace.Spaces {
		if k.Follower {
			ranges = append(ranges, kv.Prefix(k.Key(d.number, keyspace.T(string(p)))))
		}
	}
	for _, r := range ranges {
		found, err := keysIn(v, r, dropBodyRows+1-len(keys))
		if err != nil {
			return nil, false, err
		}
		if keys = append(keys, found...); len(keys) > dropBodyRows {
			return keys[:dropBodyRows], true, nil
		}
	}
	return keys, false, nil
}
