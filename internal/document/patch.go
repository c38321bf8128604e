package document

import (
	"fmt"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// Patch is a change of a document's members: a JSON merge patch, operators, or
// both. It is a tree: inner nodes stand for objects that are patched, leaves
// for what becomes of one member. No two changes of a patch meet, so their
// order means nothing.
type Patch struct {
	always *change // what becomes of a document that is there
	fresh  *change // what makes one that is not: always, and $setOnInsert
	ops    int
}

// change is a node of a patch.
type change struct {
	op    *operator // nil for an object that is patched
	arg   []byte    // the operator's argument
	name  string    // of the member
	above *change   // the object that the member is in, nil for the document
	parts []part    // of an object, in the patch's order
	index map[string]int
	// replaces says that a merge patch has an object here: whatever is in
	// its place and is none makes way. Operators alone refuse that.
	replaces bool
}

// part is a member of an object that is patched. Names are compared with their
// quotes, for the compact form has one way to write each.
type part struct {
	name   []byte
	change *change
}

// Uses reports whether the patch has operators.
func (p *Patch) Uses() bool { return p.ops > 0 }

// ParsePatch reads an RFC 7396 merge patch: members that it gives null are
// removed, those it gives an object are patched likewise, the others replaced.
// With operators, members of the patch itself whose names begin with $ are not
// merged but name an operator, whose value has a path for each member that it
// changes: {"$inc": {"a.b": 1}}. Errors: as Split's, and Invalid
// invalid_patch.
func ParsePatch(raw []byte, operators bool) (*Patch, error) {
	raw, err := compactObject(raw)
	if err != nil {
		return nil, err
	}
	p := &Patch{always: newObject("", nil), fresh: newObject("", nil)}
	var used []rawMember
	merged := raw
	if operators {
		if merged, used = withoutOperators(raw); len(used) == 0 {
			merged = raw
		}
	}
	for _, root := range []*change{p.always, p.fresh} {
		root.replaces = true
		root.merge(merged)
	}
	for _, m := range used {
		if err := p.operate(m); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// withoutOperators takes the members whose names begin with $ out of an object.
func withoutOperators(object []byte) (rest []byte, operators []rawMember) {
	o := objectWriter{dst: []byte{'{'}}
	for _, m := range members(object) {
		if len(m.name) > 2 && m.name[1] == '$' {
			operators = append(operators, m)
			continue
		}
		o.member(m.name)
		o.dst = append(o.dst, m.value...)
	}
	return append(o.dst, '}'), operators
}

func newObject(name string, above *change) *change {
	return &change{name: name, above: above, index: map[string]int{}}
}

// part returns the change of a member; nil if there is none.
func (c *change) part(name []byte) *change {
	if i, ok := c.index[string(name)]; ok {
		return c.parts[i].change
	}
	return nil
}

func (c *change) add(name []byte, to *change) {
	c.index[string(name)] = len(c.parts)
	c.parts = append(c.parts, part{name, to})
}

// merge makes the changes of a merge patch.
func (c *change) merge(patch []byte) {
	for _, m := range members(patch) {
		name := string(jsonscan.Text(nil, m.name))
		switch m.value[0] {
		case 'n': // null
			c.add(m.name, &change{op: removing(), name: name, above: c})
		case '{':
			inner := newObject(name, c)
			inner.replaces = true
			inner.merge(m.value)
			c.add(m.name, inner)
		default:
			c.add(m.name, &change{op: setting("="), arg: m.value, name: name, above: c})
		}
	}
}

// Apply patches a document's body. The order of members and the digits of
// numbers stay; what is new comes after the rest, in the patch's order. The
// result is compact. Errors: as Split's for a body that is not an object, and
// Invalid invalid_patch where an operator meets a value that it can't change.
func (p *Patch) Apply(body []byte) ([]byte, error) { return p.apply(p.always, body) }

// Insert makes the body of a document that is not there.
func (p *Patch) Insert() ([]byte, error) { return p.apply(p.fresh, []byte("{}")) }

func (p *Patch) apply(root *change, body []byte) ([]byte, error) {
	body, err := compactObject(body)
	if err != nil {
		return nil, err
	}
	out, err := root.append(make([]byte, 0, len(body)+256), body)
	if err != nil || !p.Uses() {
		return out, err
	}
	return compactObject(out) // a path and its value may be too deep together
}

func compactObject(raw []byte) ([]byte, error) {
	v, err := Compact(raw)
	if err == nil && v[0] != '{' {
		return nil, notObject()
	}
	return v, err
}

// append appends what an object, or what is in its place (nil: nothing),
// becomes.
func (c *change) append(dst, target []byte) ([]byte, error) {
	o := objectWriter{dst: append(dst, '{')}
	met := make([]bool, len(c.parts))
	switch {
	case target == nil:
	case target[0] == '{':
		for _, m := range members(target) {
			i, ok := c.index[string(m.name)]
			if !ok {
				o.member(m.name)
				o.dst = append(o.dst, m.value...)
				continue
			}
			met[i] = true
			if err := o.change(c.parts[i], m.value); err != nil {
				return nil, err
			}
		}
	case !c.replaces:
		return nil, badPatch("`%s` is %s, not an object.", c.path(), kindOf(target))
	}
	for i, p := range c.parts {
		if met[i] {
			continue
		}
		if err := o.change(p, nil); err != nil {
			return nil, err
		}
	}
	return append(o.dst, '}'), nil
}

// rawMember is a member as it is written, the name with its quotes.
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

// change writes what becomes of a member, if it is still there then. old is nil
// for one that is not there.
func (o *objectWriter) change(p part, old []byte) (err error) {
	if p.change.op == nil {
		o.member(p.name)
		o.dst, err = p.change.append(o.dst, old)
		return err
	}
	value, err := p.change.op.apply(old, p.change.arg)
	if err != nil {
		return badPatch("%s of `%s`: %s.", p.change.op.name, p.change.path(), err)
	}
	if value != nil {
		o.member(p.name)
		o.dst = append(o.dst, value...)
	}
	return nil
}

func badPatch(format string, args ...any) error {
	return dberr.New(dberr.Invalid, "invalid_patch", "%s", fmt.Sprintf(format, args...))
}
