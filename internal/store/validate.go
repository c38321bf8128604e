package store

import (
	"bytes"
	"context"
	"slices"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/kv"
)

// Validation is a power that an Admission may have: it runs the validation
// functions of design documents.
//
// Design documents are part of a database's definitions. An edit is
// bound to the version of the definitions that it was admitted under, and a
// commit that finds another one has it admitted again: no edit goes by a
// function whose design document has a sequence before it. Only the documents
// of one request are all judged by the functions as they were before it.
type Validation interface {
	// Validate asks every design document of by about every proposal, and
	// returns an error for each proposal that is refused. The other error fails
	// the whole write: it could not be asked.
	Validate(ctx context.Context, d *Database, by []*Revision, proposals []Proposal) ([]error, error)
}

// Schema is a power that an Admission may have: to hold documents against design documents
// that say of what form those of a database are. Unlike a validation function it looks at
// nothing but the document, so an edit that conforms to it by how it was made need not be
// bound to what was admitted (document.Edit.Conforms).
type Schema interface {
	// Describes reports whether a design document says of what form documents are.
	Describes(design *Revision) bool
	// Conform returns an error for each proposal that is not of the form that a design
	// document says.
	Conform(design *Revision, proposals []Proposal) []error
}

// Compilation is a power that an Admission may have: it compiles the functions of
// design documents, which takes long, once it is known that the limits leave room.
type Compilation interface {
	// Compile refuses an edit, admitted already, with functions that do not compile.
	Compile(ctx context.Context, d *Database, e *document.Edit) error
}

// Counting is a power that an Admission may have: it bounds how much somebody has in databases of a kind. It counts what is
// stored at a snapshot, and the edits of a request before it; requests of one who is counted take turns at a server.
type Counting interface {
	// Counted names whose edits of a database are counted; "" where nobody's are.
	Counted(ctx context.Context, d *Database) string
	// Count returns an error for each edit, admitted already, that is one too many. The other error fails the whole
	// write.
	Count(ctx context.Context, d *Database, edits []*document.Edit) ([]error, error)
}

// count has the open edits counted, if the caller's are.
func (w *write) count(ctx context.Context) error {
	c, ok := w.scope.db.store.o.Admission.(Counting)
	if !ok || c.Counted(ctx, w.scope.db) == "" {
		return nil
	}
	var asked []*pendingEdit
	var edits []*document.Edit
	for _, e := range w.edits {
		if e.open && e.changes() {
			asked, edits = append(asked, e), append(edits, &e.Edit)
		}
	}
	refused, err := c.Count(ctx, w.scope.db, edits)
	for i := range refused {
		if refused[i] != nil {
			asked[i].open, asked[i].err = false, refused[i]
		}
	}
	return err
}

// Proposal is an edit as validation functions see it.
type Proposal struct {
	// New is what is to be written. Its Rev is the revision that an ordinary
	// edit goes over, zero for none, and that of a replicated edit itself.
	New     Revision
	NewPath []document.Rev // New.Rev and its ancestors as far as the edit names them
	// Old is the revision that is replaced: nil for a new document, for one
	// that is written anew after its deletion, and where its body is not
	// stored. Of a replicated edit it is the nearest ancestor that is.
	Old     *Revision
	OldPath []document.Rev
}

// validator is the member that makes a design document validate.
const validator = "validate_doc_update"

func validates(r *Revision) bool {
	if r == nil {
		return false
	}
	_, ok := jsonscan.Member(r.Body, validator)
	return ok
}

// allDesigns are the design documents of a database.
var allDesigns = Span{From: "_design/", To: "_design0", Before: true}

// loadValidators reads those of a namespace's design documents that validate, in order of
// id, which is the stored one, and of a database's those that say of what form documents
// are.
func (s Scope) loadValidators(v kv.Snapshot) (list, schemas []*Revision, err error) {
	schema, _ := s.db.store.o.Admission.(Schema)
	designs := allDesigns
	if p := s.Tenant(); p != "" {
		designs = designsOf(p)
	}
	r := Reader{Scope: s.db.Whole(), v: v}
	for e, err := range r.Docs(designs, true) {
		if err != nil {
			return nil, nil, err
		}
		w := e.Winner
		if w == nil {
			continue
		}
		validates, describes := validates(w), schema != nil && s.Tenant() == "" && schema.Describes(w)
		if validates || describes {
			w.Body = bytes.Clone(w.Body) // the engine's bytes end with the snapshot
		}
		if validates {
			list = append(list, w)
		}
		if describes {
			schemas = append(schemas, w)
		}
	}
	return list, schemas, nil
}

// validate asks the validation functions about the edits that are open and
// not validated yet: the database's, and those of their tenants. Schemas go before them.
func (w *write) validate(ctx context.Context, of *definitions) error {
	if err := w.conform(ctx, of.schemas); err != nil {
		return err
	}
	by := of.validators
	v, ok := w.scope.db.store.o.Admission.(Validation)
	if !ok {
		return nil
	}
	var tenants map[document.Partition][]*Revision
	for _, e := range w.edits {
		if e.tenant != nil && len(e.tenant.validators) > 0 {
			if tenants == nil {
				tenants = map[document.Partition][]*Revision{}
			}
			tenants[e.ID.Partition()] = e.tenant.validators
		}
	}
	if len(by) > 0 {
		if err := w.validateBy(ctx, w.asking(ctx, v, by), "", false); err != nil {
			return err
		}
	}
	for p, by := range tenants {
		if err := w.validateBy(ctx, w.asking(ctx, v, by), p, false); err != nil {
			return err
		}
	}
	for _, e := range w.edits {
		e.validated = true
	}
	return nil
}

// conform holds the edits against the database's schemas.
func (w *write) conform(ctx context.Context, schemas []*Revision) error {
	for _, design := range schemas {
		ask := func(proposals []Proposal) ([]error, error) {
			return w.scope.db.store.o.Admission.(Schema).Conform(design, proposals), nil
		}
		if err := w.validateBy(ctx, ask, "", true); err != nil {
			return err
		}
	}
	return nil
}

// asking returns the function that asks validation functions.
func (w *write) asking(ctx context.Context, v Validation, by []*Revision) func([]Proposal) ([]error, error) {
	return func(proposals []Proposal) ([]error, error) { return v.Validate(ctx, w.scope.db, by, proposals) }
}

// validateBy asks about the edits: on behalf of a tenant about those of its
// partition p, of the database, where p is "", about all, or those that do not conform by
// how they were made. A tenant's functions see the documents as the tenant does.
func (w *write) validateBy(ctx context.Context, ask func([]Proposal) ([]error, error), p document.Partition, conforming bool) error {
	var asked []*pendingEdit
	var proposals []Proposal
	seen := w.scope.db.Whole()
	if p != "" {
		seen = w.scope.db.Tenant(p)
	}
	err := w.scope.db.Whole().View(ctx, func(r *Reader) error {
		asked, proposals = nil, nil
		for _, e := range w.edits {
			if !e.open || e.validated || !e.changes() || e.ID.Designs(w.scope.db.partitioned) || p != "" && e.ID.Partition() != p || conforming && e.Conforms {
				continue
			}
			proposal, err := r.propose(e)
			if err != nil {
				return err
			}
			if proposal != nil {
				asked, proposals = append(asked, e), append(proposals, proposal.seenBy(seen))
			}
		}
		return nil
	})
	if err != nil || len(asked) == 0 {
		return err
	}
	refusals, err := ask(proposals)
	if err != nil {
		return err
	}
	for i, e := range asked {
		if e.err = refusals[i]; e.err != nil {
			e.open = false
		}
	}
	if p != "" && slices.ContainsFunc(refusals, func(err error) bool { return err != nil }) {
		return w.refusedBy(ctx, p, asked)
	}
	return nil
}

// refusedBy looks whether the tenant's functions that refused edits are those of
// now, which no commit will tell of a refused edit: what was asked may have been
// remembered from before. If not, the edits are admitted again.
func (w *write) refusedBy(ctx context.Context, p document.Partition, asked []*pendingEdit) error {
	now, err := w.scope.db.definitionsOf(ctx, p)
	if err != nil {
		return err
	}
	for _, e := range asked {
		if e.err != nil && e.tenant.at() != now.at() {
			e.err = errMoved
		}
	}
	return nil
}

// seenBy returns a proposal as a scope shows it.
func (p *Proposal) seenBy(s Scope) Proposal {
	seen := *p
	seen.New, seen.Old = *s.Shows(&p.New), s.Shows(p.Old)
	return seen
}

// propose reads what validation functions see of an edit, and pins it to the
// state of the document. It returns nil for an edit that will not be written as
// the document is now.
func (r *Reader) propose(e *pendingEdit) (*Proposal, error) {
	d, at, err := r.standing(e.ID)
	if err != nil {
		return nil, err
	}
	e.pin(d.Seq)
	if dropped, err := r.dropped(d, at, e); err != nil || dropped {
		return nil, err
	}
	p := &Proposal{New: Revision{ID: e.ID, Deleted: e.Deleted, Body: e.Body}}
	var parent document.Rev
	if e.Path != nil {
		p.New.Rev, p.NewPath = e.Path[0], e.Path
		if _, leaf, known := d.Tree.Node(p.New.Rev); known && leaf {
			return nil, nil
		}
		err = r.ancestor(p, d, e.Path[1:])
	} else {
		if parent, err = d.Tree.Parent(e.Parent, e.Deleted); err != nil {
			return nil, nil // the commit tells this edit about its conflict
		}
		if !e.Parent.IsZero() {
			p.New.Rev, p.NewPath = e.Parent, []document.Rev{e.Parent}
			err = r.ancestor(p, d, p.NewPath)
		}
	}
	if err != nil {
		return nil, err
	}
	p.New.Attachments, err = r.db.resolve(r.v, &d.Tree, e, parent)
	if dberr.Is(err, dberr.Precondition) {
		return nil, nil // and of an attachment that is not there
	}
	for i := range p.New.Attachments {
		if a := &p.New.Attachments[i]; a.RevPos == 0 {
			a.RevPos = parent.Gen + 1
		}
	}
	return p, err
}

// ancestor reads the first of the revisions that the document has and whose
// body is stored, as what a proposal replaces.
func (r *Reader) ancestor(p *Proposal, d *Doc, path []document.Rev) error {
	for _, rev := range path {
		if len(d.Tree.Leaves()) == 0 {
			return nil
		}
		old, err := r.Revision(d, rev)
		if dberr.Is(err, dberr.NotFound) {
			continue
		}
		if err != nil {
			return err
		}
		old.Body = bytes.Clone(old.Body)
		p.Old = old
		path, complete := d.Tree.Path(rev)
		if !complete {
			if err := r.Load(d); err != nil {
				return err
			}
			path, _ = d.Tree.Path(rev)
		}
		p.OldPath = path
		return nil
	}
	return nil
}
