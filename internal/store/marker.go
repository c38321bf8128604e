package store

import (
	"errors"
	"math"
	"slices"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
)

// A deletion marker is what is left of a document whose tombstones were dropped by age:
// their revisions. The naive way is to leave nothing. Then a replica that was
// away while the document was deleted, and still has it, brings it back. So a
// deletion marker speaks for the tombstones, and as their ancestors are not known any
// more, also for every revision that could be one:
//
//   - A revision that is a collected one, or of a lower generation than the
//     highest of them, is known, and is dropped when it comes in. An edit that
//     was made on an old replica and is of a lower generation is lost with it:
//     that is the price of forgetting, and why the age should be longer than
//     replicas are away.
//   - A revision that descends from a collected one, or whose generation is not
//     lower, is no ancestor of it. It comes in.
//   - An edit without a history, made here, goes over the collected tombstone as
//     it would over one that is still there. So it has the revision that it has
//     on a replica without deletion markers, and comes in there, and everywhere.
//
// What comes in finds the collected revisions as tombstones without bodies of
// their own, so the leaves, and with them the winner, are those of a replica
// that kept them. The deletion marker stays beside the document: its tree does not have
// the ancestors. It goes when the document is purged or its partition dropped,
// and when it is collected again it is written anew.
type marker struct{ revs []document.Rev } // highest first; at least one

// maxMarker is how many revisions a deletion marker names; lower ones go. With one
// revision, as most have, a deletion marker takes its id and 20 bytes.
const maxMarker = 8

func (g *marker) encode() []byte {
	p := packed.Writer{}
	p.Byte(rowVersion)
	p.Uint(uint64(len(g.revs)))
	for _, r := range g.revs {
		writeRev(&p, r)
	}
	return p
}

func decodeMarker(b []byte) (*marker, error) {
	u := packed.ReadVersion(b, rowVersion)
	g := &marker{}
	for n := u.Uint(); n > 0 && !u.Failed(); n-- {
		g.revs = append(g.revs, decodeRev(&u))
	}
	if len(g.revs) == 0 {
		u.Fail()
	}
	return g, u.Done()
}

// markerOf returns the deletion marker of a document all of whose leaves are tombstones.
func markerOf(t *document.Tree) *marker {
	g := &marker{}
	for _, l := range t.Leaves() {
		g.revs = append(g.revs, l.Rev)
	}
	g.revs = g.revs[:min(len(g.revs), maxMarker)]
	return g
}

// tree is the tree of the collected revisions: what an edit goes over.
func (g *marker) tree() (t document.Tree) {
	for _, r := range g.revs {
		t.Merge(nil, document.Node{Rev: r, Deleted: true, External: uint64(len(noBody)), Active: uint64(len(noBody))})
	}
	return t
}

// noBody is the body of tombstones that have none of their own.
const noBody = "{}"

// knows reports whether a revision that comes in, with its ancestors, newest
// first, as far as they are given, is one that the deletion marker speaks for. t is the
// tree of the document beside it, empty if there is none. A document that came
// out of its deletion marker with the history of a collected revision tells itself what is
// an ancestor of that.
func (g *marker) knows(t *document.Tree, path []document.Rev) bool {
	r := path[0]
	if _, _, ok := t.Node(r); g == nil || ok {
		return false
	}
	if slices.Contains(g.revs, r) {
		return true
	}
	if slices.ContainsFunc(path, func(r document.Rev) bool { return slices.Contains(g.revs, r) }) {
		return false
	}
	return slices.ContainsFunc(g.revs, func(b document.Rev) bool { return r.Gen < b.Gen && r.Gen < oldest(t, b) })
}

// oldest is the generation of the oldest ancestor of a revision that the tree
// has, the highest there is if it does not have the revision.
func oldest(t *document.Tree, r document.Rev) uint32 {
	path, complete := t.Path(r)
	switch {
	case !complete:
		return t.Oldest()
	case len(path) == 0:
		return math.MaxUint32
	}
	return path[len(path)-1].Gen
}

func (d *Database) markerKey(id document.ID) []byte {
	return keyspace.Marker.Key(d.number, keyspace.T(string(id)))
}

// decodeMarkerRow decodes what a read of a deletion marker gave; nil for none.
func decodeMarkerRow(value []byte, err error) (*marker, error) {
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeMarker(value)
}

// marker reads a document's deletion marker for update; nil for none. Databases that never
// dropped tombstones have none.
func (g *group) marker(id document.ID) (*marker, error) {
	if !g.db.settings.Load().markers {
		return nil, nil
	}
	return decodeMarkerRow(g.tx.GetForUpdate(g.db.markerKey(id)))
}

// marker reads a document's deletion marker; nil for none, and outside the scope.
func (r *Reader) marker(id document.ID) (*marker, error) {
	if id = r.Stored(id); !r.sees(id) || !r.db.settings.Load().markers {
		return nil, nil
	}
	return decodeMarkerRow(r.v.Get(r.db.markerKey(id)))
}

// dropped reports whether a replicated edit brings what a deletion marker speaks for: it
// changes nothing then.
func (g *group) dropped(s *docState, e *pendingEdit) (bool, error) {
	if s.marker != nil {
		return s.marker.knows(&document.Tree{}, e.Path), nil
	}
	if _, _, ok := s.tree.Node(e.Path[0]); ok || s.tree.Empty() {
		return false, nil
	}
	at, err := g.marker(s.id)
	return at.knows(&s.tree, e.Path), err
}

// standing reads a document as an edit will meet it: where there is only a
// deletion marker, with the tree of that. at is set then.
func (r *Reader) standing(id document.ID) (d *Doc, at *marker, err error) {
	d, err = r.Doc(id)
	if !dberr.Is(err, dberr.NotFound) {
		return d, nil, err
	}
	d = &Doc{ID: id}
	if at, err = r.marker(id); at != nil {
		d.Tree = at.tree()
	}
	return d, at, err
}

// dropped is the same before the commit, about what standing returned.
func (r *Reader) dropped(d *Doc, at *marker, e *pendingEdit) (bool, error) {
	switch {
	case e.Path == nil:
		return false, nil
	case at != nil:
		return at.knows(&document.Tree{}, e.Path), nil
	}
	at, err := r.marker(d.ID)
	return at.knows(&d.Tree, e.Path), err
}

// restore writes what a document lacks that comes out of its deletion marker: bodies for
// the tombstones that are leaves again.
func (g *group) restore(s *docState, t *document.Tree) error {
	if s.marker == nil {
		return nil
	}
	value, _ := bodyValue([]byte(noBody), nil)
	for _, rev := range s.marker.revs {
		if _, leaf, _ := t.Node(rev); leaf {
			if err := g.tx.Put(g.db.bodyKey(s.id, rev), value); err != nil {
				return err
			}
		}
	}
	s.marker = nil
	return nil
}

// putMarker writes the deletion marker of a document that gets tombstones, and removes
// that of one that goes without a trace.
func (g *group) putMarker(s *docState) error {
	if s.leaves != nil {
		return g.tx.Put(g.db.markerKey(s.id), s.leaves.encode())
	}
	at, err := g.marker(s.id)
	if err != nil || at == nil {
		return err
	}
	return g.tx.Delete(g.db.markerKey(s.id))
}

// purgeMarker takes revisions out of a deletion marker and returns those that were in it.
func (g *group) purgeMarker(id document.ID, at *marker, revs []document.Rev) (purged []document.Rev, err error) {
	if at == nil {
		return nil, nil
	}
	left := &marker{}
	for _, r := range at.revs {
		if slices.Contains(revs, r) {
			purged = append(purged, r)
		} else {
			left.revs = append(left.revs, r)
		}
	}
	switch {
	case len(purged) == 0:
	case len(left.revs) == 0:
		err = g.tx.Delete(g.db.markerKey(id))
	default:
		err = g.tx.Put(g.db.markerKey(id), left.encode())
	}
	return purged, err
}

// purgeMarked purges revisions of a document of which there is only a deletion marker.
func (g *group) purgeMarked(s *docState, revs []document.Rev) ([]document.Rev, error) {
	purged, err := g.purgeMarker(s.id, s.marker, revs)
	delete(g.docs, s.id) // to be read again
	if err != nil || len(purged) == 0 {
		return nil, err
	}
	return purged, g.putPurge(s.id, purged)
}

// forgetMarked takes what was purged of a document out of the deletion marker beside it.
func (g *group) forgetMarked(id document.ID, revs []document.Rev) error {
	at, err := g.marker(id)
	if err == nil {
		_, err = g.purgeMarker(id, at, revs)
	}
	return err
}

// Missing returns which of revs the scope lacks, in order and each once, and
// which leaves may be ancestors of them, as _revs_diff answers. What was collected
// is not lacking.
func (r *Reader) Missing(id document.ID, revs []document.Rev) (missing, ancestors []document.Rev, err error) {
	d, err := r.Doc(id)
	if isRedacted(err) && !errors.Is(err, errMissing) {
		return revs, nil, nil // as of a document that is not there
	}
	if dberr.Is(err, dberr.NotFound) {
		d, err = &Doc{ID: id}, nil
	}
	if err == nil && !d.Tree.Covers(revs) {
		err = r.Load(d)
	}
	if err != nil {
		return nil, nil, err
	}
	missing, ancestors = d.Tree.Missing(revs)
	if d.Tree.Empty() {
		missing = revs // as they came
	}
	if len(missing) == 0 {
		return nil, nil, nil
	}
	at, err := r.marker(id)
	if at == nil || err != nil {
		return missing, ancestors, err
	}
	return slices.DeleteFunc(slices.Clone(missing), func(rev document.Rev) bool {
		return at.knows(&d.Tree, []document.Rev{rev})
	}), ancestors, nil
}
