package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/store"
)

// record is the value of an index row.
type record struct {
	Kind        string `json:"kind"`
	Signature   string `json:"signature"`
	Partitioned bool   `json:"partitioned,omitempty"`
	State       State  `json:"state"`
	Reason      string `json:"reason,omitempty"`
	Manual      bool   `json:"manual,omitempty"`
	Uses        uint64 `json:"uses"` // names that mean it, and names that meant it and still answer from it
	Collation   int    `json:"collation"`
	Source      []byte `json:"source"`
}

// use is a name in the value of an index-use row.
type use struct {
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Index    uint64 `json:"index"`
	Previous uint64 `json:"previous,omitempty"`
}

// Define is store.Indexer's.
func (x *Indexes) Define(tx kv.Txn, d *store.Database, id document.ID, body []byte) (bool, error) {
	ns, id := namespaceOf(d, id)
	c := change{x: x, tx: tx, ns: ns, records: map[uint64]*record{}}
	before, err := c.uses(id)
	if err != nil {
		return false, err
	}
	after, err := c.resolve(x.defined(ns, id, body), before)
	if err != nil {
		return false, err
	}
	if slices.Equal(before, after) {
		return false, nil
	}
	for _, u := range after {
		err = errors.Join(err, c.count(u, +1))
	}
	for _, u := range before {
		err = errors.Join(err, c.count(u, -1))
	}
	if err == nil {
		err = c.save(id, after)
	}
	return err == nil, err
}

// named is a definition with its kind.
type named struct {
	Definition
	kind Kind
}

// defined asks each kind what it finds in a design document.
func (x *Indexes) defined(ns store.Scope, id document.ID, body []byte) (all []named) {
	if body == nil {
		return nil
	}
	design := Design{ID: id, Body: body, Partitioned: ns.Partitioned() && PartitionedDesign(ns.Database(), body)}
	for _, k := range x.kinds {
		for _, def := range k.Defined(design) {
			all = append(all, named{def, k})
		}
	}
	return all
}

// PartitionedDesign reports whether the indexes of a design document are
// partitioned: what options.partitioned says, else as the database is.
func PartitionedDesign(d *store.Database, body []byte) bool {
	options, _ := jsonscan.Member(body, "options")
	if jsonscan.KindOf(options) == jsonscan.Object {
		switch v, _ := jsonscan.Member(options, "partitioned"); jsonscan.KindOf(v) {
		case jsonscan.True:
			return d.Partitioned()
		case jsonscan.False:
			return false
		}
	}
	return d.Partitioned()
}

// change is one design document's change under way.
type change struct {
	x       *Indexes
	tx      kv.Txn
	ns      store.Scope
	records map[uint64]*record
}

func (c *change) uses(id document.ID) (us []use, err error) {
	value, err := c.tx.GetForUpdate(useKey(c.ns, id))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	if err == nil {
		err = decode(value, &us)
	}
	return us, err
}

// resolve gives each definition its index, a new one if no equal one is there.
func (c *change) resolve(defs []named, before []use) (us []use, err error) {
	for _, def := range defs {
		u := use{Kind: def.kind.Name(), Name: def.Name}
		if u.Index, err = c.index(def); err != nil {
			return nil, err
		}
		if u.Previous, err = c.previous(u, before, def.kind); err != nil {
			return nil, err
		}
		us = append(us, u)
	}
	return us, nil
}

// index finds or makes the index of a definition.
func (c *change) index(def named) (uint64, error) {
	signature := def.signature(def.kind.Name())
	value, err := c.tx.GetForUpdate(signatureKey(c.ns, signature))
	if err == nil {
		return packed.ReadNumber(value)
	}
	if !errors.Is(err, kv.ErrNotFound) {
		return 0, err
	}
	n, err := c.nextNumber()
	if err != nil {
		return 0, err
	}
	c.records[n] = &record{Kind: def.kind.Name(), Signature: signature, Partitioned: def.Partitioned, State: Building,
		Manual: def.Manual, Collation: keyspace.CollationVersion, Source: def.Source}
	return n, c.begin(n, c.records[n])
}

// begin writes the rows of an index that is to be built, but its own, and puts the job
// that builds it into the queue.
func (c *change) begin(n uint64, r *record) error {
	if !r.Manual {
		if err := c.ns.Database().PutJob(c.tx, buildJob(c.ns, n)); err != nil {
			return err
		}
	}
	if err := putProgress(c.tx, c.ns.Database().Number(), n, &Progress{Phase: phaseDocuments, Started: c.x.clock().Unix()}); err != nil {
		return err
	}
	return c.tx.Put(signatureKey(c.ns, r.Signature), packed.Number(n))
}

// nextNumber numbers an index; numbers are never used again. The counter is the
// row of index 0.
func (c *change) nextNumber() (uint64, error) {
	key := indexKey(c.ns.Database().Whole(), 0)
	var n uint64
	value, err := c.tx.GetForUpdate(key)
	if err == nil {
		n, err = packed.ReadNumber(value)
	}
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return 0, err
	}
	n++
	return n, c.tx.Put(key, packed.Number(n))
}

// previous returns which index goes on answering for a name until the new one is
// built: what the name meant, or what answered for that.
func (c *change) previous(u use, before []use, k Kind) (uint64, error) {
	if _, follows := k.(Asynchronous); !follows {
		return 0, nil
	}
	for _, b := range before {
		if b.Kind != u.Kind || b.Name != u.Name {
			continue
		}
		if b.Index == u.Index {
			return b.Previous, nil
		}
		if r, err := c.record(u.Index); err != nil || r.State == Readable {
			return 0, err
		}
		r, err := c.record(b.Index)
		if err != nil || r.State == Readable {
			return b.Index, err
		}
		if b.Previous != u.Index {
			return b.Previous, nil
		}
	}
	return 0, nil
}

func (c *change) record(n uint64) (*record, error) {
	if r := c.records[n]; r != nil {
		return r, nil
	}
	r := &record{}
	value, err := c.tx.GetForUpdate(indexKey(c.ns, n))
	if err == nil {
		err = decode(value, r)
	}
	c.records[n] = r
	return r, err
}

// setState records how the build of an index ended. An index that became readable
// answers for its names from then on: what answered before is let go.
func (x *Indexes) setState(m store.LaneTxn, ns store.Scope, n uint64, s State, reason string) error {
	c := change{x: x, tx: m.Tx(), ns: ns, records: map[uint64]*record{}}
	r, err := c.record(n)
	if err != nil {
		return err
	}
	set, err := setOf(m, ns) // as it was before
	if err != nil {
		return err
	}
	r.State, r.Reason = s, reason
	if err := m.Redefine(ns); err != nil {
		return err
	}
	if err := x.saveState(m, ns, n, r); err != nil {
		return err
	}
	if s != Readable {
		return c.tx.Put(indexKey(ns, n), encode(r))
	}
	for _, id := range set.designs(func(of *Named) bool { return of.Index.Number == n }) {
		us, err := c.uses(id)
		if err != nil {
			return err
		}
		changed := false // else the names are as they were: of a design document with many, each build would write them all
		for i := range us {
			if u := &us[i]; u.Index == n && u.Previous != 0 {
				if err := c.count(use{Index: u.Previous}, -1); err != nil {
					return err
				}
				u.Previous, changed = 0, true
			}
		}
		if !changed {
			continue
		}
		if err := c.save(id, us); err != nil {
			return err
		}
	}
	return c.tx.Put(indexKey(ns, n), encode(r))
}

// saveState puts the job into the queue that an index has after its build: it follows what
// came in the meantime, or is tried again by the next server.
func (x *Indexes) saveState(m store.LaneTxn, ns store.Scope, n uint64, r *record) error {
	if r.State == Failed {
		j := jobOf(jobFailed, jobFailed, ns, n)
		j.Due = whenStarted
		return m.EnsureJob(j)
	}
	if _, asynchronous := x.kind(r.Kind).(Asynchronous); !asynchronous || r.Manual || ns.Tenant() != "" {
		return nil
	}
	return m.EnsureJob(ns.Database().Job(jobFollow, "", time.Time{}))
}

// setOf returns the indexes of a namespace as the commit has them by now.
func setOf(m store.LaneTxn, ns store.Scope) (*Set, error) {
	indexes, err := m.Indexes(ns)
	set, _ := indexes.(*Set)
	if set == nil {
		set = &Set{}
	}
	return set, err
}

// count changes how many names use the indexes of u.
func (c *change) count(u use, by int64) error {
	for _, n := range []uint64{u.Index, u.Previous} {
		if n == 0 {
			continue
		}
		r, err := c.record(n)
		if err != nil {
			return err
		}
		r.Uses += uint64(by)
	}
	return nil
}

// save writes the names of a design document and the indexes that changed; an
// index that no name means is gone.
func (c *change) save(id document.ID, us []use) error {
	key := useKey(c.ns, id)
	if len(us) == 0 {
		if err := c.tx.Delete(key); err != nil {
			return err
		}
	} else if err := c.tx.Put(key, encode(us)); err != nil {
		return err
	}
	for n, r := range c.records {
		if r.Uses == 0 {
			if err := c.drop(n, r); err != nil {
				return err
			}
		} else if err := c.tx.Put(indexKey(c.ns, n), encode(r)); err != nil {
			return err
		}
	}
	return nil
}

// drop forgets an index; its rows go in the background.
func (c *change) drop(n uint64, r *record) error {
	db := c.ns.Database().Number()
	for _, key := range [][]byte{indexKey(c.ns, n), progressKey(db, n), signatureKey(c.ns, r.Signature)} {
		if err := c.tx.Delete(key); err != nil {
			return err
		}
	}
	k := c.x.kind(r.Kind)
	if k == nil {
		return nil
	}
	for _, prefix := range k.Prefixes(db, n) {
		if err := c.ns.Database().DiscardLater(c.tx, prefix); err != nil {
			return err
		}
	}
	return nil
}

// rowVersion is the format of this package's rows: JSON after this byte.
const rowVersion = 1

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("index: a row can't be encoded: " + err.Error())
	}
	return append([]byte{rowVersion}, b...)
}

func decode(b []byte, v any) error {
	if !bytes.HasPrefix(b, []byte{rowVersion}) {
		return errors.New("index: a row of another version")
	}
	if err := json.Unmarshal(b[1:], v); err != nil {
		return fmt.Errorf("index: a row that can't be read: %w", err)
	}
	return nil
}
