package document

import (
	"crypto/md5"
	"hash"

	"github.com/sectional/sectional/internal/packed"
)

// hashVersion is the first byte of everything that is hashed. Another way of
// hashing would get another one, and would make replicas of different versions
// disagree about the revision of equal edits (which costs a conflict, no data).
const hashVersion = 1

// NewRev returns the deterministic revision of an edit: generation parent.Gen+1,
// hash over parent, deletion, stored body bytes and the attachments in order of
// name. The document id is no part of it.
//
// Of an attachment it takes name, type, encoding and digest, which is what
// replicas agree on: the digest is that of the stored bytes, so the encoding
// decides what they mean. Blob numbers are local and RevPos follows from the
// parents. Stubs must have been replaced by the parent's attachments before.
//
// MD5 is not there for safety: whoever may write can name any revision by
// new_edits=false. It gives the 32 digits that every client expects.
func NewRev(parent Rev, deleted bool, body []byte, atts []Attachment) Rev {
	f := framer{h: md5.New()}
	f.buf = append(f.scratch[:0], hashVersion, flag(deleted))
	f.buf.Uint(uint64(parent.Gen))
	f.buf.Text(parent.Hash)
	f.bytes(body)
	f.buf.Uint(uint64(len(atts)))
	for i := range atts {
		a := &atts[i]
		f.buf.Text(a.Name)
		f.buf.Text(a.ContentType)
		f.buf.Text(a.Encoding)
		f.buf.Raw(a.Digest[:])
	}
	return Rev{Gen: parent.Gen + 1, Hash: f.sum()}
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// framer writes length-prefixed fields into a hash, so that no two lists of
// fields give the same bytes.
type framer struct {
	h       hash.Hash
	buf     packed.Writer // not yet written to h
	scratch [128]byte
}

func (f *framer) bytes(b []byte) {
	f.buf.Uint(uint64(len(b)))
	f.h.Write(f.buf)
	f.h.Write(b)
	f.buf = f.buf[:0]
}

func (f *framer) sum() string {
	f.h.Write(f.buf)
	return string(f.h.Sum(f.scratch[:0]))
}
