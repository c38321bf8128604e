package store

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// group is one run of a commit: what its requests have read and changed so
// far. Documents, partitions and the lane head are read for update when first
// touched and written once, by finish: a document edited many times in one
// group moves once in the feed.
type group struct {
	db    *Database
	all   []*group // of the commit, this one among them
	tx    kv.Txn
	ahead *kv.AheadTxn // tx is this
	now   time.Time
	lane  lane
	since uint64 // the lane's serial before
	known *preloaded

	docs           map[document.ID]*docState
	order          []*docState // changed documents by last change
	partitions     map[document.Partition]*partitionState
	superseded     []supersededRev
	indexSets      map[document.Partition]IndexSet // of namespaces, as read (indexes)
	redefined      map[document.Partition]bool     // the namespaces whose definitions changed
	apart          bool                            // edits are planned on copies: it is not sure yet that they will be carried out
	logs           bool                            // there is a change log
	cause          Cause                           // of the changes at hand, for it
	careful        bool                            // a panic in the planning of an edit is that edit's outcome
	version        uint64                          // of the definitions when the request at hand began
	began          uint64                          // the serial when it did
	designWentBack bool                            // a tenant's design document of that request did, to its writer
	work           map[string]time.Time            // jobs that have something to do, and from when on
	woken          map[string]bool                 // the pools of jobs that changed
	stale          bool                            // settings, hidden partitions or indexes changed
	defined        *settings                       // what they are now, if stale
	deciding       deciding
	removals       map[document.Partition][][]byte // keys of the removals that are noted for tenants' indexes, as far as they are known
}

// docState is a document in a group: as stored, and as the edits so far left it.
type docState struct {
	id      document.ID
	stored  head
	counted counts // as stored
	head
	own    bool           // tree belongs to the group alone: it is changed in place
	copied *document.Tree // equal to tree until an edit is carried out; nil before the first
	// unstemmed says that edits left ancestors in the tree that are to be forgotten.
	unstemmed bool
	edits     uint64    // how many edits changed it
	swept     uint64    // edits if all of them are tombstones over what has expired
	seq       Seq       // given at the last of them
	was       *winner   // the winner at the last entry of the change log; nil: as stored
	before    *Revision // the live winner as stored, if it was read for the indexes
	latest    *Revision // a revision as the group stored it, the last one; nil for none
	other     *Revision // the winner where that is not the latest, with what was derived of it; nil for none
	marker    *marker   // the document is not there, and tree is that of its deletion marker
	leaves    *marker   // what it leaves behind when it is removed
}

// partitionState is a partition in a group.
type partitionState struct {
	partition
	changed bool
	before  uint64   // designs before the request at hand, if that changed it
	grown   int64    // bytes that the group's edits added so far, if sizes are limited
	rerank  bool     // its counters changed without a trace in the feed
	room    *designs // its tenant's design documents, if they were counted
}

type supersededRev struct {
	id  document.ID
	rev document.Rev
}

// newGroups begins a commit's groups for a batch of requests, one for each database, in
// this order.
func (s *Store) newGroups(tx kv.Txn, ds []*Database, batch []*request, careful bool, known *preloaded) ([]*group, error) {
	now := s.o.Clock()
	ahead, err := s.fetch(tx, ds, batch, now, careful)
	if err != nil {
		return nil, err
	}
	gs := make([]*group, len(ds))
	for i, d := range ds {
		g, err := d.newGroup(ahead, now, known)
		if err != nil {
			return nil, err
		}
		g.all, g.careful, gs[i] = gs, careful, g
	}
	for _, r := range batch {
		for _, p := range r.edits {
			if err := gs[0].of(p.db).fetchBodies(p.edits); err != nil {
				return nil, err
			}
		}
	}
	return gs, nil
}

func (d *Database) newGroup(tx *kv.AheadTxn, now time.Time, known *preloaded) (*group, error) {
	g := &group{db: d, tx: tx, ahead: tx, now: now, known: known,
		docs: map[document.ID]*docState{}, partitions: map[document.Partition]*partitionState{}, redefined: map[document.Partition]bool{}}
	head, err := tx.GetForUpdate(laneKey(d.number))
	g.lane, err = d.decodeLane(tx, head, err)
	g.since = g.lane.serial
	g.lane.serial++
	if err == nil && g.lane.version != d.settings.Load().version {
		err = g.catchUp()
	}
	set := d.settings.Load()
	g.indexSets, g.logs = map[document.Partition]IndexSet{"": set.indexes}, set.log.Text != ""
	return g, err
}

// catchUp has what is remembered of the database brought to the version in the lane head.
func (g *group) catchUp() error {
	if err := g.known.creates(g.db, ""); err != nil {
		return err
	}
	f, err := g.loadHere()
	if err == nil {
		g.db.define(f)
	}
	return err
}

// loadHere reads what is remembered of the database as the commit has it by now, though
// others wait for that.
func (g *group) loadHere() (*settings, error) { return g.db.load(g.tx, g.lane.version) }

// doc reads a document for update.
func (g *group) doc(id document.ID) (*docState, error) {
	if s := g.docs[id]; s != nil {
		return s, nil
	}
	s := &docState{id: id}
	value, err := g.tx.GetForUpdate(g.db.headKey(id))
	switch {
	case errors.Is(err, kv.ErrNotFound):
		if s.marker, err = g.marker(id); err != nil {
			return nil, err
		}
		if s.marker != nil {
			s.tree = s.marker.tree()
		}
	case err != nil:
		return nil, err
	default:
		if s.stored, err = g.db.decodeHeadRow(g.tx, id, value); err != nil {
			return nil, err
		}
		s.stored.tree.Ready()
		s.counted = s.stored.counts()
		s.head = s.stored
	}
	g.docs[id] = s
	return s, nil
}

// partition reads a partition for update. Ordinary databases and design
// documents have none: it returns nil for "".
func (g *group) partition(p document.Partition) (*partitionState, error) {
	if p == "" || !g.db.partitioned {
		return nil, nil
	}
	if s := g.partitions[p]; s != nil {
		return s, nil
	}
	t, err := g.db.decodePartitionRow(g.tx.GetForUpdate(g.db.partitionKey(p)))
	if err != nil {
		return nil, err
	}
	s := &partitionState{partition: t}
	g.partitions[p] = s
	return s, nil
}

// moved notes that a document's tree changed: it gets the next sequence, unless
// nothing is left of it.
func (g *group) moved(s *docState) {
	if !s.tree.Empty() {
		g.lane.seq++
	}
	s.edits++
	s.seq = g.lane.seq
	g.order = append(g.order, s)
}

// finish writes what the group changed: heads, feed entries, partitions, the
// superseded revisions and the lane head.
func (g *group) finish() error {
	if err := g.redesign(); err != nil {
		return err
	}
	for _, s := range g.order {
		if s.edits == 0 {
			continue // met before, at an earlier edit
		}
		if err := g.finishDoc(s); err != nil {
			return err
		}
		s.edits = 0
	}
	for p, s := range g.partitions {
		if err := g.finishPartition(p, s); err != nil {
			return err
		}
	}
	if len(g.order) > 0 {
		g.needFollowers()
	}
	if err := errors.Join(g.putSuperseded(), g.putWork()); err != nil {
		return err
	}
	if g.stale {
		// Read here and not after the commit, where a failure could not be
		// told to anybody: what is durable must be answered as such.
		var err error
		if g.defined, err = g.loadHere(); err != nil {
			return err
		}
	}
	return g.tx.Put(laneKey(g.db.number), g.lane.encode())
}

// finishNow finishes a changed document before the end of the group: whoever
// comes after it in the group reads it again.
func (g *group) finishNow(s *docState) error {
	if err := g.finishDoc(s); err != nil {
		return err
	}
	s.edits = 0
	delete(g.docs, s.id)
	return nil
}

func (g *group) finishPartition(p document.Partition, s *partitionState) error {
	if !s.changed {
		return nil
	}
	if err := g.tx.Put(g.db.partitionKey(p), s.encode()); err != nil || !s.rerank {
		return err
	}
	return g.rerank(p)
}

// finishDoc writes a changed document's head and moves its feed entries, or
// removes them when nothing is left of it.
func (g *group) finishDoc(s *docState) error {
	p, err := g.partition(s.id.Partition())
	if err != nil {
		return err
	}
	if old := s.stored.seq; old != 0 {
		if err := g.unfeed(s.id, old, p != nil); err != nil {
			return err
		}
	}
	if err := g.putChunks(s); err != nil {
		return err
	}
	if err := g.keep(s); err != nil {
		return err
	}
	if err := g.queue(s, p); err != nil {
		return err
	}
	after := s.counts()
	g.lane.add(s.counted, after)
	if after.deleted > 0 && g.db.tombstoneAge() > 0 {
		g.needs(jobCollect, g.now)
	}
	if p != nil {
		p.changed = true
		p.seq = max(p.seq, s.seq)
		if s.leaves == nil {
			p.wrote(g.now, float64(s.edits))
		}
		p.add(s.counted, after)
	}
	if s.tree.Empty() {
		if p != nil {
			p.rerank = true
		}
		if err := errors.Join(g.noteRemoval(s.id), g.putMarker(s)); err != nil {
			return err
		}
		return errors.Join(g.putPieces(s, nil), g.tx.Delete(g.db.headKey(s.id)))
	}
	s.head.seq = s.seq
	entry := encodeFeed(s.id, &s.head)
	if err := g.tx.Put(g.db.feedKey(s.seq), entry); err != nil {
		return err
	}
	if p != nil {
		if err := g.tx.Put(g.db.partitionFeedKey(s.id.Partition(), s.seq), entry); err != nil {
			return err
		}
	}
	return g.putHead(s)
}

// putHead writes a document's head, and the pieces of a large tree.
func (g *group) putHead(s *docState) error {
	value, pieces := s.head.encode()
	if err := g.putPieces(s, pieces); err != nil {
		return err
	}
	return g.tx.Put(g.db.headKey(s.id), value)
}

// putPieces writes those pieces of a document's tree that are others than stored,
// and removes those that it has no more.
func (g *group) putPieces(s *docState, pieces [][]byte) error {
	old := s.stored.pieces
	s.stored.pieces = pieces
	for n := range max(len(old), len(pieces)) {
		var err error
		switch {
		case n >= len(pieces):
			err = g.tx.Delete(g.db.pieceKey(s.id, n))
		case n >= len(old) || !bytes.Equal(old[n], pieces[n]):
			err = g.tx.Put(g.db.pieceKey(s.id, n), pieces[n])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unfeed takes a document's entry out of the feeds. An entry's key is written
// once and removed once, ever.
func (g *group) unfeed(id document.ID, q Seq, partitioned bool) error {
	if err := g.tx.DeleteOnce(g.db.feedKey(q)); err != nil || !partitioned {
		return err
	}
	return g.tx.DeleteOnce(g.db.partitionFeedKey(id.Partition(), q))
}

// putSuperseded notes which bodies became unnecessary, for the sweeper.
func (g *group) putSuperseded() error {
	for revs := range slices.Chunk(g.superseded, supersededPage) {
		p := packed.Writer{}
		p.Byte(rowVersion)
		p.Uint(uint64(len(revs)))
		for _, b := range revs {
			p.Text(string(b.id))
			writeRev(&p, b.rev)
		}
		key := keyspace.Superseded.Key(g.db.number, keyspace.U(uint64(g.now.UnixMilli())), keyspace.U(g.lane.serial))
		if err := g.tx.Put(key, p); err != nil {
			return err
		}
		g.lane.serial++ // each row has a number of its own
		g.needs(jobSweep, g.now.Add(g.db.store.o.KeepSuperseded))
	}
	return nil
}

// supersededPage is how many revisions one row of them names: with ids of 1 KB it
// stays under every engine's limit.
const supersededPage = 100

// published makes the committed group's effects known in this process: new
// settings, hidden partitions, waiting feeds.
func (g *group) published() {
	d := g.db
	if g.stale {
		d.define(g.defined)
		d.watch.wakeDefinitions()
	}
	for p := range g.redefined {
		if ix := d.store.o.Indexer; ix != nil {
			ix.Defined(d.Namespace(p))
		}
	}
	for pool := range g.woken {
		d.store.wakeJobs(pool)
	}
	if len(g.order) > 0 {
		d.watch.wake(g.partitions, g.order)
		d.store.updates.touched(d.name)
	}
	d.store.broadcast(g)
}
