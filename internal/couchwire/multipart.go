package couchwire

import (
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/document"
)

// Parts writes a multipart body as CouchDB does: nothing before the first
// delimiter and no line end after the last.
type Parts struct {
	w        io.Writer
	boundary string
	buf      []byte
	begun    bool
}

// NewParts begins a body. The caller names the boundary in the content type.
func NewParts(w io.Writer, boundary string) *Parts {
	return &Parts{w: w, boundary: boundary}
}

// NewBoundary makes a boundary of CouchDB's length: 32 digits.
func NewBoundary(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("boundary: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// Part begins a part. The names and values of its headers alternate; values
// are made safe. What the caller writes to the underlying writer afterwards is
// the part's content.
func (p *Parts) Part(headers ...string) error {
	p.delimit()
	for i := 0; i+1 < len(headers); i += 2 {
		p.buf = append(p.buf, "\r\n"...)
		p.buf = append(p.buf, headers[i]...)
		p.buf = append(p.buf, ": "...)
		p.buf = appendHeader(p.buf, headers[i+1])
	}
	p.buf = append(p.buf, "\r\n\r\n"...)
	return p.flush()
}

// appendHeader appends a header's value; whatever would end the line is left
// out.
func appendHeader(dst []byte, value string) []byte {
	for i := range len(value) {
		if c := value[i]; c >= ' ' && c != 0x7f || c == '\t' {
			dst = append(dst, c)
		}
	}
	return dst
}

// Close ends the body.
func (p *Parts) Close() error {
	p.delimit()
	p.buf = append(p.buf, "--"...)
	return p.flush()
}

func (p *Parts) delimit() {
	p.buf = p.buf[:0]
	if p.begun {
		p.buf = append(p.buf, "\r\n"...)
	}
	p.begun = true
	p.buf = append(append(p.buf, "--"...), p.boundary...)
}

func (p *Parts) flush() error {
	_, err := p.w.Write(p.buf)
	return err
}

// WriteRelated writes r and the bytes of the attachments that f wants as a
// multipart/related body: the document first, then a part for each attachment,
// in the order of the document.
func WriteRelated(w io.Writer, boundary string, r *Revision, f Form, open Open) error {
	f.Follows = true
	p := NewParts(w, boundary)
	if err := p.Part("Content-Type", "application/json"); err != nil {
		return err
	}
	if _, err := w.Write(AppendDocument(nil, r, f)); err != nil {
		return err
	}
	for i := range r.Attachments {
		a := &r.Attachments[i]
		if !f.wanted(a) {
			continue
		}
		if err := p.Part(AttachmentHeaders(a)...); err != nil {
			return err
		}
		if _, err := io.Copy(w, open(a)); err != nil {
			return fmt.Errorf("attachment %q: %w", a.Name, err)
		}
	}
	return p.Close()
}

// AttachmentHeaders returns the headers of the part with the bytes of a: names and
// values in turn. An encoded length below 0 is one that is not known.
func AttachmentHeaders(a *document.Attachment) []string {
	h := []string{
		"Content-Disposition", "attachment; " + fileName(a.Name),
		"Content-Type", a.ContentType,
	}
	if a.Encoded >= 0 {
		h = append(h, "Content-Length", strconv.FormatInt(a.Encoded, 10))
	}
	if a.Encoding != "" {
		h = append(h, "Content-Encoding", a.Encoding)
	}
	return h
}

// fileName returns the parameter that names an attachment: quoted, or escaped
// when it holds what a quoted string can't.
func fileName(name string) string {
	if strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		var b strings.Builder
		b.WriteString("filename*=UTF-8''")
		for i := range len(name) {
			fmt.Fprintf(&b, "%%%02X", name[i])
		}
		return b.String()
	}
	return `filename="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}
