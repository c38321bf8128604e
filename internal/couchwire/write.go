package couchwire

import (
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"

	"github.com/sectional/sectional/internal/document"
)

// Open returns the stored bytes of an attachment, in the encoding it names.
type Open func(a *document.Attachment) io.Reader

// WriteDocument writes r as JSON with the attachments' bytes in it, which
// stream from open: no more than a few kilobytes of an attachment are in memory
// at once. Without f.Data it writes what AppendDocument appends.
func WriteDocument(w io.Writer, r *Revision, f Form, open Open) error {
	if !f.Data || f.Follows || len(r.Attachments) == 0 {
		_, err := w.Write(AppendDocument(nil, r, f))
		return err
	}
	buf := append(appendHead(nil, r), `,"_attachments":{`...)
	for i := range r.Attachments {
		if i > 0 {
			buf = append(buf, ',')
		}
		a := &r.Attachments[i]
		if !f.wanted(a) {
			buf = appendAttachment(buf, a, f)
			continue
		}
		buf = append(appendAttachmentHead(buf, a), `,"data":"`...)
		if _, err := w.Write(buf); err != nil {
			return err
		}
		if err := writeBase64(w, a, open); err != nil {
			return err
		}
		buf = appendEncoding(append(buf[:0], '"'), a, f)
	}
	_, err := w.Write(append(buf, "}}"...))
	return err
}

func writeBase64(w io.Writer, a *document.Attachment, open Open) error {
	src, err := Decoded(a, open(a))
	if err != nil {
		return err
	}
	enc := base64.NewEncoder(base64.StdEncoding, w)
	if _, err := io.Copy(enc, src); err != nil {
		return fmt.Errorf("attachment %q: %w", a.Name, err)
	}
	return enc.Close()
}

// Decoded returns the bytes of a before encoding, out of its stored bytes.
func Decoded(a *document.Attachment, stored io.Reader) (io.Reader, error) {
	if a.Encoding != Gzip {
		return stored, nil
	}
	z, err := gzip.NewReader(stored)
	if err != nil {
		return nil, fmt.Errorf("attachment %q: %w", a.Name, err)
	}
	return z, nil
}
