package store

import (
	"context"
	"errors"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
)

// Indexer owns the indexes that design documents define. The store tells it,
// inside the transactions of the writers, what changes; it declares this
// interface because indexes lie above it.
type Indexer interface {
	// Define is called in the transaction that changes a design document.
	// body is what the document's winner now holds, nil when there is none
	// or it is deleted. It brings the rows that say which indexes there are
	// up to date, and reports whether any of them changed.
	Define(tx kv.Txn, d *Database, id document.ID, body []byte) (changed bool, err error)
	// Load reads which indexes a namespace has at v; nil for none. A tenant's know
	// the documents by the tenant's ids.
	Load(v kv.Snapshot, ns Scope) (IndexSet, error)
	// Renew makes the indexes of a namespace that follow the feed begin anew, in the
	// transaction of a removal that leaves no trace there and is one too many to
	// be noted (Reader.Removals). indexes are those that it has.
	Renew(tx kv.Txn, ns Scope, indexes IndexSet) error
	// Defined is called when a commit that changed what is defined in a namespace is
	// durable. It must not block.
	Defined(ns Scope)
	// Check holds the rows of d's indexes against its documents and returns
	// what is wrong.
	Check(r *Reader) ([]error, error)
}

// IndexSet is the set of indexes of a database at one version of its
// definitions. It is not changed once Load has given it.
type IndexSet interface {
	// Apply brings the rows of those indexes that are kept in the writers'
	// transactions from a document's winner before to its winner after; nil
	// is no document or a deleted one. Design documents are not told. It runs
	// while all writers of the database wait: what takes long was derived
	// beforehand (Revision.Derived of after).
	Apply(tx kv.Txn, before, after *Revision) error
	// Slow reports whether there is something for Derive to do.
	Slow() bool
	// Derive works out of a revision, which may not be stored yet and whose
	// number may turn out another, what takes long, in the writer's own time.
	Derive(ctx context.Context, rev *Revision) (any, error)
	// Follows reports whether an index needs to hear of removals that leave no
	// trace in the feed (Reader.Removals).
	Follows() bool
	// Following says which job a change of documents makes necessary.
	Following() Following
}

// Number is the database's number, the first part of its keys.
func (d *Database) Number() uint64 { return d.number }

// Limits are those of the engine that the database lies in: keys and values of indexes
// keep to them.
func (d *Database) Limits() kv.Limits { return d.store.limits }

// Limits are those of the store's engine.
func (s *Store) Limits() kv.Limits { return s.limits }

// Attached is what the Indexer keeps with the open database, made when it is asked for
// first: it goes when the database is closed.
func (d *Database) Attached(make func() any) any {
	d.attached.Do(func() { d.attached.value = make() })
	return d.attached.value
}

// Dropped reports whether the database is gone.
func (d *Database) Dropped() bool { return d.dropped.Load() }

// Indexes returns the indexes as this process knows them, nil for none. A reader
// that begins later finds what they say, or newer (see Reader.Indexes).
func (d *Database) Indexes() IndexSet { return d.settings.Load().indexes }

// Snapshot is the reader's snapshot, for readers of index rows. What they find
// there they may show only if Sees says so.
func (r *Reader) Snapshot() kv.Snapshot { return r.v }

// Sees reports whether the reader may show a document: it lies in the scope and
// its partition is not being dropped.
func (r *Reader) Sees(id document.ID) bool {
	if r.tenant {
		return r.state(r.partition) == partitionLive
	}
	return r.sees(id)
}

// Hides reports whether there are documents that the reader may not show though they
// lie in its snapshot: those of partitions that are being dropped.
func (r *Reader) Hides() bool {
	return r.hidden != nil && len(*r.hidden) > 0 || r.before != nil && len(*r.before) > 0
}

// Indexes returns the indexes of the reader's namespace at this snapshot, nil for none.
func (r *Reader) Indexes() (IndexSet, error) {
	f, err := r.definitions()
	if err != nil || f == nil {
		return nil, err
	}
	return f.indexes, nil
}

// Sequences is a position in the history of a database: the last sequence, and the
// last removal without a trace in the feed (Reader.Removals).
type Sequences struct {
	Seq      Seq
	Removals uint64 `json:"Gone"` // the name is in stored rows
}

// Hold reports whether what has come as far as s has come as far as t.
func (s Sequences) Hold(t Sequences) bool { return s.Seq >= t.Seq && s.Removals >= t.Removals }

// Sequences is how far the database was when the reader began.
func (r *Reader) Sequences() (Sequences, error) {
	l, err := r.lane()
	if err != nil {
		return Sequences{}, err
	}
	return Sequences{Seq: l.seq, Removals: l.serial}, nil
}

// Measure estimates what the rows whose keys begin with prefix take on disk; 0
// where the engine can't tell.
//
// An engine counts its files. Rows that came a moment ago lie in its log alone, as
// they are: where the files have less of them than compression explains, they are
// counted themselves, up to maxCounted bytes.
func (d *Database) Measure(ctx context.Context, prefix []byte) (uint64, error) {
	m, ok := d.store.base.(kv.SizeReporter)
	if !ok {
		return 0, nil
	}
	rg := kv.Prefix(prefix)
	files, err := m.DiskSize(rg)
	for _, r := range cutRanges(rg) {
		n, sizeErr := m.DiskSize(r)
		files, err = files+n, errors.Join(err, sizeErr)
	}
	if err != nil || files*wellCompressed >= maxCounted {
		return files, err
	}
	rows := uint64(0)
	err = d.store.engine.View(ctx, func(v kv.Snapshot) error {
		rows, err = bytesOf(v, prefix, maxCounted)
		return err
	})
	if rows <= files*wellCompressed {
		rows = 0
	}
	return files + rows, err
}

const (
	maxCounted     = 4 << 20
	wellCompressed = 8 // times smaller: rows of indexes compress hardly better
)

// bytesOf returns the size of the rows whose keys begin with prefix, or somewhat
// more than most if there are more.
func bytesOf(v kv.Snapshot, prefix []byte, most uint64) (n uint64, err error) {
	it, err := v.Iterate(kv.Prefix(prefix), kv.IterOptions{})
	if err != nil {
		return 0, err
	}
	defer it.Close()
	for n < most && it.Next() {
		value, err := it.Borrow()
		if err != nil {
			return 0, err
		}
		n += uint64(len(it.Key()) + len(value))
	}
	return n, it.Err()
}

// CompactRows makes the engine give back the space of rows that were overwritten or
// removed, among those whose keys begin with prefix, if it can.
func (d *Database) CompactRows(ctx context.Context, prefix []byte) error {
	c, ok := d.store.base.(kv.Compacter)
	if !ok || d.dropped.Load() {
		return nil
	}
	rg := kv.Prefix(prefix)
	for _, r := range append(cutRanges(rg), rg) {
		if err := c.Compact(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// Commit runs fn in a transaction of its own, beside the writers: what it reads
// for update and writes must be rows that writers do not write.
func (d *Database) Commit(ctx context.Context, fn func(kv.Txn) error) error {
	if d.dropped.Load() {
		return errNoDatabase
	}
	return d.store.commit(ctx, fn)
}

// LaneTxn is a transaction in line with the database's writers: none of
// them writes between what it reads and its commit.
type LaneTxn struct{ g *group }

// UpdateLane runs fn in the database's next commit, and returns when that is
// durable. fn writes about size bytes and may run several times; its error
// fails the writers that share the commit, so it is for faults of the storage.
func (d *Database) UpdateLane(ctx context.Context, size int, fn func(LaneTxn) error) error {
	return d.submit(ctx, "store.UpdateLane", size, func(g *group) error { return fn(LaneTxn{g}) })
}

// Tx is the transaction.
func (m LaneTxn) Tx() kv.Txn { return m.g.tx }

// Indexes returns the indexes of a namespace as the commit has them by now, nil for none.
func (m LaneTxn) Indexes(ns Scope) (IndexSet, error) {
	g := m.g
	if g.redefined[ns.Tenant()] {
		return g.indexesHere(ns)
	}
	if ns.Tenant() == "" {
		return g.indexes("", g.lane.version)
	}
	s, err := g.partition(ns.Tenant())
	if err != nil || s == nil || s.designs == 0 {
		return nil, err
	}
	return g.indexes(ns.Tenant(), s.designs)
}

// Redefine says that the rows of a namespace's definitions changed: from this commit on
// writers keep what they say now.
func (m LaneTxn) Redefine(ns Scope) error { return m.g.redefine(ns) }

// RedefineIndexes tells the indexer what a design document, by its stored id, defines now, as when it
// is written. One that changes in this commit is left to that.
func (m LaneTxn) RedefineIndexes(id document.ID) error {
	p, err := m.g.partition(id.Partition())
	if err != nil || p != nil && p.state == partitionDropping {
		return err
	}
	s, err := m.g.doc(id)
	if err != nil || s.edits > 0 {
		return err
	}
	w, err := m.g.winner(id, &s.tree)
	if err != nil || w == nil {
		return err
	}
	changed, err := m.g.db.store.o.Indexer.Define(m.g.tx, m.g.db, id, w.Body)
	if err != nil || !changed {
		return err
	}
	return m.g.redefineBy(s)
}

// DiscardLater removes all rows whose keys begin with prefix, after no
// transaction and no snapshot can reach them any more. The caller has fenced
// them off in the same transaction: nobody will write there again.
func (d *Database) DiscardLater(tx kv.Txn, prefix []byte) error {
	return d.store.jobs.Put(tx, d.job(jobDiscard, string(prefix), d.store.unreachable(d.store.o.Clock())))
}

// winner reads the winner of a tree, nil if it is deleted or there is none.
func (g *group) winner(id document.ID, t *document.Tree) (*Revision, error) {
	if t.Empty() {
		return nil, nil
	}
	w := t.Winner()
	if w.Deleted {
		return nil, nil
	}
	b, err := g.db.readBody(g.tx, id, w.Rev)
	if err != nil {
		return nil, dberr.Wrap("store.winner", err)
	}
	return &Revision{ID: id, Rev: w.Rev, Body: b.body, Attachments: b.attachments}, nil
}

// remember reads a document's winner as stored, for the indexes, before an
// edit removes its body.
func (g *group) remember(s *docState) error {
	ks, err := g.indexesOf(s.id.Partition())
	if err != nil || ks.none() || s.before != nil || s.stored.tree.Empty() || s.id.Designs(g.db.partitioned) {
		return err
	}
	s.before, err = g.winner(s.id, &s.stored.tree)
	return err
}

// keep brings the indexes' rows of a changed document up to date.
func (g *group) keep(s *docState) error {
	ks, err := g.indexesOf(s.id.Partition())
	if err != nil || ks.none() || s.id.Designs(g.db.partitioned) {
		return err
	}
	if s.before == nil && sameWinner(&s.stored.tree, &s.tree) {
		return nil // if it was read, it was purged, and may be back with another body
	}
	if err := g.remember(s); err != nil {
		return err
	}
	after := s.latest
	if after == nil || s.tree.Empty() || s.tree.Winner().Rev != after.Rev {
		var err error
		if after, err = g.winner(s.id, &s.tree); err != nil {
			return err
		}
		if after != nil && s.other != nil && s.other.Rev == after.Rev {
			after.Derivations = s.other.Derivations
		}
	} else if s.tree.Winner().Deleted {
		after = nil
	}
	if s.before == nil && after == nil {
		return nil
	}
	for i, ns := range g.db.namespaces(s.id.Partition()) {
		if ks[i] == nil {
			continue
		}
		if err := ks[i].Apply(g.tx, ns.Shows(s.before), ns.Shows(after)); err != nil {
			return err
		}
	}
	return nil
}

func sameWinner(a, b *document.Tree) bool {
	if a.Empty() || b.Empty() {
		return a.Empty() && b.Empty()
	}
	return a.Winner().Rev == b.Winner().Rev
}

// redesign tells the indexer about the design documents that the group changed,
// before the documents: an index that comes into being in this commit has this
// commit's documents.
func (g *group) redesign() error {
	ix := g.db.store.o.Indexer
	if ix == nil {
		return nil
	}
	for _, s := range g.order {
		if s.edits == 0 || !s.id.Designs(g.db.partitioned) || sameWinner(&s.stored.tree, &s.tree) {
			continue
		}
		w, err := g.winner(s.id, &s.tree)
		if err != nil {
			return err
		}
		var body []byte
		if w != nil {
			body = w.Body
		}
		if _, err := ix.Define(g.tx, g.db, s.id, body); err != nil {
			return err
		}
	}
	for p := range g.redefined {
		delete(g.indexSets, p)
	}
	return nil
}
