package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// WriteOptions change Write.
type WriteOptions struct {
	// Atomic commits all edits or none; they must be of one partition, or of
	// an ordinary database.
	Atomic bool
	// Load writes in large commits, which cost less and keep other writers of
	// the database waiting longer: about a tenth of a second.
	Load bool
}

// Result is the outcome of one edit.
type Result struct {
	ID  document.ID
	Rev document.Rev // the new revision; for a replicated edit also when Err is set
	Seq Seq          // the document's place in the feed by that commit; 0 when Err is set
	Err error        // why this edit was refused; nil when it is on disk
}

// errMoved says that the document or the database's definitions changed after
// admission looked at them.
var errMoved = errors.New("store: the document or a definition changed since the edit was admitted")

// Write is the one entry point for documents. It checks every edit's id (one that no
// document can have fails the whole call with Invalid, and nothing is stored;
// one of another partition is refused by itself), has it admitted, and commits;
// results are in the order of edits. When it returns, what
// succeeded is on disk. A replicated edit to a partition that is being dropped
// fails the whole call with Unavailable, whatever else is stored by then: it can
// be done again later. Unavailable, with a time to wait and before anything is
// stored, also when too many writes wait. With Atomic, if any edit is refused, nothing is stored:
// the refused ones say why, the others have no error and no revision.
func (s Scope) Write(ctx context.Context, edits []document.Edit, o WriteOptions) ([]Result, error) {
	w, err := s.newWrite(edits)
	if err != nil {
		return nil, err
	}
	if o.Atomic {
		if err := w.checkPartition(); err != nil {
			return nil, err
		}
		return s.db.store.transact(ctx, []*write{w}, nil)
	}
	w.max = s.db.commitBytes(o)
	if err := s.db.store.carry(ctx, []*write{w}, w.commit); err != nil {
		return nil, err
	}
	if err := preconditionsOf(ctx).Confirm(ctx); err != nil { // no commit has: all was refused before
		return nil, err
	}
	for _, e := range w.edits {
		if e.Path != nil && errors.Is(e.err, errDropping) {
			return nil, errDroppingNow
		}
	}
	return w.results(), nil
}

// newWrite begins a write of edits, whose ids are those of the scope.
func (s Scope) newWrite(edits []document.Edit) (*write, error) {
	if s.tenant {
		var err error
		if edits, err = s.storedEdits(edits); err != nil {
			return nil, err
		}
	}
	w := &write{scope: s, edits: make([]*pendingEdit, len(edits))}
	for i := range edits {
		if err := s.db.checkID(edits[i].ID); err != nil {
			return nil, err
		}
		w.edits[i] = &pendingEdit{Edit: edits[i], original: &edits[i], shown: s.shown(edits[i].ID)}
	}
	return w, nil
}

// carry has writes admitted and committed, until nothing of them moved in between.
func (s *Store) carry(ctx context.Context, ws []*write, commit func(context.Context) error) error {
	held, turns := holding{store: s}, turnsTaken{store: s}
	defer held.end()
	defer turns.end()
	for again := true; again; {
		if err := turns.take(ctx, ws); err != nil {
			return err
		}
		if err := held.hold(ws); err != nil {
			return err
		}
		if again, err := admitAll(ctx, ws); err != nil {
			return err
		} else if again {
			continue
		}
		if err := held.hold(ws); err != nil { // conditional edits have bodies now
			return err
		}
		if err := commit(ctx); err != nil {
			return err
		}
		again = false
		for _, w := range ws {
			again = w.moved() || again
		}
	}
	return nil
}

// admitAll has writes admitted; again if one has to take a turn before.
func admitAll(ctx context.Context, ws []*write) (again bool, err error) {
	for _, w := range ws {
		if err := w.admit(ctx); errors.Is(err, errLarge) {
			return true, nil
		} else if err != nil {
			return false, err
		}
	}
	return false, nil
}

// storedEdits returns a tenant's edits the ids under which they are stored.
func (s Scope) storedEdits(edits []document.Edit) ([]document.Edit, error) {
	edits = slices.Clone(edits)
	for i := range edits {
		if edits[i].ID.IsLocal() { // no document that has the partition before it is one
			return nil, s.db.checkID(edits[i].ID)
		}
		edits[i].ID = s.Stored(edits[i].ID)
	}
	return edits, nil
}

// checkID checks what the database's kind asks of an id.
func (d *Database) checkID(id document.ID) error {
	if id.IsLocal() {
		return dberr.New(dberr.Invalid, "illegal_docid", "Only reserved document ids may start with underscore.")
	}
	if len(d.headKey(id))+besideID > d.store.longestID() {
		return errLongID
	}
	if !d.partitioned {
		return nil
	}
	return id.CheckPartitioned()
}

// besideID is more than the keys of a document's rows have beside its id, above what its
// head's has. Rows of indexes hold values besides, and are refused by themselves.
const besideID = 64

var errLongID = dberr.New(dberr.Invalid, "illegal_docid", "Document id is too long")

// write is a call of Write, or what a transaction does in one scope, on its way.
type write struct {
	scope  Scope
	atomic bool // it is part of a transaction
	began  bool // some of it was queued: it can't be refused as a whole any more
	max    int  // bytes that one commit is to take
	edits  []*pendingEdit
	// designs are those of tenants as the request leaves them, for precheckDesigns.
	designs map[document.Partition]*designs
}

// pendingEdit is an edit with what was prepared for it and its outcome.
type pendingEdit struct {
	document.Edit
	original   *document.Edit
	shown      document.ID // as the scope shows it, for texts
	prepared   prepared
	decision        // of a conditional edit
	assumedNew bool // without looking at the document
	bound      bool // and its writer alone decides it
	large      bool // it decides on a large document, when it has its turn
	admitted   bool
	open       bool         // admitted, prepared and not yet settled by a commit
	pinned     *Seq         // the document's sequence when admission read it
	readmitted bool         // it was admitted before, and something moved
	version    uint64       // of the definitions that it was admitted under
	tenant     *definitions // those of its tenant; nil for none
	designs    *designs     // of its tenant's partition, if it is a design document of that
	// validated says that the validation functions were asked.
	validated bool
	derived   []Derivation // of the edit's own revision
	wants     document.Rev // a stored revision that a commit found to be the winner; zero for none
	other     *Revision    // that revision, with what was derived of it
	tries     int          // how often the edit went back for that
	rev       document.Rev
	seq       Seq
	err       error
}

// admit asks admission about every edit that has not been admitted yet and
// prepares it; refusals are kept as the edits' outcomes. Validation functions
// are asked last, about all edits at once.
func (w *write) admit(ctx context.Context) error {
	definitions := w.scope.db.settings.Load()
	w.designs = nil
	for _, e := range w.edits {
		if e.admitted {
			continue
		}
		e.Edit, e.decision, e.pinned, e.err = *e.original, decision{}, nil, nil
		e.admitted, e.open, e.validated, e.version = true, false, false, definitions.version
		if err := w.admitEdit(ctx, e, definitions); err != nil && !refusal(err) && !errors.Is(err, e.refused) {
			return err
		} else if e.err = err; err != nil {
			continue
		}
		e.open = true
		if !e.changes() {
			continue
		}
		if err := w.scope.prepare(ctx, e); dberr.Is(err, dberr.TooLarge) {
			e.open, e.err = false, err
		} else if err != nil {
			return err
		}
		if err := w.scope.derive(ctx, e, definitions.indexes); err != nil {
			return err
		}
	}
	if err := w.count(ctx); err != nil {
		return err
	}
	return w.validate(ctx, &definitions.definitions)
}

// admitEdit has an edit decided, if it is a conditional one, and asks admission about
// it. In an atomic batch the commit says what it decided.
func (w *write) admitEdit(ctx context.Context, e *pendingEdit, by *settings) error {
	if err := w.scope.CheckID(e.ID); err != nil {
		return err
	}
	if err := w.underTenant(ctx, e); err != nil {
		return err
	}
	if e.Decide != nil {
		if err := w.decideFirst(ctx, e, by); err != nil {
			return err
		}
		if e.refused != nil && !w.atomic {
			return e.refused
		}
	}
	a := w.scope.db.store.o.Admission
	if e.bound && !e.changes() {
		return nil
	}
	if a == nil {
		return w.precheckDesigns(ctx, e)
	}
	err := a.Admit(ctx, w.scope.db, &e.Edit, func() (*Revision, error) {
		old, _, err := w.scope.db.pin(ctx, e, nil)
		return old, err
	})
	if err == nil {
		err = w.precheckDesigns(ctx, e)
	}
	if c, ok := a.(Compilation); ok && err == nil {
		err = c.Compile(ctx, w.scope.db, &e.Edit)
	}
	return err
}

// refusal tells an error that says no to one edit from a fault of the store.
func refusal(err error) bool {
	switch dberr.KindOf(err) {
	case dberr.Internal, dberr.Unavailable, dberr.SnapshotTooOld, dberr.UnknownOutcome:
		return false
	}
	return true
}

// commit submits the open edits in runs, of which small requests of others need not
// wait for all. When one fails, others may
// be stored, and the caller, who gets the error, must take the outcome as unknown.
func (w *write) commit(ctx context.Context) error {
	store := w.scope.db.store
	var runs []writeRun
	var err error
	small := size(w.edits) <= smallBytes
	for rest := byID(w.edits); len(rest) > 0 && err == nil; {
		n, bytes := 0, 0
		for n < len(rest) && (n == 0 || bytes+rest[n].size() <= w.max) {
			bytes += rest[n].size()
			n++
		}
		part := rest[:n]
		rest = rest[n:]
		if err = store.giveWay(ctx, bytes, !w.began); err != nil {
			break
		}
		w.began = true
		var r *request
		if r, err = w.scope.db.begin(ctx, &request{fn: func(g *group) error { return apply(g, part) }, edits: []editsOf{{w.scope.db, part}}, size: bytes}, small); err == nil {
			runs = append(runs, writeRun{r, part})
		}
	}
	for _, r := range runs {
		err = cmp.Or(w.scope.db.resolveRun(r), err)
	}
	return dberr.Wrap("store.Write", err)
}

// loadBytes is how much a commit of a load takes: enough for an engine to write
// tables instead of a log (pebblekv.Engine does from half of it on), while what
// is held in memory for it, a few times as much, stays small.
const loadBytes = 8 << 20

// commitBytes is how many bytes of edits go into one commit.
func (d *Database) commitBytes(o WriteOptions) int {
	if !o.Load {
		return interleavedBytes
	}
	return max(groupBytes, min(loadBytes, d.store.engine.Limits().Txn/4))
}

// byID puts edits in the order of their ids, as CouchDB applies a request's
// documents; those of one document stay as they came.
func byID(edits []*pendingEdit) []*pendingEdit {
	order := func(a, b *pendingEdit) int { return strings.Compare(string(a.ID), string(b.ID)) }
	if slices.IsSortedFunc(edits, order) {
		return edits
	}
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, order)
	return edits
}

// apply runs edits in a group, which has fetched their rows.
func apply(g *group, edits []*pendingEdit) error {
	g.version, g.began, g.designWentBack = g.lane.version, g.lane.serial, false
	for _, e := range edits {
		if !e.open {
			continue
		}
		p, err := e.plan(g)
		if err == nil && e.err == nil {
			err = e.put(g, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// plan plans the edit in a group. A refusal becomes the edit's outcome; the
// error is a fault of the storage.
func (e *pendingEdit) plan(g *group) (*plan, error) {
	e.err, e.rev, e.seq = nil, document.Rev{}, 0 // what an earlier run of the closure left
	var p *plan
	plan := func() (err error) {
		p, err = g.plan(e)
		return err
	}
	var err error
	if g.careful {
		if err = g.db.store.guard("store.plan", plan); dberr.Panicked(err) {
			e.err, err = err, nil
		}
	} else {
		err = plan()
	}
	if p != nil {
		e.rev = p.rev
	}
	if err != nil && (refusal(err) || errors.Is(err, errMoved) || errors.Is(err, e.refused)) {
		e.err, err = err, nil
	}
	return p, err
}

// put carries out the edit's plan and notes where the document is then.
func (e *pendingEdit) put(g *group, p *plan) error {
	err := g.put(p)
	if e.seq = p.doc.head.seq; p.doc.edits > 0 {
		e.seq = p.doc.seq
	}
	return err
}

// moved reports whether edits have to be admitted again, and reopens those. What
// is settled stays so, except in an atomic batch, which runs as a whole.
func (w *write) moved() bool {
	again := false
	for _, e := range w.edits {
		if errors.Is(e.err, errMoved) {
			e.admitted, e.readmitted, again = false, true, true
		} else if !w.atomic {
			e.open = false
		}
	}
	return again
}

// size is about how many bytes edits will write.
func size(edits []*pendingEdit) (n int) {
	for _, e := range edits {
		n += e.size()
	}
	return n
}
