package store

import (
	"errors"
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// put carries out a plan: it is the one place that writes a document's bodies
// and trunk chunks; heads and feeds follow in finish.
func (g *group) put(p *plan) error {
	s := p.doc
	if p.body {
		if err := g.putBody(p); err != nil {
			return err
		}
	}
	for _, rev := range p.superseded {
		g.superseded = append(g.superseded, supersededRev{s.id, rev})
	}
	if !p.moves {
		return nil
	}
	if err := g.restore(s, p.tree); err != nil {
		return err
	}
	if p.fills != nil {
		p.fills.grown += p.grows()
	}
	s.setTree(p.tree)
	s.unstemmed = p.unstemmed
	if p.body { // else the revision keeps the body that it has, whatever the edit brought
		s.latest = &Revision{ID: s.id, Rev: p.rev, Body: p.edit.Body, Attachments: p.attachments, Derivations: p.edit.derived}
	}
	g.moved(s)
	if err := g.logged(s, logEntry{cause: g.cause, rev: p.rev}); err != nil {
		return err
	}
	return g.redefineBy(s)
}

// setTree makes t the document's tree, which the group changes in place from now
// on. finish writes it.
func (s *docState) setTree(t *document.Tree) {
	if t != &s.tree {
		s.tree = *t
	}
	s.own = true
}

// stem forgets the ancestors that the edits of a large tree left.
func (g *group) stem(s *docState) {
	if s.unstemmed {
		s.tree.Stem(g.depth(&s.tree))
		s.unstemmed = false
	}
}

// putChunks ends the changes of a document's tree. It writes the chunks that the
// tree has now and removes those that it had.
func (g *group) putChunks(s *docState) error {
	g.stem(s)
	for _, c := range s.tree.Spill() {
		if err := g.tx.Put(g.db.chunkKey(s.id, c.Gen), c.Data); err != nil {
			return err
		}
	}
	now := s.tree.ChunkGens()
	for _, gen := range s.stored.tree.ChunkGens() {
		if _, kept := slices.BinarySearch(now, gen); !kept {
			if err := g.tx.Delete(g.db.chunkKey(s.id, gen)); err != nil {
				return err
			}
		}
	}
	return nil
}

// putBody writes a revision's body row and the chunks of a large body, and
// takes the blobs that its attachments lie in.
func (g *group) putBody(p *plan) error {
	id := p.doc.id
	value, chunks := p.edit.prepared.value, p.edit.prepared.chunks
	if len(p.attachments) > 0 {
		if err := g.takeBlobs(id, p.attachments); err != nil {
			return err
		}
		value, chunks = bodyValue(p.edit.Body, p.attachments)
	} else if value == nil { // the attachments of the edit as it came were dropped
		value, chunks = bodyValue(p.edit.Body, nil)
	}
	if !p.doc.tree.Empty() && (p.edit.Path != nil || len(p.attachments) > 0) {
		// The body may still be there, of a revision that was stemmed away and
		// comes again. (Without attachments an ordinary edit's is the same, and
		// with the last leaf of a document all of its bodies went.)
		if err := g.dropBody(id, p.rev); err != nil {
			return err
		}
	}
	for i, c := range chunks {
		if err := g.tx.Put(g.db.bodyChunkKey(id, p.rev, i), c); err != nil {
			return err
		}
	}
	return g.tx.Put(g.db.bodyKey(id, p.rev), value)
}

// dropBody removes a revision's body row, its chunks and its hold on blobs; it
// is fine if there is none.
func (g *group) dropBody(id document.ID, rev document.Rev) error {
	key := g.db.bodyKey(id, rev)
	value, err := g.tx.Get(key)
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	b, err := decodeBody(value)
	if err != nil {
		return err
	}
	for i := range (b.length + chunkSize - 1) / chunkSize {
		if err := g.tx.Delete(g.db.bodyChunkKey(id, rev, int(i))); err != nil {
			return err
		}
	}
	for i := range b.attachments {
		if err := g.releaseBlob(b.attachments[i].Blob); err != nil {
			return err
		}
	}
	return g.tx.Delete(key)
}

func (d *Database) bodyChunkKey(id document.ID, r document.Rev, n int) []byte {
	return keyspace.BodyChunk.Key(d.number, keyspace.T(string(id)), keyspace.U(uint64(r.Gen)),
		keyspace.T(r.Hash), keyspace.U(uint64(n)))
}
