package couchwire

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/md5"
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/document"
)

// Gzip is the name of the one encoding in which attachments are stored.
const Gzip = "gzip"

// Accepts tells whether an Accept-Encoding header takes an encoding: by its
// name, or else by the "*" that stands for those without a word of their own.
func Accepts(header, encoding string) bool {
	others := false
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(part, ";")
		name = strings.TrimSpace(name)
		_, q, weighed := strings.Cut(params, "q=")
		v, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
		takes := !weighed || err == nil && v > 0
		switch {
		case strings.EqualFold(name, encoding):
			return takes
		case name == "*":
			others = takes
		}
	}
	return others
}

// MaxInline is the size up to which attachments that come in a part or request
// of their own are better kept in memory and stored with SetData.
const MaxInline = 16 << 10

// compressionLevel is CouchDB's default, [attachments] compression_level.
const compressionLevel = 8

// SetData makes data the bytes of a, compressed or as they are, and sets the
// fields that follow from them.
func SetData(a *document.Attachment, data []byte, compress bool) {
	a.Length = int64(len(data))
	a.Encoding = ""
	if compress {
		a.Encoding = Gzip
		data = compressed(data)
	}
	SetEncoded(a, data)
}

// SetEncoded makes data, which is in the encoding a names, the bytes of a. The
// length before encoding stays as it is.
func SetEncoded(a *document.Attachment, data []byte) {
	if data == nil {
		data = []byte{}
	}
	a.Data = data
	a.Encoded = int64(len(data))
	if a.Encoding == "" {
		a.Length = a.Encoded
	}
	a.Digest = md5.Sum(data)
}

// compressed packs data with gzip. Digests are those of the packed bytes, so a
// short text is packed into the very bytes that zlib, and so CouchDB, makes of
// it: the same attachment then has the same digest on both, as long as no part
// of it repeats.
func compressed(data []byte) []byte {
	var b bytes.Buffer
	if len(data) > MaxInline {
		w, err := gzip.NewWriterLevel(&b, compressionLevel)
		if err != nil {
			panic(err) // the level is a constant
		}
		_, _ = w.Write(data) // a bytes.Buffer takes everything
		_ = w.Close()
		return b.Bytes()
	}
	b.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3}) // deflate, no time, Unix
	head := b.Len()
	w, err := flate.NewWriter(&b, compressionLevel)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(data)
	_ = w.Close()
	out := append(b.Bytes()[:head], oneBlock(b.Bytes()[head:])...)
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(data))
	return binary.LittleEndian.AppendUint32(out, uint32(len(data)))
}

// oneBlock rewrites a deflate stream of one block and the empty stored block
// that Go's writer closes with: it marks the first block as the last and drops
// the other. The marker of the dropped block is the last bit set before its
// four bytes of length.
func oneBlock(s []byte) []byte {
	s = bytes.TrimRight(s[:len(s)-4], "\x00")
	top := bits.Len8(s[len(s)-1]) - 1
	s[len(s)-1] &^= 1 << top
	if top == 0 {
		s = s[:len(s)-1]
	}
	if len(s) == 0 {
		return []byte{3, 0} // nothing at all: an empty block in fixed codes
	}
	s[0] |= 1
	return s
}
