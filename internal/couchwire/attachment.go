package couchwire

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
)

// defaultType is the content type of an attachment that came without one.
const defaultType = "application/octet-stream"

// CheckAttachmentName checks the name of an attachment. Errors: Invalid
// bad_request with CouchDB's texts.
func CheckAttachmentName(name string) error {
	if strings.HasPrefix(name, "_") {
		return badRequest("Attachment name '%s' starts with prohibited character '_'", name)
	}
	if !utf8.ValidString(name) {
		return badRequest("Attachment name is not UTF-8 encoded")
	}
	return nil
}

func (d *Document) setAttachments(v []byte, r *Rules) error {
	if jsonscan.KindOf(v) != jsonscan.Object {
		return badMember("_attachments")
	}
	var follows []follow
	for ms := jsonscan.MembersOf(v); ; {
		quoted, props, ok := ms.Next()
		if !ok {
			break
		}
		name := string(jsonscan.Text(nil, quoted))
		if err := CheckAttachmentName(name); err != nil {
			return err
		}
		if jsonscan.KindOf(props) != jsonscan.Object {
			continue // CouchDB overlooks them too
		}
		if err := r.checkCount(len(d.Attachments) + 1); err != nil {
			return err
		}
		a, f, err := parseAttachment(name, props, r)
		if err != nil {
			return err
		}
		d.Attachments = append(d.Attachments, a)
		if f != nil {
			follows = append(follows, *f)
		}
	}
	slices.SortFunc(d.Attachments, byName)
	d.Follows = make([]Follow, len(follows))
	for i, f := range follows {
		f.Index, _ = slices.BinarySearchFunc(d.Attachments, f.name, func(a document.Attachment, n string) int {
			return strings.Compare(a.Name, n)
		})
		d.Follows[i] = f.Follow
	}
	return nil
}

// follow is a Follow before its place is known.
type follow struct {
	name string
	Follow
}

func byName(a, b document.Attachment) int { return strings.Compare(a.Name, b.Name) }

// parseAttachment reads the members of one attachment. What the server works
// out itself (digest and length of inline data) is not looked at, as in
// CouchDB.
func parseAttachment(name string, props []byte, r *Rules) (document.Attachment, *follow, error) {
	a := document.Attachment{Name: name, ContentType: text(props, "content_type", defaultType)}
	if n, ok := integer(props, "revpos"); ok && n > 0 && n <= 1<<31 {
		a.RevPos = uint32(n)
	}
	if isTrue(props, "stub") {
		// The digest is no part of the comparison: a server that compresses
		// otherwise has another digest for the same attachment.
		a.Stub = true
		return a, nil, nil
	}
	if isTrue(props, "follows") {
		f := parseFollow(&a, props)
		if r.MaxAttachment > 0 && f.Length > r.MaxAttachment {
			return a, nil, r.AttachmentTooLarge(name)
		}
		return a, f, nil
	}
	data, err := inlineData(name, props)
	if err != nil {
		return a, nil, err
	}
	if r.MaxAttachment > 0 && int64(len(data)) > r.MaxAttachment {
		return a, nil, r.AttachmentTooLarge(name)
	}
	SetData(&a, data, r.Compressible != nil && r.Compressible(a.ContentType))
	return a, nil, nil
}

// checkCount refuses more attachments than a document may have. Errors: TooLarge.
func (r *Rules) checkCount(n int) error {
	if r.MaxAttachments > 0 && n > r.MaxAttachments {
		return dberr.New(dberr.TooLarge, "too_many_attachments", "A document can have %d attachments at most ([sectional] max_attachments).", r.MaxAttachments)
	}
	return nil
}

// CheckAttachments refuses more attachments than a document may have. Errors: TooLarge.
func (r *Rules) CheckAttachments(list []document.Attachment) error { return r.checkCount(len(list)) }

// text returns a string member of an object.
func text(object []byte, name, otherwise string) string {
	v, ok := jsonscan.Member(object, name)
	if !ok || jsonscan.KindOf(v) != jsonscan.String {
		return otherwise
	}
	return string(jsonscan.Text(nil, v))
}

// parseFollow reads what the document says of bytes that come later. Length
// is that of the attachment, encoded_length that of the bytes if they are
// encoded.
func parseFollow(a *document.Attachment, props []byte) *follow {
	f := &follow{name: a.Name, Follow: Follow{Length: -1}}
	if n, ok := integer(props, "length"); ok && n >= 0 {
		f.Length, a.Length = n, n
	}
	if text(props, "encoding", "") == Gzip {
		a.Encoding = Gzip
		f.Length = -1
		if n, ok := integer(props, "encoded_length"); ok && n >= 0 {
			f.Length = n
		}
	}
	f.Digest, _ = ParseDigest(text(props, "digest", ""))
	return f
}

// ParseDigest reads "md5-" and the digest in base64.
func ParseDigest(s string) (d [16]byte, ok bool) {
	s, ok = strings.CutPrefix(s, "md5-")
	if !ok {
		return d, false
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(raw) != len(d) {
		return d, false
	}
	return [16]byte(raw), true
}

// inlineData decodes the base64 text of an attachment; white space in it is
// overlooked.
func inlineData(name string, props []byte) ([]byte, error) {
	v, ok := jsonscan.Member(props, "data")
	if !ok || jsonscan.KindOf(v) != jsonscan.String {
		return nil, badData(name)
	}
	enc := stripSpace(jsonscan.Text(nil, v))
	data := make([]byte, base64.StdEncoding.DecodedLen(len(enc)))
	n, err := base64.StdEncoding.Decode(data, enc)
	if err != nil {
		return nil, badData(name)
	}
	return data[:n], nil
}

func badData(name string) error { return badRequest("Invalid attachment data for %s", name) }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func stripSpace(b []byte) []byte {
	if !slices.ContainsFunc(b, isSpace) {
		return b
	}
	return slices.DeleteFunc(slices.Clone(b), isSpace)
}
