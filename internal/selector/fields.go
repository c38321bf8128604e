package selector

import (
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// Fields is a parsed list of the fields that an answer holds. The zero Fields
// stands for the whole document.
type Fields struct {
	paths []*Path
}

// MaxFields is how many fields can be asked for.
const MaxFields = 1000

// ParseFields reads the member "fields" of a request: an array of field names;
// an empty one asks for the whole document. Errors are dberr.Invalid with
// CouchDB's words for _find.
func ParseFields(raw []byte) (Fields, error) {
	raw, err := compact(raw)
	if err != nil {
		return Fields{}, err
	}
	if !isArray(raw) {
		return Fields{}, dberr.New(dberr.Invalid, "invalid_fields", "Fields must be an array of strings, not: %s", Term(raw))
	}
	var f Fields
	for it := jsonscan.ElementsOf(raw); ; {
		v, ok := it.Next()
		if !ok {
			return f, nil
		}
		p, err := parseField(v)
		if err != nil {
			return Fields{}, err
		}
		if f.paths = append(f.paths, p); len(f.paths) > MaxFields {
			return Fields{}, dberr.New(dberr.Invalid, "invalid_fields", "There can't be more than %d fields.", MaxFields)
		}
	}
}

// ParseList is ParseFields for a member that CouchDB does not know: its errors name
// the member, and show what it holds as JSON.
func ParseList(member string, raw []byte) (Fields, error) {
	raw = jsonscan.Trim(raw)
	strings := isArray(raw)
	for it := jsonscan.ElementsOf(raw); strings; {
		v, ok := it.Next()
		if !ok {
			return ParseFields(raw)
		}
		strings = isString(v)
	}
	return Fields{}, dberr.New(dberr.Invalid, "invalid_fields", "%s must be an array of field names, not: %s", member, Shown(raw))
}

func parseField(v []byte) (*Path, error) {
	if !isString(v) {
		return nil, dberr.New(dberr.Invalid, "invalid_field", "Invalid JSON for field spec: %s", Term(v))
	}
	text := string(jsonscan.Text(nil, v))
	if text == "" {
		return nil, dberr.New(dberr.Invalid, "invalid_field_name", "Invalid field name: ")
	}
	return ParsePath(text)
}

// All reports whether the whole document is asked for.
func (f Fields) All() bool { return len(f.paths) == 0 }

// Paths returns the fields in the order of the request.
func (f Fields) Paths() []*Path { return f.paths }

// Uses reports whether the document's member name is asked for.
func (f Fields) Uses(name string) bool {
	for _, p := range f.paths {
		if p.segments[0] == name {
			return true
		}
	}
	return f.All()
}

// Cost is how many steps of a budget it takes to pick the fields of d.
func (f Fields) Cost(d *Doc) int { return len(f.paths) * (1 + len(d.Body)>>bytesPerStep) }

// Project returns the document with the fields asked for, in that order, as JSON.
// Nested fields come nested in objects, array positions as names; fields that
// are not there are left out.
func (f Fields) Project(d *Doc) []byte {
	if f.All() {
		return d.AppendJSON(nil)
	}
	var root picked
	for _, p := range f.paths {
		if v := d.Lookup(p); v != nil {
			root.set(p.segments, v)
		}
	}
	return root.appendJSON(nil)
}

// Lookup returns the JSON value at p, nil if there is none.
func (d *Doc) Lookup(p *Path) []byte {
	name := p.segments[0]
	var v []byte
	if isReserved(name) {
		r := d.reserved(nil, name)
		if v = r.b; r.text {
			v = jsonscan.AppendQuoted(nil, string(r.b))
		}
	} else {
		v, _ = jsonscan.Member(d.Body, name)
	}
	return Descend(v, p.segments[1:])
}

// Descend returns the JSON value at a path of names and array positions below v,
// nil if there is none.
func Descend(v []byte, names []string) []byte {
	for _, name := range names {
		switch jsonscan.KindOf(v) {
		case jsonscan.Object:
			v, _ = jsonscan.Member(v, name)
		case jsonscan.Array:
			v = element(v, name)
		default:
			return nil
		}
	}
	return v
}

// picked is an object under construction: each member has a value or is an
// object itself.
type picked struct {
	name    string
	value   []byte
	members []*picked
}

// set puts v at the path. What was picked whole stays whole.
func (p *picked) set(path []string, v []byte) {
	if p.value != nil {
		return
	}
	if len(path) == 0 {
		p.value, p.members = v, nil
		return
	}
	p.member(path[0]).set(path[1:], v)
}

func (p *picked) member(name string) *picked {
	for _, m := range p.members {
		if m.name == name {
			return m
		}
	}
	m := &picked{name: name}
	p.members = append(p.members, m)
	return m
}

func (p *picked) appendJSON(dst []byte) []byte {
	if p.value != nil {
		return append(dst, p.value...)
	}
	dst = append(dst, '{')
	for i, m := range p.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendQuoted(dst, m.name), ':')
		dst = m.appendJSON(dst)
	}
	return append(dst, '}')
}
