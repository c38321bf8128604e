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
	doc         *docState
	edit        *pendingEdit
	tree        document.Tree
	rev         document.Rev
	body        bool // a body row is to be written
	moves       bool // the tree changes: the document moves in the feed
	attachments []document.Attachment
	beaten      []document.Rev  // leaves that the edit put behind others
	fell        []uint32        // chunks of the tree as it was
	fills       *partitionState // whose size grows, if sizes are limited
	grows       int64
}

// plan applies an edit to the document as the group has it and gives what is
// to be written, or why not.
func (g *group) plan(e *pendingEdit) (*plan, error) {
	s, err := g.doc(e.ID)
	if err != nil {
		return nil, err
	}
	if err := g.open(e.ID.Partition()); err != nil {
		return nil, err // before it is asked whether the document moved: while it is hidden, admission does not see it
	}
	if moved, err := g.movedOwned(e); err != nil || moved {
		return nil, cmp.Or(err, errMoved)
	}
	if e.version != g.version || e.pinned != nil && (s.edits > 0 || *e.pinned != s.head.seq) {
		return nil, errMoved
	}
	p := &plan{doc: s, edit: e, tree: s.tree.Clone(), fell: s.tree.ChunkGens(), body: true, moves: true}
	if e.Path != nil {
		err = g.planReplicated(p, e)
	} else {
		err = g.planEdit(p, e)
	}
	if err != nil {
		return p, err
	}
	if p.moves {
		p.tree.Stem(g.db.RevsLimit())
		p.beaten = append(p.beaten, beatenLeaves(&s.tree, &p.tree)...)
		err = g.checkSpace(p, e)
	}
	if err == nil {
		var lacks bool
		if lacks, err = g.underived(p, e); lacks {
			err = errMoved
		}
	}
	return p, err
}

var (
	errDropping = dberr.New(dberr.Conflict, "conflict", "The partition is being dropped.")
	// errDroppingNow is what a replicated edit is told. It is no conflict, which a
	// replicator takes for the last word on a revision: it would go on, and never
	// bring it again.
	errDroppingNow = dberr.New(dberr.Unavailable, "", "The partition is being dropped.")
)

// open refuses writes to a partition that is being dropped.
func (g *group) open(name document.Partition) error {
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
	if p.attachments, err = g.db.resolve(g.tx, &p.tree, e, parent); err != nil {
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
	_, _, known := p.tree.Node(p.rev)
	p.tree.Add(parent, p.node(e))
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
	if p.attachments, err = g.db.resolve(g.tx, &p.tree, e, document.Rev{}); err != nil {
		return err
	}
	n := p.node(e)
	if len(e.Tombstones) > 0 { // some of which may lie in chunks
		if err := g.db.loadTree(g.tx, e.ID, &p.tree); err != nil {
			return err
		}
	}
	outcome := p.tree.Merge(e.Path, n)
	if outcome == document.Older {
		if err := g.db.loadTree(g.tx, e.ID, &p.tree); err != nil {
			return err
		}
		outcome = p.tree.Merge(e.Path, n)
	}
	if p.tree.Bury(e.Tombstones) && outcome == document.Known {
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
// as a beaten one.
func (g *group) planBody(p *plan, e *pendingEdit) error {
	_, leaf, _ := p.tree.Node(p.rev)
	_, err := g.tx.Get(g.db.bodyKey(e.ID, p.rev))
	if p.body = errors.Is(err, kv.ErrNotFound) && !leaf; p.body {
		p.beaten = []document.Rev{p.rev}
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

// beatenLeaves gives the leaves of before that are no leaves of after.
func beatenLeaves(before, after *document.Tree) (beaten []document.Rev) {
	for _, l := range before.Leaves() {
		if _, leaf, ok := after.Node(l.Rev); !ok || !leaf {
			beaten = append(beaten, l.Rev)
		}
	}
	return beaten
}

// checkSpace refuses an ordinary edit that makes a full partition fuller.
func (g *group) checkSpace(p *plan, e *pendingEdit) error {
	limit := g.db.store.o.MaxPartition()
	if limit == 0 {
		return nil
	}
	t, err := g.partition(e.ID.Partition())
	if err != nil || t == nil {
		return err
	}
	next := head{tree: p.tree}
	p.fills, p.grows = t, int64(next.counts().external-p.doc.counts().external)
	if e.Path == nil && !e.Deleted && p.grows > 0 && t.external+uint64(t.grown) >= limit {
		return dberr.New(dberr.Forbidden, "partition_overflow", "Partition limit exceeded due to update on '%s'", string(e.shown))
	}
	return nil
}

// resolve gives an edit's attachments with stubs replaced by what they stand
// for: an attachment of that name of the parent or, for a replicated edit, of
// the nearest of its ancestors, or of any leaf, whose body is stored.
// Errors: Precondition missing_stub, also for an upload that has expired.
func (d *Database) resolve(s kv.Snapshot, t *document.Tree, e *pendingEdit, parent document.Rev) ([]document.Attachment, error) {
	if len(e.Attachments) == 0 {
		return nil, nil
	}
	atts := append([]document.Attachment(nil), e.Attachments...)
	var sources []document.Rev
	for i := range atts {
		if !atts[i].Stub {
			if err := d.checkUpload(s, &atts[i]); err != nil {
				return nil, err
			}
			continue
		}
		if sources == nil {
			sources = stubSources(t, e, parent)
		}
		found, err := d.findStub(s, e.ID, &atts[i], sources)
		if err != nil {
			return nil, err
		}
		if found == nil {
			return nil, dberr.New(dberr.Precondition, "missing_stub", "Invalid attachment stub in %s for %s", string(e.shown), atts[i].Name)
		}
		atts[i] = *found
	}
	return atts, nil
}

// checkUpload looks for the blob that was uploaded for an attachment.
func (d *Database) checkUpload(s kv.Snapshot, a *document.Attachment) error {
	if a.Blob == 0 {
		return nil
	}
	_, err := s.Get(d.blobKey(a.Blob))
	if errors.Is(err, kv.ErrNotFound) {
		return dberr.New(dberr.Precondition, "missing_stub", "The upload of attachment %s has expired.", a.Name)
	}
	return err
}

// stubSources lists the revisions whose attachments a stub may mean.
func stubSources(t *document.Tree, e *pendingEdit, parent document.Rev) []document.Rev {
	if e.Path == nil {
		if parent.IsZero() {
			return []document.Rev{}
		}
		return []document.Rev{parent}
	}
	sources := append([]document.Rev{}, e.Path...)
	for _, l := range t.Leaves() {
		sources = append(sources, l.Rev)
	}
	return sources
}

// findStub looks for the attachment that a stub names.
func (d *Database) findStub(s kv.Snapshot, id document.ID, stub *document.Attachment, sources []document.Rev) (*document.Attachment, error) {
	for _, rev := range sources {
		value, err := s.Get(d.bodyKey(id, rev))
		if errors.Is(err, kv.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		b, err := decodeBody(value)
		if err != nil {
			return nil, err
		}
		for i := range b.attachments {
			a := &b.attachments[i]
			if a.Name == stub.Name && (stub.RevPos == 0 || stub.RevPos == a.RevPos) {
				return a, nil
			}
		}
	}
	return nil, nil
}
