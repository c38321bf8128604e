package store

import (
	"context"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
)

// What an index makes of a document may take long: a pattern over a long text. In
// the commit all writers of the database would wait for it, so each writer has it
// worked out beforehand, for the revision that it brings. A commit that finds that
// another revision becomes the winner, or that the definitions are not those any
// more, sends the edit back to its writer (errMoved), who derives what it lacks.

// Derivation is what a set of indexes made of a revision.
type Derivation struct {
	By    IndexSet
	Value any
}

// Derived returns what a set of indexes derived of the revision beforehand; nil for nothing.
func (r *Revision) Derived(by IndexSet) any {
	for _, d := range r.Derivations {
		if d.By == by {
			return d.Value
		}
	}
	return nil
}

// derive has the index sets do what takes long about an edit: its own revision, and
// the one that a commit found to be the winner instead.
func (s Scope) derive(ctx context.Context, e *pendingEdit, k IndexSet) error {
	e.derived = nil
	if e.ID.Designs(s.db.partitioned) {
		return nil
	}
	var err error
	if !e.Deleted {
		rev := &Revision{ID: e.ID, Rev: e.prepared.rev, Body: e.Body, Attachments: e.Attachments}
		if e.derived, err = s.db.deriveAll(ctx, rev, e.indexSets(k)); err != nil {
			return err
		}
	}
	if e.wants.IsZero() || e.other != nil && e.other.Rev == e.wants {
		return nil
	}
	e.other, err = s.db.deriveStored(ctx, e.ID, e.wants, e.indexSets(k))
	return err
}

// indexSets are the indexes of a database and of the tenant of an edit.
func (e *pendingEdit) indexSets(of IndexSet) indexSets {
	ks := indexSets{of}
	if e.tenant != nil {
		ks[1] = e.tenant.indexes
	}
	return ks
}

func (d *Database) deriveAll(ctx context.Context, rev *Revision, by indexSets) (all []Derivation, err error) {
	for i, ns := range d.namespaces(rev.ID.Partition()) {
		if !isSlow(by[i]) {
			continue
		}
		v, err := by[i].Derive(ctx, ns.Shows(rev))
		if err != nil {
			return nil, err
		}
		all = append(all, Derivation{by[i], v})
	}
	return all, nil
}

// deriveStored derives of a stored revision; nil if it is not there any more.
func (d *Database) deriveStored(ctx context.Context, id document.ID, rev document.Rev, by indexSets) (r *Revision, err error) {
	err = d.Whole().View(ctx, func(v *Reader) error {
		doc, err := v.Doc(id)
		if err == nil {
			r, err = v.Revision(doc, rev)
		}
		if dberr.Is(err, dberr.NotFound) {
			return nil
		}
		return err
	})
	if err == nil && r != nil {
		r.Derivations, err = d.deriveAll(ctx, r, by)
	}
	return r, err
}

// maxTries is how often an edit goes back to its writer because the commit found
// yet another winner; then the commit derives by itself.
const maxTries = 5

// underived reports whether the commit would have to derive rows for what a plan
// makes of a document, and has the edit want what it lacks.
func (g *group) underived(p *plan, e *pendingEdit) (bool, error) {
	s := p.doc
	if !p.moves || p.tree.Empty() || p.tree.Winner().Deleted || e.ID.Designs(g.db.partitioned) || e.tries >= maxTries {
		return false, nil
	}
	ks, err := g.indexesOf(e.ID.Partition())
	if err != nil {
		return false, err
	}
	w := p.tree.Winner().Rev
	from := e.derived
	switch {
	case p.body && w == p.rev:
	case s.before == nil && sameWinner(&s.stored.tree, p.tree):
		return false, nil // nothing to be kept
	case s.latest != nil && s.latest.Rev == w:
		s.other, from = s.latest, s.latest.Derivations // the next edit's will be the latest
	case s.other != nil && s.other.Rev == w:
		from = s.other.Derivations
	case e.other != nil && e.other.Rev == w:
		s.other, from = e.other, e.other.Derivations
	default:
		from, e.wants = nil, w
	}
	for _, k := range ks {
		if isSlow(k) && (&Revision{Derivations: from}).Derived(k) == nil {
			e.tries++
			return true, nil
		}
	}
	return false, nil
}
