package store

import (
	"bytes"
	"errors"
	"iter"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// Revision is one stored revision of a document.
type Revision struct {
	ID          document.ID
	Rev         document.Rev
	Deleted     bool
	Body        []byte // compact JSON object without reserved members
	Attachments []document.Attachment
	Derivations []Derivation // what the index sets made of it before the commit that stores it; nil elsewhere
}

// Doc is a document's head: its tree and its place in the feed.
type Doc struct {
	ID   document.ID
	Tree document.Tree
	Seq  Seq
}

var (
	errMissing = dberr.New(dberr.NotFound, "not_found", "missing")
	errDeleted = dberr.New(dberr.NotFound, "not_found", "deleted")
)

// Doc reads a document's head. NotFound "missing" when it was never written,
// lies outside the scope or is withheld from its caller.
func (r *Reader) Doc(id document.ID) (*Doc, error) {
	value, err := r.head(r.Stored(id))
	if err != nil {
		return nil, err
	}
	h, err := r.db.decodeHeadRow(r.v, r.Stored(id), value)
	if err != nil {
		return nil, err
	}
	if w := h.tree.Winner(); r.redactor != nil {
		if err := r.checkVisible(id, w.Rev, w.Deleted); err != nil {
			return nil, err
		}
	}
	return &Doc{ID: id, Tree: h.tree, Seq: h.seq}, nil
}

// head reads the head of the document of a stored id.
func (r *Reader) head(id document.ID) ([]byte, error) {
	state := r.state(id.Partition())
	if !r.contains(id) && !id.IsDesign() || state == partitionDropping {
		return nil, errMissing
	}
	value, err := r.v.Get(r.db.headKey(id))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, errMissing
	}
	if err == nil && state == partitionTombstones {
		// A replica that met the tombstone in the feed asks for it.
		h, _, err := decodeWinner(value)
		if err != nil || !h.dead {
			return nil, errors.Join(err, errMissing)
		}
	}
	return value, err
}

// Load makes d's tree whole (see document.Tree.Unloaded).
func (r *Reader) Load(d *Doc) error { return r.db.loadTree(r.v, r.Stored(d.ID), &d.Tree) }

// loadTree fetches the trunk chunks of a partly loaded tree.
func (d *Database) loadTree(s kv.Snapshot, id document.ID, t *document.Tree) error {
	if t.Unloaded() == 0 {
		return nil
	}
	var chunks []document.Chunk
	for _, gen := range t.ChunkGens() {
		data, err := s.Get(d.chunkKey(id, gen))
		if err != nil {
			return dberr.Wrap("store.loadTree", err)
		}
		chunks = append(chunks, document.Chunk{Gen: gen, Data: data})
	}
	return t.Load(chunks)
}

func (d *Database) chunkKey(id document.ID, gen uint32) []byte {
	return keyspace.Doc.Key(d.number, keyspace.T(string(id)), keyspace.U(keyspace.SubChunk), keyspace.B(keyspace.ChunkTail(gen)))
}

// Revision reads a revision's body and attachments. NotFound "missing" when
// the tree does not have it or its body is no longer stored.
func (r *Reader) Revision(d *Doc, rev document.Rev) (*Revision, error) {
	node, _, ok := d.Tree.Node(rev)
	if !ok && d.Tree.Unloaded() > 0 {
		if err := r.Load(d); err != nil {
			return nil, err
		}
		node, _, ok = d.Tree.Node(rev)
	}
	if !ok {
		return nil, errMissing
	}
	b, err := r.db.readBody(r.v, r.Stored(d.ID), rev)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, errMissing
	}
	if err != nil {
		return nil, dberr.Wrap("store.Revision", err)
	}
	return r.redact(&Revision{ID: d.ID, Rev: rev, Deleted: node.Deleted, Body: b.body, Attachments: b.attachments})
}

// Winner reads a document's winning revision, which takes two point reads, or one round trip, and
// no decoding of the tree. NotFound "missing" or "deleted"; beside the latter
// the revision is given too.
func (r *Reader) Winner(id document.ID) (*Revision, error) {
	if _, ahead := r.v.(*kv.Ahead); r.db.store.distant && !ahead {
		one := *r // others may be reading with r
		if err := one.Fetch([]Ask{{ID: id, Winner: true}}); err != nil {
			return nil, err
		}
		r = &one
	}
	stored := r.Stored(id)
	value, err := r.head(stored)
	if err != nil {
		return nil, err
	}
	h, _, err := decodeWinner(value)
	if err != nil {
		return nil, err
	}
	b, err := r.db.readBody(r.v, stored, h.winner)
	if err != nil {
		return nil, dberr.Wrap("store.Winner", err)
	}
	rev, err := r.redact(&Revision{ID: id, Rev: h.winner, Deleted: h.dead, Body: b.body, Attachments: b.attachments})
	if err == nil && h.dead {
		err = errDeleted
	}
	return rev, err
}

// Changed reads the winner of a document that the reader's feed shows: rev is
// the first of the entry's leaves, deleted the entry's too. It takes one point
// read. NotFound "missing".
func (r *Reader) Changed(id document.ID, rev document.Rev, deleted bool) (*Revision, error) {
	b, err := r.db.readBody(r.v, r.Stored(id), rev)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, errMissing
	}
	if err != nil {
		return nil, dberr.Wrap("store.Changed", err)
	}
	return r.redact(&Revision{ID: id, Rev: rev, Deleted: deleted, Body: b.body, Attachments: b.attachments})
}

// Span is a range of document ids: From ≤ id ≤ To, or id < To when Before is
// set; "" is no bound.
type Span struct {
	From, To   string
	Before     bool // To itself is left out
	Descending bool // walk from To down to From
}

// docRange is the range of rows of the span's documents in the scope.
func (r *Reader) docRange(sp Span) kv.Range {
	if r.tenant && sp.From != "" {
		sp.From = string(r.Stored(document.ID(sp.From)))
	}
	if r.tenant && sp.To != "" {
		sp.To = string(r.Stored(document.ID(sp.To)))
	}
	return r.db.span(&keyspace.Doc, sp, string(r.partition))
}

// span turns a span of ids into a range of the space's keys after parts,
// within one partition if one is given.
func (d *Database) span(s *keyspace.Space, sp Span, partition string, parts ...keyspace.Part) kv.Range {
	within := kv.Prefix(s.Key(d.number, parts...))
	if partition != "" {
		within.Start = s.TextPrefix(d.number, partition+":", parts...)
		within.End = s.TextPrefix(d.number, partition+";", parts...)
	}
	if sp.From != "" {
		from := s.Key(d.number, append(parts[:len(parts):len(parts)], keyspace.T(sp.From))...)
		within.Start = max2(within.Start, from)
	}
	if sp.To != "" {
		to := s.Key(d.number, append(parts[:len(parts):len(parts)], keyspace.T(sp.To))...)
		if !sp.Before {
			to = kv.PrefixEnd(to)
		}
		within.End = min2(within.End, to)
	}
	return within
}

func max2(a, b []byte) []byte {
	if bytes.Compare(a, b) < 0 {
		return b
	}
	return a
}

func min2(a, b []byte) []byte {
	if bytes.Compare(b, a) < 0 {
		return b
	}
	return a
}

// Entry is a step of Docs.
type Entry struct {
	Doc    *Doc
	Winner *Revision // nil without bodies and for tombstones
}

// Docs walks the documents of the span in byte order of their ids, tombstones
// included. The Doc is reused between steps. With bodies set the winner's
// Revision comes along.
func (r *Reader) Docs(sp Span, bodies bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		rg := r.docRange(sp)
		if bytes.Compare(rg.Start, rg.End) >= 0 {
			return
		}
		it, err := r.v.Iterate(rg, kv.IterOptions{Reverse: sp.Descending})
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer it.Close()
		w := walk{r: r, it: it, bodies: bodies}
		step := w.forward
		if sp.Descending {
			step = w.backward
		}
		for {
			e, err := step()
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if e.Doc == nil || !yield(e, nil) {
				return
			}
		}
	}
}

// walk steps over the rows of documents. A document's head is the first of its
// rows, its bodies the last, oldest first; most documents have one of each.
type walk struct {
	r          *Reader
	it         kv.Iterator
	bodies     bool
	tombstones bool // forward shows the tombstones of a partition whose drop writes them
	placed     bool // the iterator is on a row that has not been looked at
	doc        Doc
	parts      []keyspace.Part
}

// row decodes the key the iterator is on; its id is the stored one.
func (w *walk) row() (id document.ID, sub uint64, err error) {
	_, w.parts, err = keyspace.Doc.DecodeInto(w.parts[:0], w.it.Key())
	if err != nil {
		return "", 0, err
	}
	return document.ID(w.parts[0].String()), w.parts[1].Num(), nil
}

// forward returns the next document in ascending order; no Doc at the end.
func (w *walk) forward() (Entry, error) {
	for {
		if !w.placed && !w.it.Next() {
			return Entry{}, w.it.Err()
		}
		w.placed = false
		id, sub, err := w.row()
		if err != nil {
			return Entry{}, err
		}
		if sub != keyspace.SubHead { // a second body: jump over the rest
			if !w.it.Seek(w.beyond(id)) {
				return Entry{}, w.it.Err()
			}
			w.placed = true
			continue
		}
		value, err := w.it.Value()
		if err != nil {
			return Entry{}, err
		}
		if shown, err := w.shows(id, value); err != nil {
			return Entry{}, err
		} else if shown {
			return w.entry(id, value)
		}
	}
}

// shows reports whether the walk shows a document, whose head is value.
func (w *walk) shows(id document.ID, value []byte) (bool, error) {
	if !w.tombstones || w.r.state(id.Partition()) != partitionTombstones {
		if !w.r.sees(id) {
			return false, nil
		}
		left, err := w.r.passesOver(id, value)
		return !left, err
	}
	h, _, err := decodeWinner(value)
	return h.dead && w.r.contains(id), err
}

// beyond is the first key after all rows of a document.
func (w *walk) beyond(id document.ID) []byte {
	return kv.PrefixEnd(keyspace.Doc.Key(w.r.db.number, keyspace.T(string(id))))
}

// entry decodes a head and, if wanted, reads the winner's body, which on the
// way forward is most often the next row.
func (w *walk) entry(id document.ID, value []byte) (Entry, error) {
	h, err := w.r.db.decodeHeadRow(w.r.v, id, value)
	if err != nil {
		return Entry{}, err
	}
	w.doc = Doc{ID: w.r.shown(id), Tree: h.tree, Seq: h.seq}
	e := Entry{Doc: &w.doc}
	if !w.bodies || h.dead {
		return e, nil
	}
	key := w.r.db.bodyKey(id, h.winner)
	w.placed = w.it.Next()
	if w.placed && w.r.db.store.distant && bytes.Compare(w.it.Key(), key) < 0 {
		w.placed = w.it.Seek(key) // it has come with the rows before, as a rule
	}
	var b stored
	if w.placed && bytes.Equal(w.it.Key(), key) {
		w.placed = false
		if value, err = w.it.Value(); err == nil {
			b, err = w.r.db.openBody(w.r.v, id, h.winner, value)
		}
	} else {
		b, err = w.r.db.readBody(w.r.v, id, h.winner)
	}
	if err != nil {
		return Entry{}, dberr.Wrap("store.Docs", err)
	}
	if e.Winner, err = w.r.redact(&Revision{ID: w.doc.ID, Rev: h.winner, Body: b.body, Attachments: b.attachments}); err != nil {
		return Entry{}, err
	}
	return e, w.it.Err()
}

// backward returns the next document in descending order.
func (w *walk) backward() (Entry, error) {
	for {
		if !w.placed && !w.it.Next() {
			return Entry{}, w.it.Err()
		}
		id, _, err := w.row()
		if err != nil {
			return Entry{}, err
		}
		// The rows before the head belong to the document before this one.
		head := w.r.db.headKey(id)
		w.placed = w.it.Seek(head)
		if w.placed && bytes.Equal(w.it.Key(), head) {
			w.placed = w.it.Next()
		}
		if err := w.it.Err(); err != nil {
			return Entry{}, err
		}
		e, err := w.descend(id, head)
		if err != nil || e.Doc != nil {
			return e, err
		}
		if !w.placed {
			return Entry{}, nil
		}
	}
}

func (w *walk) descend(id document.ID, key []byte) (Entry, error) {
	if !w.r.sees(id) {
		return Entry{}, nil
	}
	value, err := w.r.v.Get(key)
	if err != nil {
		return Entry{}, err
	}
	if left, err := w.r.passesOver(id, value); left || err != nil {
		return Entry{}, err
	}
	h, err := w.r.db.decodeHeadRow(w.r.v, id, value)
	if err != nil {
		return Entry{}, err
	}
	w.doc = Doc{ID: w.r.shown(id), Tree: h.tree, Seq: h.seq}
	e := Entry{Doc: &w.doc}
	if w.bodies && !h.dead {
		e.Winner, err = w.r.Revision(&w.doc, h.winner)
	}
	return e, err
}
