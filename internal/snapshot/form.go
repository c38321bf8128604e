package snapshot

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/packed"
)

// Header is what a stream says of itself before its documents.
type Header struct {
	UUID        string // of the source's store
	Database    string
	Partitioned bool               // the database's kind
	Partition   document.Partition // the snapshot's, "" for the whole database
	Seq         string             // changes since this sequence make the documents complete
	After       string             // the bookmark that the stream goes on from, "" for the beginning
}

func (h *Header) append(w packed.Writer) []byte {
	w.Text(h.UUID)
	w.Text(h.Database)
	w.Flag(h.Partitioned)
	w.Text(string(h.Partition))
	w.Text(h.Seq)
	w.Text(h.After)
	return w
}

func decodeHeader(payload []byte) (h Header, ok bool) {
	p := packed.Read(payload)
	h.UUID, h.Database = p.Text(), p.Text()
	h.Partitioned = p.Flag()
	h.Partition = document.Partition(p.Text())
	h.Seq, h.After = p.Text(), p.Text()
	return h, p.Done() == nil
}

// blob announces the bytes of an attachment, which follow in chunks.
type blob struct {
	shared bool // later leaves may name it too
	length uint64
	digest [16]byte // MD5
}

func (h *blob) append(w packed.Writer) []byte {
	w.Flag(h.shared)
	w.Uint(h.length)
	w.Raw(h.digest[:])
	return w
}

func decodeBlob(payload []byte) (h blob, ok bool) {
	p := packed.Read(payload)
	h.shared, h.length = p.Flag(), p.Uint()
	copy(h.digest[:], p.Take(uint64(len(h.digest))))
	return h, p.Done() == nil && h.length <= 1<<62
}

// appendDocument appends what a document frame has before the first leaf.
func appendDocument(w packed.Writer, id document.ID, t *document.Tree) []byte {
	w.Text(string(id))
	at := len(w)
	w = t.AppendBinary(append(w, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(w[at:], uint32(len(w)-at-4))
	return w
}

// decodeDocument decodes a document frame; rest is the first leaf, empty if that
// follows in a frame of its own. The id is not checked.
func decodeDocument(payload []byte) (id string, t document.Tree, rest []byte, ok bool) {
	p := packed.Read(payload)
	id = p.Text()
	size := p.Take(4)
	if p.Failed() {
		return "", t, nil, false
	}
	tree := p.Take(uint64(binary.LittleEndian.Uint32(size)))
	if p.Failed() {
		return "", t, nil, false
	}
	t, left, err := document.DecodeTree(tree)
	return id, t, p.Rest(), err == nil && len(left) == 0 && t.Unloaded() == 0 && !t.Empty() && goodRevs(&t)
}

// goodRevs reports whether all revisions are such as a client could have sent.
func goodRevs(t *document.Tree) bool {
	for _, l := range t.Leaves() {
		path, _ := t.Path(l.Rev)
		for _, r := range path {
			if r.Gen == 0 {
				return false
			}
			if len(r.Hash) == 16 {
				continue
			}
			if again, err := document.ParseRev(r.String()); err != nil || again != r {
				return false
			}
		}
	}
	return true
}

// leafAttachment is an attachment as a leaf names it.
type leafAttachment struct {
	name, contentType string
	revPos            uint32
	zipped            bool
	length            uint64 // before encoding
	blob              uint64 // the n-th of the stream
}

func (a *leafAttachment) append(w packed.Writer) []byte {
	w.Text(a.name)
	w.Text(a.contentType)
	w.Uint(uint64(a.revPos))
	w.Flag(a.zipped)
	w.Uint(a.length)
	w.Uint(a.blob)
	return w
}

// decodeLeaf decodes a leaf: its attachments, which are in the order of their
// names, and its body to the end. The body shares the payload's memory and is
// not checked.
func decodeLeaf(payload []byte) (atts []leafAttachment, body []byte, ok bool) {
	p := packed.Read(payload)
	for n := p.Uint(); n > 0 && !p.Failed(); n-- {
		a := leafAttachment{name: p.Text(), contentType: p.Text()}
		a.revPos = uint32(min(p.Uint(), 1<<31))
		a.zipped, a.length, a.blob = p.Flag(), p.Uint(), p.Uint()
		if couchwire.CheckAttachmentName(a.name) != nil || !utf8.ValidString(a.contentType) || a.revPos > 1<<31-1 ||
			a.length > 1<<62 || len(atts) > 0 && atts[len(atts)-1].name >= a.name {
			return nil, nil, false
		}
		atts = append(atts, a)
	}
	return atts, p.Rest(), !p.Failed()
}

// Counts are what a stream has brought.
type Counts struct {
	Documents int64
	Leaves    int64
	Blobs     int64
	Bytes     int64 // of blobs
}

// end is the last frame.
type end struct {
	more     bool   // the snapshot goes on, in another stream after bookmark
	bookmark string // "" when no document was sent yet
	Counts
}

func (e *end) append(w packed.Writer) []byte {
	w.Flag(e.more)
	w.Text(e.bookmark)
	for _, n := range []int64{e.Documents, e.Leaves, e.Blobs, e.Bytes} {
		w.Uint(uint64(n))
	}
	return w
}

func decodeEnd(payload []byte) (e end, ok bool) {
	p := packed.Read(payload)
	e.more, e.bookmark = p.Flag(), p.Text()
	for _, n := range []*int64{&e.Documents, &e.Leaves, &e.Blobs, &e.Bytes} {
		*n = int64(p.Uint())
	}
	return e, p.Done() == nil
}
