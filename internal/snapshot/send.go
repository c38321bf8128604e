package snapshot

import (
	"context"
	"io"
	"slices"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/packed"
	"github.com/sectional/sectional/internal/store"
)

// A page is what one snapshot of the store gives to a stream. It ends at these
// bounds, between two leaves of a document if need be; attachments count, though
// they are read later, so that a stream that is cut has not to be repeated from
// far back.
const (
	pageDocs  = 1000
	pageBytes = 512 << 10
)

// maxShared is how many blobs that are named more than once a stream remembers.
// Further ones are sent again each time.
const maxShared = 100_000

// Source returns snapshots of a scope.
type Source struct {
	scope  store.Scope
	begin  bookmark
	header Header
	docs   int // of a page
}

// Open begins a snapshot, or goes on after the bookmark that an earlier stream gave
// as after; uuid is that of the store. Errors: Invalid invalid_bookmark for a
// bookmark of something else; NotFound when the database has been dropped.
func Open(ctx context.Context, s store.Scope, uuid, after string) (*Source, error) {
	src := &Source{scope: s, docs: pageDocs}
	var err error
	if after != "" {
		src.begin, err = parseBookmark(s, after)
	} else {
		// From this sequence on changes have to be read: what a page shows is
		// at least as new.
		err = s.View(ctx, func(r *store.Reader) error {
			src.begin.seq, err = r.LastSeq()
			return err
		})
	}
	src.header = Header{UUID: uuid, Database: s.Database().Name(), Partitioned: s.Database().Partitioned(),
		Partition: s.Partition(), Seq: s.FormatSeq(src.begin.seq), After: after}
	return src, err
}

// Send writes the stream: all documents, or, if most is above 0, about as many as
// take up so many bytes, attachments included, and at least one. Where a page
// ends the writer is flushed if it can be (Flush() error). Errors: those of w
// and of the store; the stream then lacks its end.
func (s *Source) Send(ctx context.Context, w io.Writer, most int64) (Counts, error) {
	out := &sender{Source: s, ctx: ctx, w: w, frames: newFrames(w), last: s.begin.last, shared: map[uint64]uint64{}}
	err := out.send(most)
	return out.Counts, err
}

// sender is one stream on its way.
type sender struct {
	*Source
	ctx    context.Context
	w      io.Writer
	frames *frames
	last   document.ID // everything up to it has been sent
	Counts

	page    page
	named   uint64            // blobs that have a number in the stream
	shared  map[uint64]uint64 // of the blobs that may be named again, by the store's number
	of      document.Partition
	payload packed.Writer
	chunk   []byte
}

// page is frames that wait for the snapshot that they were read from to close.
type page struct {
	data   packed.Writer // their payloads, one after the other
	steps  []step
	docs   int
	leaves int64
	extra  int64 // bytes of attachments
	more   bool  // there are documents after it
	last   document.ID
	rest   []document.Node // leaves of the last document that are still to be read
}

func (p *page) full() bool { return int64(len(p.data))+p.extra >= pageBytes }

// step is a frame with the blobs that go before it.
type step struct {
	kind  byte
	end   int // of its payload in the page's data
	blobs []pending
}

type pending struct {
	document.Attachment
	shared bool
}

func (s *sender) send(most int64) error {
	if err := s.frames.put(kindHeader, s.header.append(nil)); err != nil {
		return err
	}
	for more := true; more; {
		if err := s.scope.View(s.ctx, s.read); err != nil {
			return err
		}
		if err := s.sendPage(); err != nil {
			return err
		}
		if more = s.page.more; more && most > 0 && s.frames.sent >= most {
			break
		}
	}
	e := end{more: s.page.more, Counts: s.Counts}
	if s.last != "" {
		e.bookmark = bookmark{s.begin.seq, s.last}.text(s.scope)
	}
	if err := s.frames.put(kindEnd, e.append(nil)); err != nil {
		return err
	}
	return s.flush()
}

// read fills the page with the documents that come next.
func (s *sender) read(r *store.Reader) error {
	p := &s.page
	*p = page{data: p.data[:0], steps: p.steps[:0], last: s.last}
	var span store.Span
	if s.last != "" {
		span.From = string(s.last) + "\x00"
	}
	for d, err := range r.Replicas(span) {
		if err != nil {
			return err
		}
		if p.docs >= s.docs || p.full() {
			p.more = true
			return nil
		}
		if err := s.document(r, d); err != nil {
			return err
		}
		p.last = d.ID
		p.docs++
	}
	return nil
}

// document adds a document to the page, with as many of its leaves as there is
// room for. The first leaf lies in the document's frame unless it has
// attachments, whose bytes go between the two.
func (s *sender) document(r *store.Reader, d *store.Replica) error {
	if of := d.ID.Partition(); s.header.Partitioned && of != s.of {
		s.of = of
		clear(s.shared) // blobs are shared within a partition only
	}
	p := &s.page
	p.data = appendDocument(p.data, d.ID, &d.Tree)
	kind := byte(kindDocument)
	for i := range d.Leaves {
		if i > 0 && p.full() {
			p.rest = slices.Clone(d.Leaves[i:])
			return nil
		}
		l, err := d.Leaf(i)
		if err != nil {
			return err
		}
		if i == 0 && len(l.Attachments) > 0 {
			p.steps = append(p.steps, step{kind: kindDocument, end: len(p.data)})
			kind = kindLeaf
		}
		if err := s.add(r, kind, l); err != nil {
			return err
		}
		kind = kindLeaf
	}
	return nil
}

// readRest fills the page, which has been sent, with more leaves of its last
// document. The snapshot is another one: a leaf may have been edited since and be
// gone, or the document. Then the stream is cut, and whoever goes on after the
// last bookmark gets the document as it is.
func (s *sender) readRest(r *store.Reader) error {
	p := &s.page
	p.data, p.steps, p.extra = p.data[:0], p.steps[:0], 0
	d, err := r.Doc(p.last)
	for err == nil && len(p.rest) > 0 && !p.full() {
		var l *store.Revision
		if l, err = r.Revision(d, p.rest[0].Rev); err == nil {
			err = s.add(r, kindLeaf, l)
		}
		p.rest = p.rest[1:]
	}
	return err
}

// add adds the frame of a leaf to the page.
func (s *sender) add(r *store.Reader, kind byte, l *store.Revision) error {
	blobs, err := s.leaf(r, l)
	s.page.steps = append(s.page.steps, step{kind: kind, end: len(s.page.data), blobs: blobs})
	s.page.leaves++
	return err
}

// leaf appends a leaf to the page's data and returns the blobs that have to be
// sent before it.
func (s *sender) leaf(r *store.Reader, l *store.Revision) (blobs []pending, err error) {
	p := &s.page
	p.data.Uint(uint64(len(l.Attachments)))
	for i := range l.Attachments {
		a := &l.Attachments[i]
		n, known := s.shared[a.Blob]
		if !known {
			shared, err := r.Shared(a)
			if err != nil {
				return nil, err
			}
			s.named++
			n = s.named
			if shared = shared && len(s.shared) < maxShared; shared {
				s.shared[a.Blob] = n
			}
			blobs = append(blobs, pending{*a, shared})
			p.extra += a.Encoded
		}
		sent := leafAttachment{name: a.Name, contentType: a.ContentType, revPos: a.RevPos,
			zipped: a.Encoding != "", length: uint64(a.Length), blob: n}
		p.data = sent.append(p.data)
	}
	p.data.Raw(l.Body)
	return blobs, nil
}

// sendPage sends what read has found, what else belongs to its last document, and
// the bookmark after it.
func (s *sender) sendPage() error {
	if err := s.sendSteps(); err != nil {
		return err
	}
	for len(s.page.rest) > 0 {
		if err := s.scope.View(s.ctx, s.readRest); err != nil {
			return err
		}
		if err := s.sendSteps(); err != nil {
			return err
		}
	}
	s.Documents += int64(s.page.docs)
	s.Leaves += s.page.leaves
	if s.page.docs == 0 {
		return nil
	}
	s.last = s.page.last
	s.payload = s.payload[:0]
	s.payload.Text(bookmark{s.begin.seq, s.last}.text(s.scope))
	if err := s.frames.put(kindBookmark, s.payload); err != nil {
		return err
	}
	return s.flush()
}

// sendSteps sends the frames of the page, and the blobs that go before them.
func (s *sender) sendSteps() error {
	from := 0
	for i := range s.page.steps {
		st := &s.page.steps[i]
		for j := range st.blobs {
			if err := s.sendBlob(&st.blobs[j]); err != nil {
				return err
			}
		}
		if err := s.frames.put(st.kind, s.page.data[from:st.end]); err != nil {
			return err
		}
		from = st.end
	}
	return nil
}

// chunkSize is how many bytes of a blob one frame holds.
const chunkSize = 128 << 10

// sendBlob sends the bytes of an attachment. They may be gone by now, when the
// document has changed since its page was read; then the stream is cut, and
// whoever goes on after the last bookmark gets the document as it is.
func (s *sender) sendBlob(a *pending) error {
	s.Blobs++
	s.Bytes += a.Encoded
	h := blob{shared: a.shared, length: uint64(a.Encoded), digest: a.Digest}
	s.payload = h.append(s.payload[:0])
	if err := s.frames.put(kindBlob, s.payload); err != nil {
		return err
	}
	if s.chunk == nil {
		s.chunk = make([]byte, chunkSize)
	}
	from := s.scope.Download(s.ctx, a.Attachment, 0, a.Encoded)
	for left := a.Encoded; left > 0; {
		n := min(left, chunkSize)
		if _, err := io.ReadFull(from, s.chunk[:n]); err != nil {
			return err
		}
		if err := s.frames.put(kindChunk, s.chunk[:n]); err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// flush passes everything on.
func (s *sender) flush() error {
	if err := s.frames.flush(); err != nil {
		return err
	}
	if f, ok := s.w.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}
