package snapshot

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/couchwire"
	"github.com/sectional/sectional/internal/document"
)

// Header is what a stream says of itself before its documents.
type Header struct {
	UUID        string // of the source's store
	Database    string
	Partitioned bool               // the database's kind
	Partition   document.Partition // the snapshot's, "" for the whole database
	Seq         string             // changes since this sequence make the documents complete
	After       string             // the mark that the stream goes on from, "" for the beginning
}

func (h *Header) append(b []byte) []byte {
	b = appendText(b, h.UUID)
	b = appendText(b, h.Database)
	b = append(b, flag(h.Partitioned))
	b = appendText(b, string(h.Partition))
	b = appendText(b, h.Seq)
	return appendText(b, h.After)
}

func readHeader(payload []byte) (h Header, ok bool) {
	p := parser{b: payload}
	h.UUID, h.Database = p.text(), p.text()
	h.Partitioned = p.bool()
	h.Partition = document.Partition(p.text())
	h.Seq, h.After = p.text(), p.text()
	return h, p.done()
}

// blob announces the bytes of an attachment, which follow in chunks.
type blob struct {
	shared bool // later leaves may name it too
	length uint64
	digest [16]byte // MD5
}

func (h *blob) append(b []byte) []byte {
	b = append(b, flag(h.shared))
	b = binary.AppendUvarint(b, h.length)
	return append(b, h.digest[:]...)
}

func readBlob(payload []byte) (h blob, ok bool) {
	p := parser{b: payload}
	h.shared, h.length = p.bool(), p.uint()
	copy(h.digest[:], p.take(uint64(len(h.digest))))
	return h, p.done() && h.length <= 1<<62
}

// appendDocument appends what a document frame has before the first leaf.
func appendDocument(b []byte, id document.ID, t *document.Tree) []byte {
	b = appendText(b, string(id))
	at := len(b)
	b = t.AppendBinary(append(b, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// readDocument reads a document frame; rest is the first leaf, empty if that
// follows in a frame of its own. The id is not checked.
func readDocument(payload []byte) (id string, t document.Tree, rest []byte, ok bool) {
	p := parser{b: payload}
	id = p.text()
	size := p.take(4)
	if p.bad {
		return "", t, nil, false
	}
	tree := p.take(uint64(binary.LittleEndian.Uint32(size)))
	if p.bad {
		return "", t, nil, false
	}
	t, left, err := document.DecodeTree(tree)
	return id, t, p.b, err == nil && len(left) == 0 && t.Unloaded() == 0 && !t.Empty() && goodRevs(&t)
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

func (a *leafAttachment) append(b []byte) []byte {
	b = appendText(b, a.name)
	b = appendText(b, a.contentType)
	b = binary.AppendUvarint(b, uint64(a.revPos))
	b = append(b, flag(a.zipped))
	b = binary.AppendUvarint(b, a.length)
	return binary.AppendUvarint(b, a.blob)
}

// readLeaf reads a leaf: its attachments, which stand in the order of their
// names, and its body to the end. The body shares the payload's memory and is
// not checked.
func readLeaf(payload []byte) (atts []leafAttachment, body []byte, ok bool) {
	p := parser{b: payload}
	for n := p.uint(); n > 0 && !p.bad; n-- {
		a := leafAttachment{name: p.text(), contentType: p.text()}
		a.revPos = uint32(min(p.uint(), 1<<31))
		a.zipped, a.length, a.blob = p.bool(), p.uint(), p.uint()
		if couchwire.CheckAttachmentName(a.name) != nil || !utf8.ValidString(a.contentType) || a.revPos > 1<<31-1 ||
			a.length > 1<<62 || len(atts) > 0 && atts[len(atts)-1].name >= a.name {
			return nil, nil, false
		}
		atts = append(atts, a)
	}
	return atts, p.b, !p.bad
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
	more bool   // the snapshot goes on, in another stream after mark
	mark string // "" when no document was sent yet
	Counts
}

func (e *end) append(b []byte) []byte {
	b = append(b, flag(e.more))
	b = appendText(b, e.mark)
	for _, n := range []int64{e.Documents, e.Leaves, e.Blobs, e.Bytes} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

func readEnd(payload []byte) (e end, ok bool) {
	p := parser{b: payload}
	e.more, e.mark = p.bool(), p.text()
	for _, n := range []*int64{&e.Documents, &e.Leaves, &e.Blobs, &e.Bytes} {
		*n = int64(p.uint())
	}
	return e, p.done()
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// parser takes a payload apart. After the first mistake bad is set and what it
// gives means nothing.
type parser struct {
	b   []byte
	bad bool
}

func (p *parser) take(n uint64) []byte {
	if p.bad || n > uint64(len(p.b)) {
		p.bad = true
		return nil
	}
	s := p.b[:n:n]
	p.b = p.b[n:]
	return s
}

func (p *parser) uint() uint64 {
	n, size := binary.Uvarint(p.b)
	if size <= 0 {
		p.bad = true
		return 0
	}
	p.b = p.b[size:]
	return n
}

func (p *parser) text() string { return string(p.take(p.uint())) }

func (p *parser) bool() bool {
	s := p.take(1)
	if p.bad || s[0] > 1 {
		p.bad = true
		return false
	}
	return s[0] == 1
}

func (p *parser) done() bool { return !p.bad && len(p.b) == 0 }
