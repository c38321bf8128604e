package snapshot

import (
	"context"
	"errors"
	"io"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/store"
)

// LoadOptions change Load; the zero value limits nothing.
type LoadOptions struct {
	Rules couchwire.Rules // limits of ids, bodies and attachments
	// Refused is told each revision that the target does not take; nil: nobody.
	Refused func(Refusal)
}

// Refusal is a revision that was not stored, and why.
type Refusal struct {
	ID  document.ID
	Rev document.Rev
	Err error
}

// Progress says how far a load came, whether or not it failed.
type Progress struct {
	Header   Header
	Counts          // read from the stream
	Refused  int64  // revisions that the target did not take
	Bookmark string // of the source: what lies before it is on disk here, or refused; "" for nothing
	Whole    bool   // the stream came to its end
	More     bool   // and the snapshot goes on after Bookmark
}

// Load stores what a stream brings through the scope's entry point, as replicated
// revisions: rules and validation hold for each, those that are there already
// change nothing, and one that is refused stops no other; one that the store could
// not take at the moment ends the load. It may be repeated, as
// a whole or from Bookmark on. Errors: Invalid bad_snapshot for a stream that is
// damaged, ends too early or is none, what from returns, and faults of the store;
// whatever was read well until then is stored.
func Load(ctx context.Context, s store.Scope, from io.Reader, o LoadOptions) (Progress, error) {
	l := &loader{ctx: ctx, scope: s, o: o, blobs: map[uint64]*sharedBlobs{}, writes: newWrites(ctx, s, o.Refused)}
	err := l.load(from)
	if !l.writes.add(l.batch, l.at) && err == nil {
		err = errFailed
	}
	durable, refused, failed := l.writes.wait()
	if err == nil || errors.Is(err, errFailed) {
		err = failed
	}
	l.Refused += refused
	switch {
	case failed == nil:
		l.Bookmark = l.at
	case durable != "":
		l.Bookmark = durable
	default:
		l.Bookmark = l.Header.After
	}
	l.Whole = l.Whole && err == nil
	return l.Progress, err
}

// errFailed says that a write has failed, whose own error says why.
var errFailed = errors.New("snapshot: a write failed")

// loader is one load on its way.
type loader struct {
	Progress
	ctx    context.Context
	scope  store.Scope
	o      LoadOptions
	frames *frameReader
	writes *writes
	at     string // the bookmark read last

	current current
	blobs   map[uint64]*sharedBlobs // those that leaves may name, by number
	single  int                     // of them, those that one leaf is to name
	inline  int                     // bytes of them that are in memory
	batch   batch
}

// current is the document whose leaves are being read.
type current struct {
	id      string
	tree    document.Tree
	leaves  []document.Node // that are to come
	refused error           // why none of them is wanted
}

// handlers take the frames after the header.
func (l *loader) handlers() map[byte]func([]byte) error {
	return map[byte]func([]byte) error{
		kindDocument: l.document, kindLeaf: l.leaf, kindBlob: l.blob, kindBookmark: l.bookmark, kindEnd: l.end,
	}
}

func (l *loader) load(from io.Reader) error {
	var err error
	if l.frames, err = newFrameReader(from); err != nil {
		return err
	}
	kind, payload, err := l.frames.next()
	if err != nil {
		return err
	}
	var ok bool
	if l.Header, ok = decodeHeader(payload); !ok || kind != kindHeader {
		return l.unreadable()
	}
	l.at = l.Header.After
	handlers := l.handlers()
	for !l.Whole {
		kind, payload, err := l.frames.next()
		if err != nil {
			return err
		}
		handle := handlers[kind]
		// Leaves and their blobs come when a document waits for them, the rest
		// when none does.
		if waits := kind == kindLeaf || kind == kindBlob; handle == nil || waits != (len(l.current.leaves) > 0) {
			return l.unreadable()
		}
		if err := handle(payload); err != nil {
			return err
		}
	}
	return l.frames.atEnd()
}

func (l *loader) unreadable() error {
	return malformed("Frame %d of the snapshot can't be read.", l.frames.frames)
}

func (l *loader) document(payload []byte) error {
	id, tree, first, ok := decodeDocument(payload)
	if !ok {
		return l.unreadable()
	}
	parsed, err := document.ParseID(id, 0)
	if err != nil || parsed.IsLocal() {
		return l.unreadable()
	}
	if l.Header.Partitioned && parsed.Partition() != document.ID(l.current.id).Partition() {
		clear(l.blobs)
	}
	l.current = current{id: id, tree: tree, leaves: tree.Leaves()}
	l.current.refused = l.refuses(parsed)
	l.Documents++
	if len(first) == 0 {
		return nil
	}
	return l.leaf(first)
}

// refuses reports why the target takes no document of this id.
func (l *loader) refuses(id document.ID) error {
	if _, err := document.ParseID(string(id), l.o.Rules.MaxID); err != nil {
		return err
	}
	if l.scope.Database().Partitioned() {
		if err := id.CheckPartitioned(); err != nil {
			return err
		}
	}
	return l.scope.CheckID(id)
}

func (l *loader) leaf(payload []byte) error {
	atts, raw, ok := decodeLeaf(payload)
	if !ok {
		return l.unreadable()
	}
	body, special, err := document.Split(raw)
	if err != nil || len(special) > 0 {
		return malformed("Document %s of the snapshot has a body that can't be stored.", l.current.id)
	}
	n := l.current.leaves[0]
	l.current.leaves = l.current.leaves[1:]
	l.Leaves++
	path, _ := l.current.tree.Path(n.Rev)
	e := document.Edit{ID: document.ID(l.current.id), Path: path, Deleted: n.Deleted, Body: body}
	if len(path) > 1 {
		e.Tombstones = l.current.tree.InnerTombstones(path)
	}
	refused := l.current.refused
	if most := l.o.Rules.MaxDocument; refused == nil && most > 0 && len(body) > most {
		refused = l.o.Rules.DocumentTooLarge(document.ID(l.current.id))
	}
	for i := range atts {
		a, err := l.attachment(&atts[i], refused == nil)
		switch {
		case err == nil:
			e.Attachments = append(e.Attachments, a)
		case dberr.Is(err, dberr.TooLarge):
			refused = err
		default:
			return err
		}
	}
	if len(l.current.leaves) == 0 && l.single > 0 {
		return l.unreadable() // bytes that nobody names
	}
	if refused != nil {
		l.writes.refuse(Refusal{ID: document.ID(l.current.id), Rev: n.Rev, Err: refused})
		return nil
	}
	l.batch.take(e)
	if !l.batch.full() {
		return nil
	}
	full := l.batch
	l.batch = batch{}
	if !l.writes.add(full, l.at) {
		return errFailed
	}
	return nil
}

func (l *loader) bookmark(payload []byte) error {
	p := packed.Read(payload)
	if l.at = p.Text(); p.Done() != nil {
		return l.unreadable()
	}
	return nil
}

func (l *loader) end(payload []byte) error {
	e, ok := decodeEnd(payload)
	if !ok || e.Counts != l.Counts || e.bookmark != l.at && e.bookmark != "" {
		return l.unreadable()
	}
	l.Whole, l.More = true, e.more
	return nil
}
