package couchwire

import (
	"cmp"
	"strconv"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
)

// Document is a document as a client sent it. The request decides what becomes
// of it: where its id comes from, and whether Path says what it replaces or
// what it is.
type Document struct {
	ID document.ID // "" when the body names none
	// Path is the revision that the body names and the ancestors it lists,
	// newest first: _revisions, or else _rev alone; nil for neither.
	Path    []document.Rev
	Deleted bool
	Body    []byte // compact, without reserved members
	// Attachments are in the order of their names. Those that Follows names have no
	// bytes yet.
	Attachments []document.Attachment
	// Follows names the attachments whose bytes come in parts of their own,
	// in the order in which the body lists them.
	Follows []Follow
	// Refused says of a document of a list that it is well formed and too
	// large: it is refused by itself. nil for others.
	Refused error
}

// Follow is an attachment whose bytes follow the document.
type Follow struct {
	Index  int      // in Document.Attachments
	Length int64    // bytes as sent, -1 when not given
	Digest [16]byte // MD5 of the bytes as sent; zero when not given
}

// ParseDocument reads a JSON document and checks all of it but the size of its
// body. Errors: Invalid, and TooLarge for an attachment; then the document has
// its id and revisions all the same.
func ParseDocument(raw []byte, r *Rules) (Document, error) {
	body, special, err := document.Split(raw)
	if err != nil {
		return Document{}, err
	}
	d := Document{Body: body}
	var large error
	for i := range special {
		err := d.member(&special[i], r)
		if dberr.Is(err, dberr.TooLarge) {
			large, err = cmp.Or(large, err), nil
		}
		if err != nil {
			return Document{}, err
		}
	}
	return d, large
}

// CheckSize refuses a document that is longer than the rules allow. It is a
// step of its own since the error names the document, whose id may come from
// elsewhere. Errors: TooLarge.
func (d *Document) CheckSize(r *Rules) error {
	if r.MaxDocument > 0 && len(d.Body) > r.MaxDocument {
		return r.DocumentTooLarge(d.ID)
	}
	return nil
}

// member takes a reserved member out of the document.
func (d *Document) member(m *document.Member, r *Rules) error {
	switch m.Name {
	case "_id":
		return d.setID(m.Value, r)
	case "_rev":
		return d.setRev(m.Value)
	case "_deleted":
		return d.setDeleted(m.Value)
	case "_revisions":
		return d.setRevisions(m.Value)
	case "_attachments":
		return d.setAttachments(m.Value, r)
	case "_revs_info", "_local_seq", "_conflicts", "_deleted_conflicts":
		return nil // what a reader was told may be sent back
	case "_access", "_replication_id", "_replication_state", "_replication_state_time",
		"_replication_state_reason", "_replication_stats":
		d.Body = appendMember(d.Body, m)
		return nil
	}
	return badMember(m.Name)
}

// appendMember puts a member that is ordinary in spite of its name back into
// the body.
func appendMember(body []byte, m *document.Member) []byte {
	out := make([]byte, 0, len(body)+len(m.Name)+len(m.Value)+4)
	out = append(out, body[:len(body)-1]...)
	if len(body) > 2 {
		out = append(out, ',')
	}
	out = jsonscan.AppendQuoted(out, m.Name)
	out = append(out, ':')
	out = append(out, m.Value...)
	return append(out, '}')
}

func (d *Document) setID(v []byte, r *Rules) error {
	if jsonscan.KindOf(v) != jsonscan.String {
		return dberr.New(dberr.Invalid, "illegal_docid", "Document id must be a string")
	}
	id, err := document.ParseID(string(jsonscan.Text(nil, v)), r.MaxID)
	d.ID = id
	return err
}

func (d *Document) setRev(v []byte) error {
	rev, err := parseRevValue(v)
	if err == nil && d.Path == nil {
		d.Path = []document.Rev{rev}
	}
	return err
}

// parseRevValue reads a revision given as a JSON value.
func parseRevValue(v []byte) (document.Rev, error) {
	if jsonscan.KindOf(v) != jsonscan.String {
		return document.Rev{}, badRequest("Invalid rev format")
	}
	return document.ParseRev(string(jsonscan.Text(nil, v)))
}

func (d *Document) setDeleted(v []byte) error {
	switch jsonscan.KindOf(v) {
	case jsonscan.True:
		d.Deleted = true
	case jsonscan.False:
	default:
		return badMember("_deleted")
	}
	return nil
}

func (d *Document) setRevisions(v []byte) error {
	if jsonscan.KindOf(v) != jsonscan.Object {
		return badMember("_revisions")
	}
	start, ok := integer(v, "start")
	if !ok {
		return invalidDoc("_revisions.start isn't an integer.")
	}
	ids, ok := jsonscan.Member(v, "ids")
	if !ok || jsonscan.KindOf(ids) != jsonscan.Array {
		return invalidDoc("_revisions.ids isn't a array.")
	}
	var hashes []string
	for e := jsonscan.ElementsOf(ids); ; {
		h, ok := e.Next()
		if !ok {
			break
		}
		if jsonscan.KindOf(h) != jsonscan.String || start < 0 {
			return invalidDoc("RevId isn't a string")
		}
		hashes = append(hashes, string(jsonscan.Text(nil, h)))
	}
	if len(hashes) == 0 {
		return nil
	}
	if start == 0 && len(hashes) == 1 {
		return d.setOnlyRev(hashes[0])
	}
	path, err := document.ParsePath(uint64(start), hashes)
	if err == nil {
		d.Path = path
	}
	return err
}

// setOnlyRev sets the revision of a local document, which has no ancestors:
// 0-N. Other documents have none of that form.
func (d *Document) setOnlyRev(hash string) error {
	rev, err := document.ParseRev("0-" + hash)
	if err == nil {
		d.Path = []document.Rev{rev}
	}
	return err
}

// integer reads an integer member of an object.
func integer(object []byte, name string) (int64, bool) {
	v, ok := jsonscan.Member(object, name)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	return n, err == nil
}

// isTrue reports whether a member of an object is true.
func isTrue(object []byte, name string) bool {
	v, ok := jsonscan.Member(object, name)
	return ok && jsonscan.KindOf(v) == jsonscan.True
}

// CheckComplete refuses a document whose attachments should follow it where
// nothing can follow. Errors: Invalid.
func (d *Document) CheckComplete() error {
	if len(d.Follows) == 0 {
		return nil
	}
	return missingBytes(d.Attachments[d.Follows[0].Index].Name)
}

func missingBytes(name string) error {
	return badRequest("The bytes of attachment %s are missing.", name)
}

// Rev returns the revision that the body names, zero for none.
func (d *Document) Rev() document.Rev {
	if len(d.Path) == 0 {
		return document.Rev{}
	}
	return d.Path[0]
}

// Edit makes the edit that an ordinary write of d asks for: it goes over the
// revision parent, whatever d names. New attachments get the generation of the
// edit, whatever d says.
func (d *Document) Edit(parent document.Rev) document.Edit {
	for i := range d.Attachments {
		if !d.Attachments[i].Stub {
			d.Attachments[i].RevPos = 0
		}
	}
	return document.Edit{ID: d.ID, Parent: parent, Deleted: d.Deleted, Body: d.Body, Attachments: d.Attachments}
}

// Replicated makes the edit that stores d as the revision it names
// (new_edits=false). Errors: Invalid when d names none.
func (d *Document) Replicated() (document.Edit, error) {
	if len(d.Path) == 0 {
		return document.Edit{}, badRequest("When `new_edits: false`, the document needs `_rev` or `_revisions` specified")
	}
	if d.Path[0].Gen == 0 {
		return document.Edit{}, badRequest("Invalid rev format")
	}
	return document.Edit{ID: d.ID, Path: d.Path, Deleted: d.Deleted, Body: d.Body, Attachments: d.Attachments}, nil
}
