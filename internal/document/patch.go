package document

import "github.com/sectional/sectional/internal/jsonscan"

// MergePatch applies an RFC 7396 merge patch to an object: members that patch
// gives null are removed, those it gives an object are patched likewise, the
// others replaced in place; what is new comes after the rest, in patch's order.
// The order of members and the digits of numbers stay. Both arguments are
// validated by Split's rules, and the result is compact. Errors: as Split's.
func MergePatch(body, patch []byte) ([]byte, error) {
	body, err := compactObject(body)
	if err != nil {
		return nil, err
	}
	patch, err = compactObject(patch)
	if err != nil {
		return nil, err
	}
	return appendPatched(make([]byte, 0, len(body)+len(patch)), body, patch), nil
}

func compactObject(raw []byte) ([]byte, error) {
	v, err := Compact(raw, BodyLimits{})
	if err == nil && v[0] != '{' {
		return nil, notObject()
	}
	return v, err
}

// appendPatched appends target, an object or anything else, as the object patch
// makes it. Names are compared with their quotes, for the compact form has one
// way to write each.
func appendPatched(dst, target, patch []byte) []byte {
	changes := members(patch)
	open := make(map[string][]byte, len(changes))
	for _, c := range changes {
		open[string(c.name)] = c.value
	}
	o := objectWriter{dst: append(dst, '{')}
	if target[0] == '{' {
		for _, m := range members(target) {
			change, ok := open[string(m.name)]
			if !ok {
				o.member(m.name)
				o.dst = append(o.dst, m.value...)
				continue
			}
			o.change(m, change)
			delete(open, string(m.name))
		}
	}
	for _, c := range changes {
		if _, ok := open[string(c.name)]; ok {
			o.change(rawMember{name: c.name, value: null}, c.value)
		}
	}
	return append(o.dst, '}')
}

var null = []byte("null")

// rawMember is a member as it stands, the name with its quotes.
type rawMember struct{ name, value []byte }

func members(object []byte) (list []rawMember) {
	for m := jsonscan.MembersOf(object); ; {
		name, value, ok := m.Next()
		if !ok {
			return list
		}
		list = append(list, rawMember{name, value})
	}
}

// objectWriter appends members to an object that has been begun.
type objectWriter struct {
	dst    []byte
	filled bool
}

func (o *objectWriter) member(name []byte) {
	if o.filled {
		o.dst = append(o.dst, ',')
	}
	o.filled = true
	o.dst = append(append(o.dst, name...), ':')
}

// change writes m as change makes it, if it is still there then.
func (o *objectWriter) change(m rawMember, change []byte) {
	switch change[0] {
	case 'n': // null
	case '{':
		o.member(m.name)
		o.dst = appendPatched(o.dst, m.value, change)
	default:
		o.member(m.name)
		o.dst = append(o.dst, change...)
	}
}
