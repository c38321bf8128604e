package store

import (
	"cmp"
	"errors"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/kv"
)

// plan is what an edit will do to a document, worked out before the first row
// is written: the tree as it will be, and the body row to be added.
type plan struct {
	group       *group
	doc         *docState
	edit        *pendingEdit
	tree        *document.Tree // as it will be: the document's own when the edit is sure to be carried out
	rev         document.Rev
	body        bool // a body row is to be written
	moves       bool // the tree changes: the document moves in the feed
	attachments []document.Attachment
	unstemmed   bool            // the tree is yet to be stemmed
	covers      []document.Rev  // leaves to which the edit may give children
	superseded  []document.Rev  // revisions that are no leaves, and whose bodies are stored
	fills       *partitionState // whose size grows, if sizes are limited
	before      uint64          // the external size of the document as it is then
	uncount     func()          // takes back what was counted of a partition's design documents; nil for nothing
}

// plan applies an edit to the document as the group has it and returns what is
// to be written, or why not.
func (g *group) plan(e *pendingEdit) (*plan, error) {
	s, err := g.doc(e.ID)
	if err != nil {
		return nil, err
	}
	if err := g.requireLive(e.ID.Partition()); err != nil {
		return nil, err // before it is asked whether the document moved: while it is hidden, admission does not see it
	}
	if moved, err := g.tenantMoved(e); err != nil || moved {
		g.designWentBack = g.designWentBack || moved && e.ID.Designs(g.db.partitioned)
		return nil, cmp.Or(err, errMoved)
	}
	if e.version != g.version {
		return nil, errMoved
	}
	if e.late || e.pinned != nil && (s.edits > 0 || *e.pinned != s.head.seq) {
		if err := g.redecide(s, e); err != nil {
			return nil, err
		}
	}
	if !e.changes() {
		return g.unchanged(s, e), e.refused
	}
	if err := g.checkDesigns(e); err != nil {
		if refusal(err) && g.designWentBack {
			err = errMoved // the one before, which is to come again, may make room
		}
		return nil, err
	}
	p := g.newPlan(s, e)
	if err := g.measure(p); err != nil {
		return nil, err
	}
	if e.Path != nil {
		err = g.planReplicated(p, e)
	} else {
		err = g.planEdit(p, e)
	}
	if err == nil && p.moves {
		g.assign(p)
	}
	if err == nil {
		var lacks bool
		if lacks, err = g.underived(p, e); lacks {
			err = errMoved
		}
	}
	if err == nil && p.moves {
		p.uncount = g.countDesign(e)
	}
	return p, err
}

// newPlan begins the plan of an edit. The tree is a copy of the stored one, the same
// for all edits of the document: copying it for each of thousands, of which most may be
// refused or known, would take a time that grows with their square. So whatever changes
// the tree comes after whatever may refuse the edit. Where that can't be so, each edit
// has a copy of its own.
func (g *group) newPlan(s *docState, e *pendingEdit) *plan {
	p := &plan{group: g, doc: s, edit: e, tree: &s.tree, body: true, moves: true}
	switch {
	case g.apart || g.careful || g.mayGoBack(s.id):
		c := s.tree.Clone()
		p.tree = &c
	case !s.own:
		if s.copied == nil {
			c := s.tree.Clone()
			s.copied = &c
		}
		p.tree = s.copied
	}
	return p
}

// mayGoBack reports whether an edit may go back to its writer after its tree was
// changed, for what is to be derived of the winner (underived).
func (g *group) mayGoBack(id document.ID) bool {
	ks, err := g.indexesOf(id.Partition())
	return err != nil || ks.slow()
}

// assign ends the plan of an edit that changes the tree: old ancestors are
// forgotten, and leaves that stopped being any are to be swept.
func (g *group) assign(p *plan) {
	p.unstemmed = p.tree.StemSoon(g.depth(p.tree))
	for _, rev := range p.covers {
		if _, leaf, _ := p.tree.Node(rev); !leaf {
			p.superseded = append(p.superseded, rev)
		}
	}
}

// cover notes which of revs are leaves.
func (p *plan) cover(revs ...document.Rev) {
	for _, rev := range revs {
		if _, leaf, _ := p.tree.Node(rev); leaf {
			p.covers = append(p.covers, rev)
		}
	}
}

var (
	errDropping = dberr.New(dberr.Conflict, "conflict", "The partition is being dropped.")
	// errDroppingNow is what a replicated edit is told. It is no conflict, which a
	// replicator takes for the last word on a revision: it would go on, and never
	// bring it again.
	errDroppingNow = dberr.New(dberr.Unavailable, "", "The partition is being dropped.")
)

// requireLive refuses writes to a partition that is being dropped.
func (g *group) requireLive(name document.Partition) error {
	p, err := g.partition(name)
	if err == nil && p != nil && p.state != partitionLive {
		err = errDropping
	}
	return err
}

// planEdit plans an ordinary edit: its parent is the leaf that it names.
func (g *group) planEdit(p *plan, e *pendingEdit) error {
	parent, err := p.tree.Parent(e.Parent, e.Deleted)
	if err != nil {
		return err
	}
	if p.attachments, err = g.db.resolve(g.tx, p.tree, e, parent); err != nil {
		return err
	}
	p.rev = e.prepared.rev
	if p.attachments != nil || parent != e.Parent || p.rev.IsZero() {
		p.rev = document.NewRev(parent, e.Deleted, e.Body, p.attachments)
	}
	for i := range p.attachments {
		if a := &p.attachments[i]; a.RevPos == 0 && !e.Attachments[i].Stub {
			a.RevPos = p.rev.Gen
		}
	}
	n := p.node(e)
	_, _, known := p.tree.Node(p.rev)
	if !known {
		if err := g.checkSpace(p, parent, n); err != nil {
			return err
		}
	}
	p.cover(parent)
	p.tree.Add(parent, n)
	if known { // a replica brought it as a root of its own
		return g.planBody(p, e)
	}
	return nil
}

// planReplicated plans an edit that brings its own revision and history.
func (g *group) planReplicated(p *plan, e *pendingEdit) error {
	p.rev = e.Path[0]
	dropped, err := g.dropped(p.doc, e)
	if err != nil || dropped {
		p.moves, p.body = false, false
		return err
	}
	if p.attachments, err = g.db.resolve(g.tx, p.tree, e, document.Rev{}); err != nil {
		return err
	}
	if err := g.checkConflicts(p, e); err != nil {
		return err
	}
	n := p.node(e)
	p.cover(e.Path[1:]...)
	if len(e.Tombstones) > 0 { // some of which may lie in chunks
		if err := g.db.loadTree(g.tx, e.ID, p.tree); err != nil {
			return err
		}
	}
	outcome := p.tree.Merge(e.Path, n)
	if outcome == document.Older {
		if err := g.db.loadTree(g.tx, e.ID, p.tree); err != nil {
			return err
		}
		outcome = p.tree.Merge(e.Path, n)
	}
	if p.tree.NoteTombstones(e.Tombstones) && outcome == document.Known {
		outcome = document.Filled
	}
	switch outcome {
	case document.Known:
		p.moves = false
		return g.planBody(p, e)
	case document.Filled: // no new leaf, but the tree learnt of ancestors
		return g.planBody(p, e)
	}
	return nil
}

// planBody plans the body of a revision that the tree has already:
// that of an inner one that was never seen here becomes readable for a while,
// as a superseded one.
func (g *group) planBody(p *plan, e *pendingEdit) error {
	_, leaf, _ := p.tree.Node(p.rev)
	_, err := g.tx.Get(g.db.bodyKey(e.ID, p.rev))
	if p.body = errors.Is(err, kv.ErrNotFound) && !leaf; p.body {
		p.superseded = []document.Rev{p.rev}
	}
	if errors.Is(err, kv.ErrNotFound) {
		err = nil
	}
	return err
}

// node is the edit's revision as the tree keeps it.
func (p *plan) node(e *pendingEdit) document.Node {
	n := document.Node{Rev: p.rev, Deleted: e.Deleted, External: uint64(len(e.Body)), Active: uint64(len(e.Body))}
	for i := range p.attachments {
		n.External += uint64(p.attachments[i].Length)
		n.Active += uint64(p.attachments[i].Encoded)
	}
	return n
}

// measure notes which partition an edit fills and how large its document is, if
// partitions may only become so large.
func (g *group) measure(p *plan) (err error) {
	if g.db.store.o.MaxPartition() == 0 {
		return nil
	}
	if p.fills, err = g.partition(p.doc.id.Partition()); p.fills != nil {
		p.before = p.tree.Sums().External
	}
	return err
}

// grows reports by how much the document becomes larger, once the tree is changed.
func (p *plan) grows() int64 { return int64(p.tree.Sums().External - p.before) }

// checkSpace refuses an ordinary edit that makes a full partition fuller: n will
// take the place of parent.
func (g *group) checkSpace(p *plan, parent document.Rev, n document.Node) error {
	limit := g.db.store.o.MaxPartition()
	if limit == 0 || p.fills == nil || n.Deleted || p.fills.external+uint64(p.fills.grown) < limit {
		return nil
	}
	if before, _, _ := p.tree.Node(parent); n.External <= before.External {
		return nil
	}
	return dberr.New(dberr.Forbidden, "partition_overflow", "Partition limit exceeded due to update on '%s'", string(p.edit.shown))
}
