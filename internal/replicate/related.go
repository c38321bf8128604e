package replicate

import (
	"bytes"
	"crypto/md5"
	"crypto/rand"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime"
	"mime/multipart"

	"github.com/sectional/sectional/internal/couchwire"
)

// related is the body of a PUT with attachments, made of the parts that the
// source sends while they come: no attachment is ever in memory. Lengths and
// digests are checked on the way; if one is wrong, the body breaks off before
// its end, and the target stores nothing.
type related struct {
	parts    *multipart.Reader
	doc      *couchwire.Document
	boundary string
	length   int64    // of the whole, -1: not known
	texts    [][]byte // what comes before each attachment, and after the last

	now    io.Reader // what is being sent
	step   int       // texts and attachments in turn
	broken error     // the source's answer broke off
	wrong  error     // it is whole, and wrong
}

// errWrong is what the target's client gets of a body that breaks off.
var errWrong = errors.New("the attachments are not as the document says")

// newRelated makes the body for a document, as its source wrote it and parsed,
// whose attachments are the next parts.
func newRelated(raw []byte, d *couchwire.Document, parts *multipart.Reader) (*related, error) {
	boundary, err := couchwire.NewBoundary(rand.Reader)
	if err != nil {
		return nil, err
	}
	b := &related{parts: parts, doc: d, boundary: boundary}
	var text bytes.Buffer
	out := couchwire.NewParts(&text, boundary)
	cut := func() {
		b.texts = append(b.texts, bytes.Clone(text.Bytes()))
		b.length += int64(text.Len())
		text.Reset()
	}
	if err := out.Part("Content-Type", "application/json"); err != nil {
		return nil, err
	}
	text.Write(raw)
	known := true
	for _, f := range d.Follows {
		a := d.Attachments[f.Index]
		a.Encoded = f.Length
		if err := out.Part(couchwire.AttachmentHeaders(&a)...); err != nil {
			return nil, err
		}
		cut()
		known = known && f.Length >= 0
		b.length += f.Length
	}
	if err := out.Close(); err != nil {
		return nil, err
	}
	cut()
	if !known {
		b.length = -1
	}
	b.now = bytes.NewReader(b.texts[0])
	return b, nil
}

func (b *related) contentType() string { return `multipart/related; boundary="` + b.boundary + `"` }

// Read implements io.Reader.
func (b *related) Read(p []byte) (int, error) {
	for {
		if b.broken != nil || b.wrong != nil {
			return 0, errWrong
		}
		n, err := b.now.Read(p)
		if n > 0 || err == nil {
			return n, nil
		}
		if err != io.EOF {
			if b.wrong == nil {
				b.broken = err
			}
			continue
		}
		if b.step == 2*(len(b.texts)-1) {
			return 0, io.EOF
		}
		b.next()
	}
}

// next goes on to the next attachment, or to the text after it.
func (b *related) next() {
	b.step++
	i := b.step / 2
	if b.step%2 == 0 {
		if i == len(b.texts)-1 && !b.ended() {
			return
		}
		b.now = bytes.NewReader(b.texts[i])
		return
	}
	f := b.doc.Follows[i]
	part, err := b.parts.NextRawPart()
	if err == io.EOF {
		b.wrong = fmt.Errorf("the source sent no bytes of attachment %q", b.doc.Attachments[f.Index].Name)
		return
	}
	if err != nil {
		b.broken = err
		return
	}
	if b.misplaced(part, f.Index) {
		b.wrong = fmt.Errorf("the source sent other bytes in place of attachment %q", b.doc.Attachments[f.Index].Name)
		return
	}
	b.now = &verifyingReader{of: b, from: part, follows: f, name: b.doc.Attachments[f.Index].Name, sum: md5.New()}
}

// ended checks that no parts are left.
func (b *related) ended() bool {
	_, err := b.parts.NextRawPart()
	switch err {
	case io.EOF:
		return true
	case nil:
		b.wrong = errors.New("the source sent more parts than the document has attachments")
	default:
		b.broken = err
	}
	return false
}

// misplaced reports whether a part names another of the document's attachments
// than the one whose turn it is: the order decides at a CouchDB.
func (b *related) misplaced(part *multipart.Part, index int) bool {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return false
	}
	for i, a := range b.doc.Attachments {
		if a.Name == params["filename"] {
			return i != index
		}
	}
	return false
}

// verifyingReader passes on the bytes of an attachment and gives their end only if they
// are what the document says.
type verifyingReader struct {
	of      *related
	from    io.Reader
	follows couchwire.Follow
	name    string
	n       int64
	sum     hash.Hash
}

func (a *verifyingReader) Read(p []byte) (int, error) {
	n, err := a.from.Read(p)
	a.n += int64(n)
	a.sum.Write(p[:n])
	switch {
	case a.follows.Length >= 0 && (a.n > a.follows.Length || err == io.EOF && a.n < a.follows.Length):
		a.of.wrong = fmt.Errorf("the source sent attachment %q in another length than it said", a.name)
		return 0, errWrong
	case err == io.EOF && a.follows.Digest != [16]byte{} && a.follows.Digest != [16]byte(a.sum.Sum(nil)):
		a.of.wrong = fmt.Errorf("the source sent attachment %q with another digest than it said", a.name)
		return 0, errWrong
	}
	return n, err
}
