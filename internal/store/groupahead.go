package store

import (
	"slices"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
)

// A commit knows its edits before it begins. So it asks for all that they will read in
// one call of the engine, for update: lane heads, documents, partitions, jobs. Which
// body is the winner's is known when the head is there, and takes a second call; where
// a call is a round trip the one that an edit names as its parent is asked for with the
// head. What was not foreseen is read when it is needed.

// fetch begins the groups' transaction: it reads ahead what is known to decide, and looks at the
// claims of the requests. ErrStale if those of none hold.
func (s *Store) fetch(tx kv.Txn, ds []*Database, batch []*request, now time.Time, careful bool) (*kv.AheadTxn, error) {
	ahead := kv.NewAheadTxn(tx)
	keys, claims := laneKeys(ds), claimsOfAll(batch)
	if !careful { // one edit's rows may be what makes another's fail
		for _, r := range batch {
			for _, p := range r.edits {
				keys = p.appendDeciding(keys, now)
			}
			keys = append(keys, r.reads...)
		}
	}
	values, err := ahead.FetchForUpdate(keys, claims.keys()...)
	if err == nil && claims.look(batch, values) {
		err = ErrStale
	}
	return ahead, err
}

// editsOf are edits of one database, as a rule in the order of their ids.
type editsOf struct {
	db    *Database
	edits []*pendingEdit
}

// appendDeciding appends the keys of what decides about edits, and of the jobs that
// they will make necessary.
func (p editsOf) appendDeciding(keys [][]byte, now time.Time) [][]byte {
	keys = slices.Grow(keys, 2*len(p.edits)+2)
	var last document.ID
	work := upkeepOf{}
	for _, e := range p.edits {
		if e.open {
			keys = p.db.appendHeads(keys, e, last)
			if p.db.store.distant {
				keys = p.db.appendLikely(keys, e)
			}
			work.add(e)
			last = e.ID
		}
	}
	for _, kind := range p.db.likelyJobs(work) {
		keys = append(keys, p.db.job(kind, "", now).ID.Key())
	}
	return keys
}

// appendHeads appends the keys of what decides about an edit: the document's head
// and deletion marker, its partition, and the blobs that were uploaded for it. last is
// the document of the edit before.
func (d *Database) appendHeads(keys [][]byte, e *pendingEdit, last document.ID) [][]byte {
	if p := e.ID.Partition(); p != last.Partition() && d.partitioned {
		keys = append(keys, d.partitionKey(p))
	}
	if e.ID != last {
		keys = append(keys, d.headKey(e.ID))
		if d.settings.Load().markers {
			keys = append(keys, d.markerKey(e.ID))
		}
	}
	for i := range e.Attachments {
		if b := e.Attachments[i].Blob; b != 0 {
			keys = append(keys, d.blobKey(b))
		}
	}
	return keys
}

// appendLikely appends the keys of stored bodies that fetchBodies will want if the
// document is as the edit's writer knows it.
func (d *Database) appendLikely(keys [][]byte, e *pendingEdit) [][]byte {
	likely := []document.Rev{e.Parent}
	if e.Path != nil {
		keys = append(keys, d.bodyKey(e.ID, e.Path[0]))
		likely = e.Path[1:min(2, len(e.Path))]
	}
	if len(e.Attachments) == 0 && !d.indexed(e.ID) {
		return keys
	}
	for _, rev := range likely {
		if !rev.IsZero() {
			keys = append(keys, d.bodyKey(e.ID, rev))
		}
	}
	return keys
}

// indexed reports whether a document has rows in indexes, as far as is remembered.
func (d *Database) indexed(id document.ID) bool {
	if id.Designs(d.partitioned) {
		return false
	}
	for _, ns := range d.namespaces(id.Partition()) {
		if f := ns.remembered(); f != nil && f.indexes != nil {
			return true
		}
	}
	return false
}

// upkeepOf says which kinds of change edits are.
type upkeepOf struct{ any, supersedes, deletes bool }

func (u *upkeepOf) add(e *pendingEdit) {
	u.any = true
	u.supersedes = u.supersedes || e.Path == nil && !e.Parent.IsZero()
	u.deletes = u.deletes || e.Deleted
}

// likelyJobs are the kinds of the jobs that a commit will make necessary, whose rows it
// reads for update.
func (d *Database) likelyJobs(u upkeepOf) (kinds []string) {
	if u.supersedes {
		kinds = append(kinds, jobSweep)
	}
	if u.deletes && d.tombstoneAge() > 0 {
		kinds = append(kinds, jobCollect)
	}
	set := d.settings.Load()
	for _, f := range set.followings() {
		if u.any {
			kinds = append(kinds, f.Kind)
		}
	}
	return kinds
}

// fetchBodies reads ahead the stored bodies that the planning of edits and the indexes
// will read.
func (g *group) fetchBodies(edits []*pendingEdit) error {
	if g.careful {
		return nil
	}
	var keys [][]byte
	var last document.ID
	for _, e := range edits {
		if !e.open {
			continue
		}
		var err error
		if keys, err = g.appendBodies(keys, e, last); err != nil {
			return err
		}
		last = e.ID
	}
	return g.ahead.Fetch(keys)
}

// appendBodies appends the keys of stored bodies: the winner's, which indexes and stubs
// of attachments refer to, and that of a revision that a replica brings.
func (g *group) appendBodies(keys [][]byte, e *pendingEdit, last document.ID) ([][]byte, error) {
	s, err := g.doc(e.ID)
	if err != nil || s.stored.tree.Empty() || s.before != nil {
		return keys, err
	}
	ks, err := g.indexesOf(e.ID.Partition())
	if err != nil {
		return keys, err
	}
	w := s.stored.tree.Winner()
	indexed := !ks.none() && !w.Deleted && !e.ID.Designs(g.db.partitioned)
	if e.ID != last && (indexed || len(e.Attachments) > 0) {
		keys = append(keys, g.db.bodyKey(e.ID, w.Rev))
	}
	if e.Path != nil && e.Path[0] != w.Rev {
		keys = append(keys, g.db.bodyKey(e.ID, e.Path[0]))
	}
	return keys, nil
}
