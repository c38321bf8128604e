package couchwire

import (
	"bytes"
	"crypto/md5"
	"errors"
	"hash"
	"io"
	"mime"
	"mime/multipart"
	"slices"
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
)

// Store keeps the bytes that r gives, which become a's: it sets Digest,
// Length, Encoded and Blob. The bytes are in the encoding that a names;
// compress asks to compress them.
type Store func(a *document.Attachment, r io.Reader, compress bool) error

// Sink takes what a body brings.
type Sink struct {
	Store Store
	// Hold is told of bytes of the body that stay in memory, and may refuse
	// them; nil takes any number.
	Hold func(run []byte) error
}

func (s Sink) hold(run []byte) error {
	if s.Hold == nil {
		return nil
	}
	return s.Hold(run)
}

// readAll reads up to max bytes that stay in memory. Errors: TooLarge for more.
func (s Sink) readAll(from io.Reader, max int64) ([]byte, error) {
	b := make([]byte, 0, 512)
	for int64(len(b)) <= max {
		if len(b) == cap(b) {
			b = slices.Grow(b, len(b))
		}
		n, err := from.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if held := s.hold(b[len(b)-n:]); held != nil {
			return nil, held
		}
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, badMultipart(err)
		}
	}
	return nil, dberr.New(dberr.TooLarge, "too_large", "the request entity is too large (the limit of a document in a part is %d bytes)", max)
}

// Declared is what a sender declares of the bytes of an attachment.
type Declared struct {
	Length int64           // -1 for nothing
	Digest func() [16]byte // asked at the end of the bytes; nil or zero for nothing
}

// Receive reads the bytes of an attachment: a few are kept in a itself, more
// go to store as they come. Errors: Invalid when the bytes are not what was
// told, TooLarge when they are more than the rules allow.
func Receive(a *document.Attachment, from io.Reader, declared Declared, r *Rules, sink Sink) error {
	c := &checked{from: from, name: a.Name, rules: r, declared: declared.Length}
	if declared.Digest != nil {
		c.sum = md5.New()
	}
	head, err := io.ReadAll(io.LimitReader(c, MaxInline+1))
	if err != nil {
		return err
	}
	if len(head) <= MaxInline {
		if err := sink.hold(head); err != nil {
			return err
		}
	}
	compress := a.Encoding == "" && r.Compressible != nil && r.Compressible(a.ContentType)
	switch {
	case len(head) > MaxInline:
		length := a.Length
		if err := sink.Store(a, io.MultiReader(bytes.NewReader(head), c), compress); err != nil {
			return err
		}
		if a.Encoding == Gzip && !compress {
			a.Length = max(length, 0)
		}
	case a.Encoding == "":
		SetData(a, head, compress)
	default:
		SetEncoded(a, head)
	}
	if a.Length == 0 {
		a.Length = a.Encoded // nobody said what unpacking would give
	}
	return c.check(declared)
}

// checked counts, limits and sums up what it passes on.
type checked struct {
	from     io.Reader
	name     string
	rules    *Rules
	declared int64
	n        int64
	sum      hash.Hash
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	if c.rules.MaxAttachment > 0 && c.n > c.rules.MaxAttachment {
		return 0, c.rules.AttachmentTooLarge(c.name)
	}
	if c.declared >= 0 && c.n > c.declared {
		return 0, c.wrongLength()
	}
	if c.sum != nil {
		c.sum.Write(p[:n])
	}
	return n, err
}

func (c *checked) wrongLength() error {
	return badRequest("Attachment %s is not as long as its length says", c.name)
}

func (c *checked) check(declared Declared) error {
	if c.declared >= 0 && c.n != c.declared {
		return c.wrongLength()
	}
	if declared.Digest == nil {
		return nil
	}
	if want := declared.Digest(); want != ([16]byte{}) && want != [16]byte(c.sum.Sum(nil)) {
		return dberr.New(dberr.Invalid, "content_md5_mismatch", "Possible message corruption.")
	}
	return nil
}

// ReadRelated reads a multipart/related body: the document first, then the
// bytes of the attachments that follow it. A part belongs to the attachment
// that its Content-Disposition names, else to the next in the order of the
// document. doc is called with the document before any attachment is read;
// maxJSON limits the document's text. Errors: Invalid, TooLarge, and what doc
// and store give.
func ReadRelated(body io.Reader, boundary string, maxJSON int64, r *Rules, doc func(*Document) error, sink Sink) (*Document, error) {
	parts := PartsOf(body, boundary)
	first, err := parts.NextRawPart()
	if err != nil {
		return nil, badMultipart(err)
	}
	raw, err := sink.readAll(first, maxJSON)
	if err != nil {
		return nil, err
	}
	d, err := ParseDocument(raw, r)
	if err != nil {
		return nil, document.Locate(err, raw, false)
	}
	if err := doc(&d); err != nil {
		return nil, err
	}
	return &d, d.readFollowing(parts, r, sink)
}

func (d *Document) readFollowing(parts *multipart.Reader, r *Rules, sink Sink) error {
	left := d.following()
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return badMultipart(err)
		}
		_, name := disposition(part)
		f, ok := left.take(name)
		if !ok {
			return badRequest("The body has more parts than the document has attachments that follow.")
		}
		declared := Declared{Length: f.Length, Digest: func() [16]byte { return f.Digest }}
		if err := Receive(&d.Attachments[f.Index], partReader{part}, declared, r, sink); err != nil {
			return err
		}
	}
	if f, missing := left.take(""); missing {
		return missingBytes(d.Attachments[f.Index].Name)
	}
	return nil
}

// following are the attachments whose bytes have not come yet: in the order of the
// document, and by name.
type following struct {
	follows []Follow
	taken   []bool
	next    int // the first that may not be taken
	byName  map[string]int
}

func (d *Document) following() *following {
	l := &following{follows: d.Follows, taken: make([]bool, len(d.Follows)), byName: make(map[string]int, len(d.Follows))}
	for i, f := range d.Follows {
		l.byName[d.Attachments[f.Index].Name] = i
	}
	return l
}

// take returns the one of the name if it is left, else the first that is; !ok: none is.
func (l *following) take(name string) (f Follow, ok bool) {
	i, named := l.byName[name]
	if !named || l.taken[i] {
		for l.next < len(l.taken) && l.taken[l.next] {
			l.next++
		}
		i = l.next
	}
	if i == len(l.follows) {
		return f, false
	}
	l.taken[i] = true
	return l.follows[i], true
}

// disposition returns the name of the form's field and of the file that a part's
// Content-Disposition names. (Part.FileName would cut a name at its slashes.)
func disposition(part *multipart.Part) (field, file string) {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return "", ""
	}
	return params["name"], params["filename"]
}

// partReader returns errors of the multipart form in words for the client.
type partReader struct{ part *multipart.Part }

func (p partReader) Read(b []byte) (int, error) {
	n, err := p.part.Read(b)
	if err != nil && err != io.EOF {
		err = badMultipart(err)
	}
	return n, err
}

func badMultipart(err error) error {
	var e *dberr.Error
	if errors.As(err, &e) {
		return e
	}
	return &dberr.Error{Kind: dberr.Invalid, Code: "bad_request", Reason: "The multipart body is not well-formed.", Cause: err}
}

// Boundary reads a content type: whether it is the multipart type sub and has
// a boundary.
func Boundary(contentType, sub string) (boundary string, ok bool) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "multipart/"+sub {
		return "", false
	}
	return params["boundary"], params["boundary"] != ""
}

// Posted is what a form upload brings.
type Posted struct {
	Doc         []byte // of the field _doc; nil when there is none
	Rev         string // of the field _rev
	Attachments []document.Attachment
}

// ReadForm reads a multipart/form-data body with the fields _doc or _rev and
// files called _attachments. Errors: as ReadRelated.
func ReadForm(body io.Reader, boundary string, maxJSON int64, r *Rules, sink Sink) (*Posted, error) {
	p := &Posted{}
	for parts := PartsOf(body, boundary); ; {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			return p, nil
		}
		if err != nil {
			return nil, badMultipart(err)
		}
		if err := p.read(part, maxJSON, r, sink); err != nil {
			return nil, err
		}
	}
}

func (p *Posted) read(part *multipart.Part, maxJSON int64, r *Rules, sink Sink) error {
	name, file := disposition(part)
	if name == "_attachments" && file != "" {
		return p.readFile(part, file, r, sink)
	}
	if name != "_doc" && name != "_rev" {
		return nil // other fields of the form are the browser's business
	}
	v, err := sink.readAll(part, maxJSON)
	if err != nil {
		return err
	}
	if name == "_doc" {
		p.Doc = v
	} else {
		p.Rev = string(jsonscan.Trim(v))
	}
	return nil
}

func (p *Posted) readFile(part *multipart.Part, name string, r *Rules, sink Sink) error {
	a := document.Attachment{Name: name, ContentType: part.Header.Get("Content-Type")}
	if a.ContentType == "" {
		a.ContentType = defaultType
	}
	if err := CheckAttachmentName(a.Name); err != nil {
		return err
	}
	if err := r.checkCount(len(p.Attachments) + 1); err != nil {
		return err
	}
	if err := Receive(&a, partReader{part}, Declared{Length: -1}, r, sink); err != nil {
		return err
	}
	i, found := slices.BinarySearchFunc(p.Attachments, a.Name, func(b document.Attachment, n string) int {
		return strings.Compare(b.Name, n)
	})
	if found {
		return badRequest("The form has two files of the name %s.", a.Name)
	}
	p.Attachments = slices.Insert(p.Attachments, i, a)
	return nil
}
