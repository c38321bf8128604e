// Package index owns what all kinds of index have in common: which indexes a
// database has, from its design documents; their signatures, so that equal
// definitions are stored once; their states; building them while writers go on;
// following the feed; and cleaning up.
//
// An index IS its design document. However that came to be written, through the
// store's one entry point (Indexes.Define) it changes the rows that say which indexes
// there are, in the transaction of the write itself.
//
// A kind of index is a Kind, in a package of its own beneath this one. Transactional
// kinds (Mango's) are maintained in the transactions of the writers and never
// lag; asynchronous kinds (views) read the feed after them, and queries wait for
// what is left (Indexes.CatchUp). A kind may have work of its own besides, such as
// merging what it wrote (Maintained, maintain.go).
//
// States: an index is Building from the transaction that defines it. From then
// on writers keep it, if it is of a transactional kind, and a background task adds the
// documents that were there before, page by page in order of id. Then it is
// Readable. That work, and following the feed, are jobs of the store's queue (jobs.go). Each step is a transaction that moves the progress row from what
// the task expects, so a task that was stopped goes on where it was, and one
// that wakes up late does no harm.
//
// Begin reading at Kind, then registry.go (definitions), build.go (tasks) and
// follow.go. The package does not know what the rows of a kind look like.
package index

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync/atomic"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/store"
)

// Kind is one way of keeping an index: a transactional or an asynchronous one. A kind is
// stateless and may be used by many goroutines.
type Kind interface {
	// Name is the kind's word in stored rows, such as "field".
	Name() string
	// Defined finds the indexes of this kind in a design document. What is
	// broken defines nothing.
	Defined(d Design) []Definition
	// Open makes a stored definition usable: what Index.Opened will hold. With an
	// error the index has failed.
	Open(source []byte) (any, error)
	// Prefixes returns the prefixes of the keys of all rows of index number of
	// database db.
	Prefixes(db, number uint64) [][]byte
}

// Transactional is a kind whose rows are kept in the transactions of the writers.
type Transactional interface {
	Kind
	// Applier keeps all indexes of the kind that a database has.
	Applier(db uint64, indexes []*Index) Applier
	// Rows returns the function that returns a document's rows in one index.
	Rows(db uint64, x *Index) RowsOf
	// Document returns the document that a row is of.
	Document(key []byte) (document.ID, error)
}

// Applier keeps the rows of some indexes as store.IndexSet says. derived is what its
// Derive gave for after; nil if it was not asked.
type Applier interface {
	Apply(tx kv.Txn, before, after *store.Revision, derived any) error
	Slow() bool
	Derive(ctx context.Context, rev *store.Revision) (any, error)
}

// Asynchronous is a kind that follows the feed after the writers.
type Asynchronous interface {
	Kind
	// Map works out the new rows of changed documents, outside of any
	// transaction: the slow part. fresh says that the index holds nothing
	// yet of these documents, and that nodes over its rows are made at the
	// end, by Finish. A *Broken error makes the index Failed.
	Map(ctx context.Context, d *store.Database, x *Index, docs []Change, fresh bool) (Batch, error)
	// Finish makes what the first build left for its end. It is repeated
	// from its beginning when it was interrupted.
	Finish(ctx context.Context, d *store.Database, x *Index) error
}

// Designed is an asynchronous kind of which some indexes hold design documents too.
type Designed interface {
	Asynchronous
	Designs(x *Index) bool
}

// designs reports whether an index holds design documents too.
func (x *Index) designs() bool {
	k, ok := x.Kind.(Designed)
	return ok && k.Designs(x)
}

// Checked is a kind that can tell what is wrong with the rows of a readable index
// of its own, beyond what all kinds have in common.
type Checked interface {
	Kind
	Check(r *store.Reader, x *Index) ([]error, error)
}

// Batch is what an asynchronous kind will write about a range of changes.
type Batch interface {
	// Apply replaces the documents' rows. It may run several times.
	Apply(tx kv.Txn) error
	// Skipped is how many documents have no rows because a function threw
	// for them or went over a limit.
	Skipped() uint64
	// Stopped is for how many of these the function had to be stopped, which
	// took its whole allowance.
	Stopped() uint64
	// Size is how many rows are put, and how many bytes they have.
	Size() (rows, bytes int)
}

// Change is a document that changed: what its winner is now.
type Change struct {
	ID  document.ID
	Seq store.Seq
	Rev *store.Revision // nil when it is deleted or gone
	// Conflicts and DeletedConflicts are the other leaves.
	Conflicts, DeletedConflicts []document.Rev
}

// RowsOf appends the rows of a document. They hold nothing of rev, which may be
// borrowed. It is for one goroutine.
type RowsOf func(dst []Row, rev *store.Revision) ([]Row, error)

// Row is a row of an index.
type Row struct{ Key, Value []byte }

// Design is a design document as kinds read it.
type Design struct {
	ID          document.ID
	Body        []byte // compact JSON without members that begin with "_"
	Partitioned bool   // options.partitioned, or what the database's kind makes of it
}

// Definition is an index that a design document defines.
type Definition struct {
	Name        string // in the design document
	Partitioned bool
	// Source is what the index's rows depend on, in a canonical form: equal
	// bytes mean equal rows.
	Source []byte
	// Manual says that the index does not follow by itself (autoupdate false).
	Manual bool
}

// signature names a definition: equal ones are the same index.
func (d *Definition) signature(kind string) string {
	h := sha256.New()
	h.Write([]byte{1, flag(d.Partitioned), keyspace.CollationVersion})
	h.Write([]byte(kind))
	h.Write([]byte{0})
	h.Write(d.Source)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// State is how far an index is.
type State string

// The states of an index.
const (
	Building State = "building" // documents from before its definition are being added
	Readable State = "readable"
	Failed   State = "failed" // it can't be kept: see Broken
)

// Index is an index of a database, at one version of its definitions.
type Index struct {
	Number      uint64
	Kind        Kind
	Signature   string // 32 hexadecimal digits
	Partitioned bool
	Tenant      document.Partition // whose it is and whose documents it holds, under the tenant's ids; "" for a database's
	State       State
	Reason      string // why it failed
	Manual      bool
	Opened      any // what the kind's Open gave
	Source      []byte
	Memo        kv.Memo[any]  // for the kind: what it made of the index's rows
	Hint        atomic.Uint64 // for the kind: what it saw last, to guess by what to read
	progress    kv.Memo[Progress]
}

// Named is an index under the name that a design document gives it.
type Named struct {
	Design document.ID
	Name   string
	Kind   string
	Index  *Index
	// Previous is what the name meant before, as long as Index is being
	// built; nil for nothing.
	Previous *Index
}

// Set is the indexes of a database at one version of its definitions.
type Set struct {
	Indexes   []*Index
	Named     []Named // by design document and name
	following bool    // an index follows the feed
	appliers  []Applier
	byName    map[nameKey]*Named
}

type nameKey struct {
	design     document.ID
	kind, name string
}

// designs returns the design documents that have a name which is meant.
func (s *Set) designs(meant func(*Named) bool) (ids []document.ID) {
	for i := range s.Named {
		if n := &s.Named[i]; meant(n) && !slices.Contains(ids, n.Design) {
			ids = append(ids, n.Design)
		}
	}
	return ids
}

// Lookup finds an index by its design document, kind and name; nil if there is
// none.
func (s *Set) Lookup(design document.ID, kind, name string) *Named {
	if s == nil {
		return nil
	}
	return s.byName[nameKey{design, kind, name}]
}

// Apply is store.IndexSet's.
func (s *Set) Apply(tx kv.Txn, before, after *store.Revision) error {
	var derived []any
	if after != nil {
		derived, _ = after.Derived(s).([]any)
	}
	for i, k := range s.appliers {
		var of any
		if derived != nil {
			of = derived[i]
		}
		if err := k.Apply(tx, before, after, of); err != nil {
			return err
		}
	}
	return nil
}

// Slow is store.IndexSet's.
func (s *Set) Slow() bool { return slices.ContainsFunc(s.appliers, Applier.Slow) }

// Derive is store.IndexSet's: it returns what each applier does.
func (s *Set) Derive(ctx context.Context, rev *store.Revision) (any, error) {
	all := make([]any, len(s.appliers))
	for i, k := range s.appliers {
		var err error
		if all[i], err = k.Derive(ctx, rev); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Follows is store.IndexSet's: an index that is being built needs to hear of
// removals, and one that follows the feed.
func (s *Set) Follows() bool {
	for _, ix := range s.Indexes {
		if _, follows := ix.Kind.(Asynchronous); follows && ix.State != Failed || ix.State == Building {
			return true
		}
	}
	return false
}

// Following is store.IndexSet's.
func (s *Set) Following() store.Following {
	if s.following {
		return store.Following{Kind: jobFollow, After: gatherTime}
	}
	return store.Following{}
}

// Size is about how many bytes the definitions take in memory.
func (s *Set) Size() (n int) {
	for _, ix := range s.Indexes {
		n += 512 + 2*len(ix.Source) // as stored, and as opened
	}
	return n + 256*len(s.Named)
}

// Shared returns the database's partitioned indexes that a tenant can
// query, at a reader's snapshot: nil for a reader who is no tenant, and without those
// of design documents whose names the tenant's have.
func Shared(r *store.Reader) (named []Named, err error) {
	if r.Tenant() == "" {
		return nil, nil
	}
	s, err := Of(r.As(r.DatabaseNamespace()))
	if err != nil {
		return nil, err
	}
	own := map[document.ID]bool{}
	for _, n := range s.Named {
		if !n.Index.Partitioned {
			continue
		}
		hidden, known := own[n.Design]
		if !known {
			if hidden, err = defines(r, n.Design); err != nil {
				return nil, err
			}
			own[n.Design] = hidden
		}
		if !hidden {
			named = append(named, n)
		}
	}
	return named, nil
}

// lookupShared finds one of Shared; nil if there is none.
func lookupShared(r *store.Reader, design document.ID, kind, name string) (*Named, error) {
	if r.Tenant() == "" {
		return nil, nil
	}
	s, err := Of(r.As(r.DatabaseNamespace()))
	if err != nil {
		return nil, err
	}
	n := s.Lookup(design, kind, name)
	if n == nil || !n.Index.Partitioned {
		return nil, nil
	}
	hidden, err := defines(r, design)
	if hidden || err != nil {
		return nil, err
	}
	return n, nil
}

// defines reports whether the reader's scope has a design document of this id.
func defines(r *store.Reader, design document.ID) (bool, error) {
	d, err := r.Doc(design)
	if dberr.Is(err, dberr.NotFound) {
		return false, nil
	}
	return err == nil && !d.Tree.Winner().Deleted, err
}

// Of returns the indexes of a reader's namespace at its snapshot, those of the database
// or, where a tenant reads, the tenant's; never nil.
func Of(r *store.Reader) (*Set, error) {
	k, err := r.Indexes()
	if err != nil || k == nil {
		return &Set{}, err
	}
	return k.(*Set), nil
}
