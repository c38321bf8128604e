package store

import (
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/keyspace"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/packed"
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
	p := make(packed.Writer, 0, 16+len(body)+64*len(atts))
	p.Byte(rowVersion)
	large := len(body) > chunkSize
	p.Flag(large)
	p.Uint(uint64(len(atts)))
	for i := range atts {
		packAttachment(&p, &atts[i])
	}
	if !large {
		p.Raw(body)
		return p, nil
	}
	p.Uint(uint64(len(body)))
	for len(body) > 0 {
		n := min(chunkSize, len(body))
		chunks = append(chunks, body[:n])
		body = body[n:]
	}
	return p, chunks
}

func packAttachment(p *packed.Writer, a *document.Attachment) {
	p.Text(a.Name)
	p.Text(a.ContentType)
	p.Uint(uint64(a.RevPos))
	p.Raw(a.Digest[:])
	p.Uint(uint64(a.Length))
	p.Uint(uint64(a.Encoded))
	p.Text(a.Encoding)
	p.Uint(a.Blob)
}

func unpackAttachment(u *packed.Reader) (a document.Attachment) {
	a.Name = u.Text()
	a.ContentType = u.Text()
	a.RevPos = uint32(u.Uint())
	copy(a.Digest[:], u.Take(16))
	a.Length = int64(u.Uint())
	a.Encoded = int64(u.Uint())
	a.Encoding = u.Text()
	a.Blob = u.Uint()
	return a
}

// stored is a decoded body row: the body, or the length of one in chunks.
type stored struct {
	attachments []document.Attachment
	body        []byte
	length      uint64 // of a body in chunks, else 0
}

func decodeBody(b []byte) (s stored, err error) {
	u := packed.ReadVersion(b, rowVersion)
	large := u.Byte() == bodyChunked
	n := u.Uint()
	for i := uint64(0); i < n && !u.Failed(); i++ {
		s.attachments = append(s.attachments, unpackAttachment(&u))
	}
	if large {
		s.length = u.Uint()
		return s, u.Done()
	}
	s.body = u.Rest()
	return s, u.Err()
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
	if tx, ok := s.(kv.Txn); ok {
		return b, d.readChunks(tx, id, r, &b)
	}
	err = kv.Each(s, d.chunkRange(id, r), func(_, value []byte) error {
		b.body = append(b.body, value...)
		return nil
	})
	if err == nil && uint64(len(b.body)) != b.length {
		err = packed.ErrFormat
	}
	return b, err
}

// readChunks reads the chunks of a large body by name: a transaction may have a lane head
// locked, for which others would wait while it walked.
func (d *Database) readChunks(tx kv.Txn, id document.ID, r document.Rev, b *stored) error {
	keys := make([][]byte, chunksOf(b.length))
	for i := range keys {
		keys[i] = d.bodyChunkKey(id, r, i)
	}
	chunks, err := tx.GetMany(keys)
	for _, c := range chunks {
		b.body = append(b.body, c...)
	}
	if err == nil && uint64(len(b.body)) != b.length {
		err = packed.ErrFormat
	}
	return err
}
