package couchwire

import (
	"encoding/base64"
	"strconv"

	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
)

// Revision is a revision on its way out: what is stored, and what the reader
// asked to be told about it. Members whose field is nil or zero are left out.
type Revision struct {
	ID          document.ID
	Rev         document.Rev
	Deleted     bool
	Body        []byte // compact JSON object without reserved members
	Attachments []document.Attachment

	Path             []document.Rev // _revisions: Rev and its ancestors, newest first
	RevsInfo         []RevStatus
	LocalSeq         uint64
	Conflicts        []document.Rev
	DeletedConflicts []document.Rev
}

// RevStatus is one entry of _revs_info.
type RevStatus struct {
	Rev    document.Rev
	Status string // available, missing, deleted
}

// Form says how attachments are written into a document.
type Form struct {
	Data     bool   // their bytes in base64, decoded
	Follows  bool   // their bytes follow in parts of their own; wins over Data
	Encoding bool   // tell encoding and encoded length (always written with Follows)
	Since    uint32 // of those set in this generation or before, only stubs
}

// AppendDocument appends r as JSON, its attachments as stubs or, with Follows,
// as members whose bytes the caller sends after it. Data is for WriteDocument.
func AppendDocument(dst []byte, r *Revision, f Form) []byte {
	dst = appendHead(dst, r)
	if len(r.Attachments) > 0 {
		dst = append(dst, `,"_attachments":`...)
		dst = AppendAttachments(dst, r.Attachments, f)
	}
	return append(dst, '}')
}

// AppendAttachments appends the value of _attachments as AppendDocument has it.
func AppendAttachments(dst []byte, atts []document.Attachment, f Form) []byte {
	dst = append(dst, '{')
	for i := range atts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendAttachment(dst, &atts[i], f)
	}
	return append(dst, '}')
}

// appendHead appends everything before the attachments, without the closing
// brace.
func appendHead(dst []byte, r *Revision) []byte {
	dst = append(dst, `{"_id":`...)
	dst = jsonscan.AppendQuoted(dst, string(r.ID))
	if !r.Rev.IsZero() {
		dst = append(dst, `,"_rev":"`...)
		dst = r.Rev.AppendText(dst)
		dst = append(dst, '"')
	}
	if len(r.Body) > 2 {
		dst = append(dst, ',')
		dst = append(dst, r.Body[1:len(r.Body)-1]...)
	}
	if r.Deleted {
		dst = append(dst, `,"_deleted":true`...)
	}
	return appendMeta(dst, r)
}

func appendMeta(dst []byte, r *Revision) []byte {
	if r.Path != nil {
		dst = appendRevisions(dst, r.Path)
	}
	if r.RevsInfo != nil {
		dst = appendRevsInfo(dst, r.RevsInfo)
	}
	if r.LocalSeq != 0 {
		dst = append(dst, `,"_local_seq":`...)
		dst = strconv.AppendUint(dst, r.LocalSeq, 10)
	}
	if len(r.Conflicts) > 0 {
		dst = append(dst, `,"_conflicts":`...)
		dst = AppendRevs(dst, r.Conflicts)
	}
	if len(r.DeletedConflicts) > 0 {
		dst = append(dst, `,"_deleted_conflicts":`...)
		dst = AppendRevs(dst, r.DeletedConflicts)
	}
	return dst
}

func appendRevisions(dst []byte, path []document.Rev) []byte {
	dst = append(dst, `,"_revisions":{"start":`...)
	var start uint64
	if len(path) > 0 {
		start = uint64(path[0].Gen)
	}
	dst = strconv.AppendUint(dst, start, 10)
	dst = append(dst, `,"ids":[`...)
	for i, r := range path {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = r.AppendHash(dst)
		dst = append(dst, '"')
	}
	return append(dst, "]}"...)
}

func appendRevsInfo(dst []byte, info []RevStatus) []byte {
	dst = append(dst, `,"_revs_info":[`...)
	for i := range info {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"rev":"`...)
		dst = info[i].Rev.AppendText(dst)
		dst = append(dst, `","status":"`...)
		dst = append(dst, info[i].Status...)
		dst = append(dst, `"}`...)
	}
	return append(dst, ']')
}

// AppendRevs appends a JSON array of revisions.
func AppendRevs(dst []byte, revs []document.Rev) []byte {
	dst = append(dst, '[')
	for i, r := range revs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = r.AppendText(dst)
		dst = append(dst, '"')
	}
	return append(dst, ']')
}

// wanted reports whether the bytes of a go out, here or in a part.
func (f *Form) wanted(a *document.Attachment) bool {
	return (f.Data || f.Follows) && (f.Since == 0 || a.RevPos > f.Since)
}

func appendAttachment(dst []byte, a *document.Attachment, f Form) []byte {
	dst = appendAttachmentHead(dst, a)
	dst = append(dst, `,"length":`...)
	dst = strconv.AppendInt(dst, a.Length, 10)
	if f.Follows && f.wanted(a) {
		dst = append(dst, `,"follows":true`...)
	} else {
		dst = append(dst, `,"stub":true`...)
	}
	return appendEncoding(dst, a, f)
}

// appendAttachmentHead appends the name of an attachment and the members that
// every form of it has; its object stays open.
func appendAttachmentHead(dst []byte, a *document.Attachment) []byte {
	dst = jsonscan.AppendQuoted(dst, a.Name)
	dst = append(dst, `:{"content_type":`...)
	dst = jsonscan.AppendQuoted(dst, a.ContentType)
	dst = append(dst, `,"revpos":`...)
	dst = strconv.AppendUint(dst, uint64(a.RevPos), 10)
	dst = append(dst, `,"digest":"md5-`...)
	dst = base64.StdEncoding.AppendEncode(dst, a.Digest[:])
	return append(dst, '"')
}

// appendEncoding closes the object of an attachment.
func appendEncoding(dst []byte, a *document.Attachment, f Form) []byte {
	if a.Encoding != "" && (f.Encoding || f.Follows) {
		dst = append(dst, `,"encoding":"`...)
		dst = append(dst, a.Encoding...)
		dst = append(dst, `","encoded_length":`...)
		dst = strconv.AppendInt(dst, a.Encoded, 10)
	}
	return append(dst, '}')
}

// AppendChange appends the members of a feed's row that come between its
// sequence and its document.
func AppendChange(dst []byte, id document.ID, revs []document.Rev, deleted bool) []byte {
	dst = append(dst, `,"id":`...)
	dst = jsonscan.AppendQuoted(dst, string(id))
	dst = append(dst, `,"changes":[`...)
	for i, rev := range revs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"rev":"`...)
		dst = append(rev.AppendText(dst), `"}`...)
	}
	dst = append(dst, ']')
	if deleted {
		dst = append(dst, `,"deleted":true`...)
	}
	return dst
}
