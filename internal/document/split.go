package document

import "github.com/sectional/sectional/internal/dberr"

// Member is a member of a JSON object: its name decoded, its value as raw
// compact JSON.
type Member struct {
	Name  string
	Value []byte
}

// BodyLimits are the limits of a body.
type BodyLimits struct {
	Depth int // of arrays and objects within each other, the document included; 0: the default of 1000
}

const (
	defaultDepth = 1000
	usualSpecial = 4 // _id, _rev, and hardly ever more than two others
)

func (l BodyLimits) depth() int {
	if l.Depth > 0 {
		return l.Depth
	}
	return defaultDepth
}

// Split validates a JSON object (RFC 8259, UTF-8, no duplicate members, no lone
// surrogates, numbers within a double's range, depth), makes it compact and
// takes the top-level members whose names begin with an underscore out of it,
// in order; which of them are legal is decided elsewhere.
//
// Number literals, member order and string contents stay. Each string is
// written in its one shortest way: what may stand unescaped does, the rest has
// the two-character escape, else \u00 and lower-case digits. So equal strings
// are equal bytes, here and in revision hashes.
//
// Results share memory with each other, not with raw. Errors: Invalid
// bad_request "invalid UTF-8 JSON", "Document must be a JSON object", and
// sentences of our own about depth and duplicate members.
func Split(raw []byte, l BodyLimits) (body []byte, special []Member, err error) {
	s := newScanner(raw, l)
	s.space()
	if s.peek() != '{' {
		if s.value(); s.end() != nil {
			return nil, nil, s.err
		}
		return nil, nil, notObject()
	}
	special = s.document()
	if s.end() != nil {
		return nil, nil, s.err
	}
	return s.out[:len(s.out):len(s.out)], special, nil
}

// Compact validates any JSON value by Split's rules and makes it compact.
func Compact(raw []byte, l BodyLimits) ([]byte, error) {
	s := newScanner(raw, l)
	s.space()
	s.value()
	if s.end() != nil {
		return nil, s.err
	}
	return s.out, nil
}

// ErrNotJSON refuses a text that is not JSON in UTF-8, in CouchDB's words.
var ErrNotJSON = dberr.New(dberr.Invalid, "bad_request", "invalid UTF-8 JSON")

func invalidJSON() error { return ErrNotJSON }

func notObject() error {
	return dberr.New(dberr.Invalid, "bad_request", "Document must be a JSON object")
}

// document scans the object that Split was called for and takes out its special
// members. Their values move to the far end of the memory that out was given:
// out and they together are never longer than what has been read.
func (s *scanner) document() (special []Member) {
	seen := s.openNames()
	tail, kept := cap(s.out), 0
	for more := s.open('}'); more; more = s.more('}') {
		if kept == 0 && len(special) > 0 {
			s.flush()
			s.out = s.out[:1] // without the comma after a member taken out
		}
		if !s.maySpecial() {
			s.name(&seen)
			s.value()
			kept++
			continue
		}
		s.flush()
		start := len(s.out) - min(kept, 1) // with the comma before it
		name := s.name(&seen)
		s.flush()
		value := len(s.out)
		s.value()
		if len(name) == 0 || name[0] != '_' {
			kept++
			continue
		}
		s.flush()
		end := tail
		tail -= len(s.out) - value
		copy(s.out[tail:end], s.out[value:])
		special = appendSpecial(special, name, s.out[tail:end:end])
		s.out = s.out[:start]
	}
	s.closeNames(&seen)
	return special
}

func appendSpecial(special []Member, name, value []byte) []Member {
	if special == nil {
		special = make([]Member, 0, usualSpecial)
	}
	return append(special, Member{Name: specialName(name), Value: value})
}

// maySpecial reports whether the name that comes next may begin with an
// underscore, as it stands or as an escape.
func (s *scanner) maySpecial() bool {
	return s.at+1 < len(s.src) && (s.src[s.at+1] == '_' || s.src[s.at+1] == '\\')
}

// specialName decodes the name of a special member; the usual ones cost no
// memory.
func specialName(text []byte) string {
	switch string(text) {
	case "_id":
		return "_id"
	case "_rev":
		return "_rev"
	case "_deleted":
		return "_deleted"
	case "_attachments":
		return "_attachments"
	case "_revisions":
		return "_revisions"
	}
	return unquote(text)
}
