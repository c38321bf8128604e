package store

import (
	"context"
	"errors"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// Scope is the part of a database that a request may see: all of it, one
// partition, or one partition as a database of its own, a tenant. All reads and writes of
// documents go through a scope.
//
// To a tenant its partition is an ordinary database: ids have no "p:" before them,
// and nobody who uses the scope can tell that there is more. Ids are changed at the
// boundary of the store, here and nowhere else: what a Scope or its Reader takes is
// made a stored id (Stored), and what it gives is made the tenant's (shown). Within
// the store, and in what it passes to admission, ids are the stored ones.
type Scope struct {
	db        *Database
	partition document.Partition // "" for the whole
	tenant    bool               // ids are those of the tenant
	opaque    *opaqueSeq         // of sequences; nil for whoever may see the database
	reader    string             // local documents are those of this reader; "" for the shared ones
	redactor  Redactor           // nil for whoever sees all of every document
}

// Whole is the scope of the entire database.
func (d *Database) Whole() Scope { return Scope{db: d} }

// Within is the scope of the partition p of a partitioned database.
func (d *Database) Within(p document.Partition) Scope { return Scope{db: d, partition: p} }

// Tenant is the partition p of a partitioned database as a database of its own.
func (d *Database) Tenant(p document.Partition) Scope { return d.Within(p).AsTenant() }

// AsTenant is the scope of a partition as a database of its own.
func (s Scope) AsTenant() Scope {
	s.tenant = true
	return s
}

// ReadBy is the scope of a partition for a restricted reader, of this name, who may write
// nothing in it but local documents. They are his own: he neither sees nor
// reaches those of others.
func (s Scope) ReadBy(name string) Scope {
	s.reader = name
	return s
}

// OwnLocals reports whether the local documents of the scope are one reader's own.
func (s Scope) OwnLocals() bool { return s.reader != "" }

// Database is the database the scope belongs to.
func (s Scope) Database() *Database { return s.db }

// Partition is the scope's partition, "" for the whole database and for what its
// tenant takes for one.
func (s Scope) Partition() document.Partition {
	if s.tenant {
		return ""
	}
	return s.partition
}

// Tenant is the partition that the scope shows as its tenant sees it; "" for other
// scopes.
func (s Scope) Tenant() document.Partition {
	if s.tenant {
		return s.partition
	}
	return ""
}

// Partitioned reports whether the ids of the scope name partitions.
func (s Scope) Partitioned() bool { return s.db.partitioned && !s.tenant }

// Namespace is the scope in which the design documents lie that apply here: the whole
// database, or what a tenant takes for one.
func (s Scope) Namespace() Scope {
	if s.tenant {
		return s
	}
	return s.DatabaseNamespace()
}

// DatabaseNamespace is the scope in which the database's own design documents lie, whose
// partitioned views and indexes a tenant can query too.
func (s Scope) DatabaseNamespace() Scope { return s.db.Whole().RedactedBy(s.redactor) }

// Key returns the key of a row of the scope's namespace, of a kind whose keys begin with
// the partition of the tenant, which is empty for the database; with fewer parts than
// declared, what the keys of some rows begin with.
func (s Scope) Key(k *keyspace.Space, parts ...keyspace.Part) []byte {
	return k.Key(s.db.number, append([]keyspace.Part{keyspace.T(string(s.Tenant()))}, parts...)...)
}

// Shown returns a stored id as the scope shows it; false for that of a document that
// does not lie in the scope.
func (s Scope) Shown(id document.ID) (document.ID, bool) {
	if !s.contains(id) {
		return "", false
	}
	return s.shown(id), true
}

// Name is the name of the database that clients see: that of a tenant has the
// path to the partition in it.
func (s Scope) Name() string {
	if s.tenant {
		return s.db.name + "/_owner/" + string(s.partition)
	}
	return s.db.name
}

// Designs reports whether id is that of a design document, which indexes do not
// hold.
func (s Scope) Designs(id document.ID) bool { return id.Designs(s.Partitioned()) }

// Stored returns the id under which a document of the scope is stored.
func (s Scope) Stored(id document.ID) document.ID {
	if s.tenant {
		return document.ID(s.partition) + ":" + id
	}
	return id
}

// shown returns a stored id as the scope shows it.
func (s Scope) shown(id document.ID) document.ID {
	if s.tenant {
		return id[len(s.partition)+1:]
	}
	return id
}

// Shows returns a revision that was read elsewhere, nil or of a document of the
// scope, as the scope shows it.
func (s Scope) Shows(r *Revision) *Revision {
	if r == nil || !s.tenant {
		return r
	}
	shown := *r
	shown.ID = s.shown(r.ID)
	return &shown
}

// CheckID refuses the id of a document of another partition with Forbidden, and
// does not tell whether there is such a document. Design documents are the
// database's, and can be read through a partition; who may write them is for
// admission to say. To a tenant there are no other partitions.
func (s Scope) CheckID(id document.ID) error {
	if p := id.Partition(); s.tenant || s.partition == "" || p == "" || p == s.partition {
		return nil
	}
	return dberr.New(dberr.Forbidden, "forbidden", "The document '%s' is not in this partition.", string(id))
}

// contains reports whether a document of this stored id lies in the scope.
func (s Scope) contains(id document.ID) bool {
	return s.partition == "" || id.Partition() == s.partition
}

// Totals are the numbers of a database or partition.
type Totals struct {
	Docs      uint64    // documents with a live winner; for a database design documents count too
	Deleted   uint64    // documents whose winner is a tombstone
	Active    uint64    // bytes of leaf bodies and attachments as stored; with File, no more than it
	External  uint64    // bytes of leaf bodies and attachments before encoding
	File      uint64    // bytes on disk, estimated; by Scope.Totals only
	Seq       Seq       // the last sequence
	PurgeSeq  uint64    // purges so far; databases only
	Writes    float64   // decaying rate of writes per hour; partitions only
	LastWrite time.Time // zero when never; partitions only
}

// Totals reads the numbers of the scope: exact, one row.
func (s Scope) Totals(ctx context.Context) (t Totals, err error) {
	err = s.View(ctx, func(r *Reader) error {
		t, err = r.Totals()
		return err
	})
	if m, ok := s.db.store.base.(kv.SizeReporter); ok && err == nil && s.partition == "" {
		t.File, err = m.DiskSize(kv.Prefix(keyspace.Database(s.db.number)))
	}
	t.settleSizes()
	return t, dberr.Wrap("store.Totals", err)
}

// What is on disk besides what the engine reports of its files.
const (
	// leastFile is what a database has in any case: its settings, heads and feed.
	leastFile = 4 << 10
	// maxLogged is how much may lie in the engine's log alone, in no file yet.
	maxLogged = 64 << 20
)

// settleSizes makes the sizes such that tools can compare them: the file is larger
// than what is live in it. What the engine's files do not have yet lies in its log, which is
// on disk, too; what is more than that must be compressed.
func (t *Totals) settleSizes() {
	files := t.File
	if files < t.Active {
		t.File = min(t.Active, files+maxLogged)
	}
	t.Active = min(t.Active, t.File)
	t.File += leastFile
}

// View runs fn over one snapshot of the scope. What waits for a
// client between its reads has a LongView.
// Errors: NotFound when the database has been dropped; ErrStale when claims in ctx do not
// hold; fn's own as they are. Where other processes write to the engine, fn may run again if
// it has read nothing yet.
func (s Scope) View(ctx context.Context, fn func(*Reader) error) error {
	if s.db.dropped.Load() {
		return errNoDatabase
	}
	if s.db.store.shared {
		return s.db.store.viewShared(ctx, []Scope{s}, func(rs []*Reader) error { return fn(rs[0]) })
	}
	before := s.db.settings.Load().hidden
	return s.db.store.engine.View(ctx, func(v kv.Snapshot) error {
		if s.db.store.distant {
			g := &guard{Snapshot: v}
			defer g.close()
			v = g
		}
		return fn(&Reader{Scope: s, v: v, before: before, hidden: s.db.settings.Load().hidden})
	})
}

// View runs fn over one snapshot of scopes, which may be of several databases: what a
// transaction wrote in them is seen whole. Readers are in the order of scopes; otherwise
// as Scope.View.
func (s *Store) View(ctx context.Context, scopes []Scope, fn func([]*Reader) error) error {
	readers := make([]*Reader, len(scopes))
	for i, scope := range scopes {
		if scope.db.dropped.Load() {
			return errNoDatabase
		}
		readers[i] = &Reader{Scope: scope, before: scope.db.settings.Load().hidden}
	}
	if s.shared {
		return s.viewShared(ctx, scopes, fn)
	}
	return s.engine.View(ctx, func(v kv.Snapshot) error {
		for _, r := range readers {
			r.v, r.hidden = v, r.db.settings.Load().hidden
		}
		return fn(readers)
	})
}

// Reader reads a scope at one snapshot; it lives as long as the View's closure.
type Reader struct {
	Scope
	v kv.Snapshot
	// What is hidden as known before the snapshot was taken and after: a
	// partition whose removal ended in between may still lie in it.
	before, hidden *hiding
	// known are the database's definitions as remembered, where the first read looks whether
	// they are those of the snapshot; nil elsewhere. They are gone by only after Remember.
	known    *definitions
	remember bool
	loaded   *lane
	begun    *begunChanges // nil unless BeginChanges was called
}

// Remember has the reader go by the remembered definitions of the database where these cost a
// read, which looks whether they are right: so that a plan can be made before anything is read. If they are wrong
// the first read fails, and the View runs its closure again, which begins anew then.
func (r *Reader) Remember() { r.remember = true }

// As reads another scope of the database at the same snapshot. It lives as long as
// the reader.
func (r *Reader) As(s Scope) *Reader {
	other := *r
	other.Scope, other.begun = s, nil
	return &other
}

// sees reports whether the reader may show the document of a stored id: it lies in
// the scope and its partition is not being dropped.
func (r *Reader) sees(id document.ID) bool {
	return r.contains(id) && r.state(id.Partition()) == partitionLive
}

// seesAll reports whether the reader may show whatever lies in the database.
func (r *Reader) seesAll() bool { return r.Scope == r.db.Whole() && !r.Hides() }

// state reports whether a partition is being dropped.
func (r *Reader) state(p document.Partition) byte {
	if r.hidden != nil && (*r.hidden)[p] != partitionLive {
		return (*r.hidden)[p]
	}
	if r.before != nil {
		return (*r.before)[p]
	}
	return partitionLive
}

// lane reads the lane head, once per reader.
func (r *Reader) lane() (*lane, error) {
	if r.loaded == nil {
		l, err := r.db.lanes.Get(r.v, func() (lane, error) {
			value, err := r.laneRow()
			return r.db.decodeLane(r.v, value, err)
		})
		if err != nil {
			return nil, err
		}
		r.loaded = &l
	}
	return r.loaded, nil
}

// Totals are the scope's numbers at this snapshot.
func (r *Reader) Totals() (Totals, error) {
	if r.partition != "" {
		return r.partitionTotals(r.partition)
	}
	l, err := r.lane()
	if err != nil {
		return Totals{}, err
	}
	return Totals{Docs: l.docs, Deleted: l.deleted, Active: l.active, External: l.external,
		Seq: l.seq, PurgeSeq: l.purgeSeq}, nil
}

func (r *Reader) partitionTotals(p document.Partition) (Totals, error) {
	state := r.state(p)
	if state == partitionDropping {
		return Totals{}, nil
	}
	t, err := r.partitionRow(p)
	if err != nil {
		return Totals{}, err
	}
	if state == partitionTombstones {
		return Totals{Seq: t.seq}, nil // its feed shows the tombstones
	}
	return t.totals(r.db.store.o.Clock()), nil
}

// LastSeq is the scope's newest sequence at this snapshot.
func (r *Reader) LastSeq() (Seq, error) {
	t, err := r.Totals()
	return t.Seq, err
}

// SeqUpTo is the last sequence of the scope's feed that is not above q.
func (r *Reader) SeqUpTo(q Seq) (Seq, error) {
	last, err := r.LastSeq()
	if err != nil || last <= q {
		return last, err
	}
	span := r.feedRange(0)
	span.End = r.feedRange(q).Start
	it, err := r.v.Iterate(span, kv.IterOptions{Reverse: true})
	if err != nil {
		return 0, err
	}
	defer it.Close()
	if !it.Next() {
		return 0, it.Err()
	}
	found, _, err := r.feedSeq(it.Key(), nil)
	return found, err
}

// decodePartitionRow decodes what a read of a partition row gave; an absent one is
// an empty partition.
func (d *Database) decodePartitionRow(value []byte, err error) (partition, error) {
	if errors.Is(err, kv.ErrNotFound) {
		return partition{}, nil
	}
	if err != nil {
		return partition{}, err
	}
	return decodePartition(value)
}

func (d *Database) partitionKey(p document.Partition) []byte {
	return keyspace.Partition.Key(d.number, keyspace.T(string(p)))
}
