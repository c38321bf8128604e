package selector

import (
	"strings"

	"github.com/sectional/sectional/internal/jsonscan"
)

// Doc is a document as it is stored: the body without the members that begin
// with an underscore, and those beside it.
type Doc struct {
	ID      string
	Rev     string // text form; needed only if Uses("_rev")
	Deleted bool
	Body    []byte // a JSON object
	Meta    []Member
	// Says reports whether a full-text clause, {"$text": …}, finds the document; nil if
	// whoever brings the document knows that all do.
	Says func(clause []byte) bool
}

// Member is a further reserved member of a document, such as _attachments or
// _conflicts, with its JSON value.
type Member struct {
	Name  string
	Value []byte
}

// reserved returns a member that begins with an underscore. Ids and revisions
// come as text, without quotes, appended to buf.
func (d *Doc) reserved(buf []byte, name string) value {
	switch name {
	case "_id":
		return value{b: append(buf[:0], d.ID...), text: true}
	case "_rev":
		return value{b: append(buf[:0], d.Rev...), text: true}
	case "_deleted":
		if d.Deleted {
			return value{b: append(buf[:0], "true"...)}
		}
	}
	for _, m := range d.Meta {
		if m.Name == name {
			return value{b: m.Value}
		}
	}
	return value{}
}

func isReserved(name string) bool { return strings.HasPrefix(name, "_") }

// AppendJSON appends the whole document in CouchDB's order of members.
func (d *Doc) AppendJSON(dst []byte) []byte {
	dst = jsonscan.AppendQuoted(append(dst, `{"_id":`...), d.ID)
	dst = jsonscan.AppendQuoted(append(dst, `,"_rev":`...), d.Rev)
	for m := jsonscan.MembersOf(d.Body); ; {
		name, v, ok := m.Next()
		if !ok {
			break
		}
		dst = append(append(append(append(dst, ','), name...), ':'), v...)
	}
	if d.Deleted {
		dst = append(dst, `,"_deleted":true`...)
	}
	for _, m := range d.Meta {
		dst = append(jsonscan.AppendQuoted(append(dst, ','), m.Name), ':')
		dst = append(dst, m.Value...)
	}
	return append(dst, '}')
}
