package store

import (
	"cmp"
	"context"
	"maps"
	"math"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
)

// DesignLimits bound the design documents of one partition. 0 is no limit.
type DesignLimits struct {
	Documents int // design documents
	Indexes   int // views and Mango indexes in all of them
}

// deletedDesigns is how many design documents a partition may have for each that
// is allowed, deleted ones among them: their ids are read whenever the partition's
// definitions are.
const deletedDesigns = 10

// designs are the design documents of a partition as a group leaves them. The
// partition's row, which every change of them writes, is read for update with
// them, so that nobody changes them at the same time.
type designs struct {
	version uint64              // of the tenant's definitions, when they were read
	indexes map[document.ID]int // of those that are not deleted, by stored id
	known   map[document.ID]bool
	read    *designs // as they were read; nil: this is that
}

// designs returns the design documents of a partition, as the group leaves them. They were
// read when the edit was admitted: if they have changed since it goes back.
func (g *group) designs(p document.Partition, e *pendingEdit) (*designs, error) {
	s, err := g.partition(p)
	if err != nil || s == nil || s.room != nil {
		return roomOf(s), err
	}
	if e.designs == nil || e.designs.version != e.tenant.at() {
		return nil, errMoved
	}
	s.room = e.designs.clone()
	return s.room, nil
}

func (d *designs) clone() *designs {
	return &designs{version: d.version, indexes: maps.Clone(d.indexes), known: maps.Clone(d.known)}
}

// designs reads the design documents of a partition.
func (r *Reader) designs(p document.Partition) (*designs, error) {
	t, err := r.db.decodePartitionRow(r.v.Get(r.db.partitionKey(p)))
	if err != nil {
		return nil, err
	}
	d := &designs{version: t.designs, indexes: map[document.ID]int{}, known: map[document.ID]bool{}}
	for e, err := range r.Docs(designsOf(p), true) {
		if err != nil {
			return nil, err
		}
		if d.known[e.Doc.ID] = true; e.Winner != nil {
			d.indexes[e.Doc.ID] = countIndexes(e.Winner.Body)
		}
	}
	return d, nil
}

// precheckDesigns refuses an edit of a tenant's design document that goes beyond the
// limits together with those before it in the request, as they are at a snapshot:
// before anything is compiled for what the commit would refuse. What the request
// deletes counts as gone, wherever in it that is.
func (w *write) precheckDesigns(ctx context.Context, e *pendingEdit) (err error) {
	db := w.scope.db
	p, _, ok := e.ID.TenantDesign()
	limits := db.store.o.DesignLimits()
	if !ok || !db.partitioned || limits == (DesignLimits{}) {
		return nil
	}
	d := w.designs[p]
	if d != nil {
		e.designs = d.read
	} else {
		err := db.Whole().View(ctx, func(r *Reader) error {
			d, err = r.designs(p)
			return err
		})
		if err != nil {
			return err
		}
		e.designs = d
		d = d.clone()
		d.read = e.designs
		for _, e := range w.edits {
			if e.Deleted && e.Path == nil {
				delete(d.indexes, e.ID)
			}
		}
		if w.designs == nil {
			w.designs = map[document.Partition]*designs{}
		}
		w.designs[p] = d
	}
	if err = d.check(e, limits); err == nil {
		d.count(e)
	}
	return err
}

func roomOf(s *partitionState) *designs {
	if s == nil {
		return nil
	}
	return s.room
}

// designsOf are the design documents of a partition.
func designsOf(p document.Partition) Span {
	prefix := string(p) + ":_design"
	return Span{From: prefix + "/", To: prefix + "0", Before: true}
}

// countIndexes counts the views and other indexes that a design document names.
func countIndexes(body []byte) (n int) {
	for _, kind := range []string{"views", "indexes", "nouveau", "st_indexes"} {
		members, _ := jsonscan.Member(body, kind)
		if jsonscan.KindOf(members) != jsonscan.Object {
			continue
		}
		m := jsonscan.MembersOf(members)
		for name, _, ok := m.Next(); ok; name, _, ok = m.Next() {
			if kind != "views" || !jsonscan.NameIs(name, "lib") {
				n++
			}
		}
	}
	return n
}

// checkDesigns refuses the edit of a partition's design document that goes beyond
// the limits. What only makes less of them is never refused.
func (g *group) checkDesigns(e *pendingEdit) error {
	p, _, ok := e.ID.TenantDesign()
	if limits := g.db.store.o.DesignLimits(); !ok || !g.db.partitioned || limits == (DesignLimits{}) {
		return nil
	}
	d, err := g.designs(p, e)
	if err != nil {
		return err
	}
	return d.check(e, g.db.store.o.DesignLimits())
}

func (d *designs) check(e *pendingEdit, limits DesignLimits) error {
	documents := cmp.Or(limits.Documents, math.MaxInt/deletedDesigns)
	if !d.known[e.ID] && len(d.known) >= documents*deletedDesigns {
		return dberr.New(dberr.Forbidden, "forbidden",
			"A partition can have %d design documents, deleted ones included: `[sectional] owner_max_design_docs` is %d.", documents*deletedDesigns, documents)
	}
	if e.Deleted {
		return nil
	}
	if _, live := d.indexes[e.ID]; !live && len(d.indexes) >= documents {
		return dberr.New(dberr.Forbidden, "forbidden",
			"A partition can have %d design documents: `[sectional] owner_max_design_docs`.", documents)
	}
	own := countIndexes(e.Body)
	all := own
	for id, n := range d.indexes {
		if id != e.ID {
			all += n
		}
	}
	if limits.Indexes > 0 && own > 0 && all > limits.Indexes {
		return dberr.New(dberr.Forbidden, "forbidden",
			"The design documents of a partition can have %d views and indexes in all: `[sectional] owner_max_indexes`.", limits.Indexes)
	}
	return nil
}

// countDesign counts a planned edit of a partition's design document. It returns the
// function that takes that back.
func (g *group) countDesign(e *pendingEdit) (undo func()) {
	p, _, ok := e.ID.TenantDesign()
	s := g.partitions[p]
	if !ok || s == nil || s.room == nil {
		return nil
	}
	return s.room.count(e)
}

// count counts an edit, and returns the function that takes that back.
func (d *designs) count(e *pendingEdit) (undo func()) {
	n, live := d.indexes[e.ID]
	known := d.known[e.ID]
	d.known[e.ID] = true
	switch now := countIndexes(e.Body); {
	case e.Deleted && e.Path == nil:
		delete(d.indexes, e.ID) // an older conflict may show again, and is counted in the next commit
	case !e.Deleted:
		d.indexes[e.ID] = now
		if e.Path != nil {
			d.indexes[e.ID] = max(n, now) // which of them wins is not known yet
		}
	}
	return func() {
		if d.indexes[e.ID] = n; !live {
			delete(d.indexes, e.ID)
		}
		if !known {
			delete(d.known, e.ID)
		}
	}
}
