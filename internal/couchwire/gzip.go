package couchwire

import (
	"bytes"
	"crypto/md5"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/deflate"
	"github.com/sectional/sectional/internal/document"
)

// Gzip is the name of the one encoding in which attachments are stored.
const Gzip = "gzip"

// Accepts reports whether an Accept-Encoding header takes an encoding: by its
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

// compressed packs data with gzip: into the very bytes that CouchDB makes of it,
// since the digest is that of the packed bytes.
func compressed(data []byte) []byte {
	var b bytes.Buffer
	z := deflate.NewWriter(&b)
	_, _ = z.Write(data) // a bytes.Buffer takes everything
	_ = z.Close()
	return b.Bytes()
}
