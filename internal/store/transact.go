package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// ScopedEdits are the edits of a transaction in one scope.
type ScopedEdits struct {
	Scope Scope // of a database of this store
	Edits []document.Edit
}

// Transact stores all edits or none, in however many partitions and databases. No
// reader of a database sees a part of them there. An edit's condition is the
// revision that it names, or what its Decide makes of the document, which may be to keep it;
// all conditions are judged on one state of all databases. Each edit goes through
// admission as in Scope.Write. Results are in the order of the edits, one part after the other: if any edit is
// refused nothing is stored, the refused ones say why, and the others have no error
// and no revision. A document can be in it once. Errors, with nothing
// stored: Invalid for an id that no document can have and for a replicated edit, NotFound when a database was
// dropped, TooLarge for more than the engine takes at once, Unavailable as for Scope.Write.
func (s *Store) Transact(ctx context.Context, parts []ScopedEdits) ([]Result, error) {
	ws, err := newWrites(parts)
	if err != nil {
		return nil, err
	}
	return s.transact(ctx, ws, nil)
}

// newWrites begins the writes of a transaction.
func newWrites(parts []ScopedEdits) ([]*write, error) {
	ws := make([]*write, len(parts))
	for i, p := range parts {
		var err error
		if ws[i], err = p.Scope.newWrite(p.Edits); err != nil {
			return nil, err
		}
	}
	return ws, nil
}

// transact is Transact for writes that have begun; once is nil for a request without a
// name.
func (s *Store) transact(ctx context.Context, ws []*write, once *onceOnly) ([]Result, error) {
	t := transaction{store: s, writes: ws, once: once}
	for _, w := range ws {
		w.atomic = true
		for _, e := range w.edits {
			if e.Path != nil {
				return nil, dberr.New(dberr.Invalid, "bad_request", "`atomic` can't be used with `new_edits`: false.")
			}
		}
		if len(w.edits) > 0 {
			t.databases = append(t.databases, w.scope.db)
		}
	}
	if t.databases = inOrder(t.databases); len(t.databases) == 0 {
		return nil, nil
	}
	if err := s.carry(ctx, ws, t.commit); err != nil {
		return nil, err
	}
	if err := preconditionsOf(ctx).Confirm(ctx); err != nil { // no commit has: all was refused before
		return nil, err
	}
	var rs []Result
	for _, w := range ws {
		rs = append(rs, w.results()...)
	}
	return rs, nil
}

// inOrder returns databases in the order of their numbers, each once.
func inOrder(ds []*Database) []*Database {
	slices.SortFunc(ds, func(a, b *Database) int { return cmp.Compare(a.number, b.number) })
	return slices.CompactFunc(ds, func(a, b *Database) bool { return a.number == b.number })
}

// checkPartition refuses a batch of a partitioned database that is not in one
// partition.
func (w *write) checkPartition() error {
	for _, e := range w.edits {
		if p := e.ID.Partition(); w.scope.db.partitioned && e.Path == nil && (p == "" || p != w.edits[0].ID.Partition()) {
			return dberr.New(dberr.Invalid, "bad_request", "All documents of an atomic batch must be in one partition.")
		}
	}
	return nil
}

// transaction is a call of Transact on its way.
type transaction struct {
	store     *Store
	writes    []*write
	databases []*Database // in order of their numbers
	once      *onceOnly   // nil if it may be carried out each time
}

// commit submits the transaction as a whole.
func (t *transaction) commit(ctx context.Context) error {
	r := &request{fn: t.apply}
	for _, w := range t.writes {
		r.size += size(w.edits)
		r.edits = append(r.edits, editsOf{w.scope.db, w.edits})
	}
	if t.once != nil {
		r.reads = t.once.keys(t.store.o.Clock())
	}
	if err := t.store.giveWay(ctx, r.size, true); err != nil {
		return err
	}
	r, err := t.store.beginOver(ctx, t.databases, r, r.size <= smallBytes)
	if err == nil {
		err = r.wait()
	}
	return dberr.Wrap("store.Write", err)
}

// apply plans all edits before the first row is written; a refusal of one leaves the
// groups as they were. g is any group of the commit.
func (t *transaction) apply(g *group) error {
	for _, d := range t.databases {
		g := g.of(d)
		g.version, g.began, g.apart, g.designWentBack = g.lane.version, g.lane.serial, true, false
		defer func() { g.apart = false }()
	}
	if t.once != nil {
		if err := t.once.look(g.tx, g.now); err != nil || t.once.found {
			t.pass()
			return err
		}
	}
	plans, refused, err := t.plan(g)
	if err != nil {
		return err
	}
	if refused {
		t.refuse(plans)
		return nil
	}
	for _, p := range plans {
		if err := p.edit.put(p.group, p); err != nil {
			return err
		}
	}
	if t.once != nil {
		return t.once.note(g.tx, g.now)
	}
	return nil
}

// pass leaves all edits without an outcome: there is nothing to be done.
func (t *transaction) pass() {
	for _, w := range t.writes {
		for _, e := range w.edits {
			e.err, e.rev, e.seq = nil, document.Rev{}, 0
		}
	}
}

// plan plans the open edits, and reports whether any edit is refused. There is no plan
// of an edit that is.
func (t *transaction) plan(of *group) (plans []*plan, refused bool, err error) {
	seen := map[docKey]bool{}
	for _, w := range t.writes {
		g := of.of(w.scope.db)
		for _, e := range w.edits {
			key := docKey{g.db.number, e.ID}
			if e.open {
				p, err := e.plan(g)
				if err != nil {
					return nil, false, err
				}
				if p != nil {
					plans = append(plans, p)
				}
			}
			if seen[key] && e.err == nil {
				e.err = dberr.New(dberr.Conflict, "conflict", "The document is twice in the atomic batch.")
			}
			seen[key] = true
			refused = refused || e.err != nil
		}
	}
	return plans, refused, nil
}

// refuse takes back what planning left.
func (t *transaction) refuse(plans []*plan) {
	for _, w := range t.writes {
		for _, e := range w.edits {
			e.rev = document.Rev{}
		}
	}
	for _, p := range slices.Backward(plans) {
		if p.uncount != nil {
			p.uncount()
		}
	}
}
