package store

import (
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
)

// chunkSize is how much of a large body or of a blob one row holds.
const chunkSize = 64 << 10

// A body row holds the attachments of a revision and its body, or, when the
// body is over chunkSize, the length of the body that lies in chunk rows.
const (
	bodyInline  = 0
	bodyChunked = 1
)

// bodyValue encodes a revision's body row; chunks are the rows to be written
// beside it, none for most bodies.
func bodyValue(body []byte, atts []document.Attachment) (value []byte, chunks [][]byte) {
	p := packer{b: make([]byte, 0, 16+len(body)+64*len(atts))}
	p.byte(rowVersion)
	large := len(body) > chunkSize
	p.byte(flag(large))
	p.uint(uint64(len(atts)))
	for i := range atts {
		packAttachment(&p, &atts[i])
	}
	if !large {
		p.b = append(p.b, body...)
		return p.b, nil
	}
	p.uint(uint64(len(body)))
	for len(body) > 0 {
		n := min(chunkSize, len(body))
		chunks = append(chunks, body[:n])
		body = body[n:]
	}
	return p.b, chunks
}

func packAttachment(p *packer, a *document.Attachment) {
	p.text(a.Name)
	p.text(a.ContentType)
	p.uint(uint64(a.RevPos))
	p.b = append(p.b, a.Digest[:]...)
	p.uint(uint64(a.Length))
	p.uint(uint64(a.Encoded))
	p.text(a.Encoding)
	p.uint(a.Blob)
}

func unpackAttachment(u *unpacker) (a document.Attachment) {
	a.Name = u.text()
	a.ContentType = u.text()
	a.RevPos = uint32(u.uint())
	copy(a.Digest[:], u.take(16))
	a.Length = int64(u.uint())
	a.Encoded = int64(u.uint())
	a.Encoding = u.text()
	a.Blob = u.uint()
	return a
}

// stored is a decoded body row: the body, or the length of one in chunks.
type stored struct {
	attachments []document.Attachment
	body        []byte
	length      uint64 // of a body in chunks, else 0
}

func decodeBody(b []byte) (s stored, err error) {
	u := newUnpacker(b, rowVersion)
	large := u.byte() == bodyChunked
	n := u.uint()
	for i := uint64(0); i < n && !u.bad; i++ {
		s.attachments = append(s.attachments, unpackAttachment(&u))
	}
	if large {
		s.length = u.uint()
		return s, u.done()
	}
	s.body = u.b
	return s, u.ok()
}

func (d *Database) bodyKey(id document.ID, r document.Rev) []byte {
	return keyspace.Doc.Key(d.number, keyspace.T(string(id)), keyspace.U(keyspace.SubBody),
		keyspace.B(keyspace.BodyTail(r.Gen, r.Hash)))
}

func (d *Database) headKey(id document.ID) []byte {
	return keyspace.Doc.Key(d.number, keyspace.T(string(id)), keyspace.U(keyspace.SubHead))
}

func (d *Database) chunkRange(id document.ID, r document.Rev) kv.Range {
	return kv.Prefix(keyspace.BodyChunk.Key(d.number, keyspace.T(string(id)), keyspace.U(uint64(r.Gen)), keyspace.T(r.Hash)))
}

// readBody reads the body row of a revision, with the chunks of a large one.
func (d *Database) readBody(s kv.Snapshot, id document.ID, r document.Rev) (stored, error) {
	value, err := s.Get(d.bodyKey(id, r))
	if err != nil {
		return stored{}, err
	}
	return d.openBody(s, id, r, value)
}

// openBody decodes a body row and fetches the chunks of a large body.
func (d *Database) openBody(s kv.Snapshot, id document.ID, r document.Rev, value []byte) (stored, error) {
	b, err := decodeBody(value)
	if err != nil || b.length == 0 {
		return b, err
	}
	b.body = make([]byte, 0, b.length)
	err = kv.Each(s, d.chunkRange(id, r), func(_, value []byte) error {
		b.body = append(b.body, value...)
		return nil
	})
	if err == nil && uint64(len(b.body)) != b.length {
		err = errFormat
	}
	return b, err
}
