package selector

import (
	"strconv"

	"github.com/sectional/sectional/internal/jsonscan"
)

// value is a JSON value, or a string without quotes and escapes.
type value struct {
	b    []byte // nil: no value
	text bool   // b is a string's characters
	raw  bool   // compares by bytes, as ids do
	root bool   // stands for the whole document, whose members lie in the evaluator
}

func (v value) kind() jsonscan.Kind {
	if v.text {
		return jsonscan.String
	}
	return jsonscan.KindOf(v.b)
}

// string returns the characters of a value of kind String.
func (v value) string() []byte {
	if v.text {
		return v.b
	}
	return jsonscan.Text(nil, v.b)
}

// tester evaluates a leaf on a value that is there. What it does beyond going
// through the value once it takes from the budget; when that is spent, what it
// gives means nothing.
type tester interface {
	match(v value, b *Budget) bool
}

// evaluator runs one document at a time through a selector. It scans the body
// once, for all members that the selector looks at, and decodes nothing that
// is not compared.
type evaluator struct {
	sel    *Selector
	doc    *Doc
	budget *Budget
	slots  []value
	id     []byte // buffers behind the slots of _id and _rev
	rev    []byte
	whole  []byte // the document as JSON, made when asked for
}

// Match reports whether the document matches, which costs steps of the budget;
// an error says that there is no answer: the budget's (see NewBudget), or
// Invalid too_many_steps for a pattern that finds no end. A body that is not
// valid JSON matches or not, but does no harm.
func (s *Selector) Match(d *Doc, b *Budget) (bool, error) {
	if s.root == nil {
		return true, b.err
	}
	e := s.evaluators.Get().(*evaluator)
	e.budget = b
	e.load(d)
	ok := b.spend(1+len(d.Body)>>bytesPerStep) && e.eval(s.root, value{root: true})
	e.doc, e.budget = nil, nil
	clear(e.slots)
	s.evaluators.Put(e)
	return ok && b.err == nil, b.err
}

func (e *evaluator) load(d *Doc) {
	e.doc = d
	e.whole = e.whole[:0]
	missing := 0
	for i, name := range e.sel.names {
		switch {
		case !isReserved(name):
			missing++
		case name == "_id":
			e.slots[i] = d.reserved(e.id, name)
			e.id = e.slots[i].b
		case name == "_rev":
			e.slots[i] = d.reserved(e.rev, name)
			e.rev = e.slots[i].b
		default:
			e.slots[i] = d.reserved(nil, name)
		}
	}
	for m := jsonscan.MembersOf(d.Body); missing > 0; {
		name, v, ok := m.Next()
		if !ok {
			return
		}
		if i := e.find(name); i >= 0 && e.slots[i].b == nil {
			e.slots[i].b = v
			missing--
		}
	}
}

// fewNames is up to how many names are compared one by one.
const fewNames = 16

// find returns the slot of a body's member, -1 if nobody looks at it.
func (e *evaluator) find(quoted []byte) int {
	if len(e.sel.names) > fewNames {
		name := jsonscan.Text(nil, quoted)
		if i, ok := e.sel.slots[string(name)]; ok && !isReserved(string(name)) {
			return i
		}
		return -1
	}
	for i, name := range e.sel.names {
		if jsonscan.NameIs(quoted, name) && !isReserved(name) {
			return i
		}
	}
	return -1
}

// eval reports whether n holds for v: the document, or an element or name that
// n's tree was applied to.
func (e *evaluator) eval(n *Node, v value) bool {
	if !e.budget.spend(1) {
		return false
	}
	if n.Path != nil {
		return e.evalField(n, v)
	}
	switch n.Op {
	case And:
		return e.all(n.Kids, v)
	case Or:
		return len(n.Kids) == 0 || e.any(n.Kids, v)
	case Nor:
		return !e.any(n.Kids, v)
	case Text:
		return e.doc.Says == nil || e.doc.Says(n.Arg)
	}
	return e.test(n, v)
}

func (e *evaluator) all(kids []*Node, v value) bool {
	for _, k := range kids {
		if !e.eval(k, v) || e.budget.err != nil {
			return false
		}
	}
	return true
}

func (e *evaluator) any(kids []*Node, v value) bool {
	for _, k := range kids {
		if e.eval(k, v) || e.budget.err != nil {
			return true
		}
	}
	return false
}

// evalField evaluates an operator on the field it looks at. Where the field is
// missing everything fails but {"$exists": false}, and that too when the path
// leads through something that has no fields.
func (e *evaluator) evalField(n *Node, v value) bool {
	f, badPath := e.field(n, v)
	if f.b == nil {
		return !badPath && n.Op == Exists && string(n.Arg) == "false"
	}
	f.raw = v.raw || n.Path.isID()
	return e.test(n, f)
}

// field returns the value at n's path from v; none and badPath if the path leads
// through a scalar or an array without such a position.
func (e *evaluator) field(n *Node, v value) (_ value, badPath bool) {
	segments := n.Path.segments
	if v.root {
		if len(segments) == 0 {
			return value{b: e.document()}, false
		}
		v, segments = e.slots[n.slot], segments[1:]
	}
	for _, name := range segments {
		e.budget.spend(len(v.b) >> bytesPerStep)
		switch v.kind() {
		case jsonscan.Object:
			v.b, _ = jsonscan.Member(v.b, name)
		case jsonscan.Array:
			if v.b = element(v.b, name); v.b == nil {
				return value{}, true
			}
		default:
			return value{}, v.b != nil
		}
	}
	return v, false
}

// element returns the element whose position name is, nil if there is none.
func element(array []byte, name string) []byte {
	i, err := strconv.Atoi(name)
	if err != nil || i < 0 {
		return nil
	}
	v, _ := jsonscan.Element(array, i)
	return v
}

func (e *evaluator) document() []byte {
	if len(e.whole) == 0 {
		e.whole = e.doc.AppendJSON(e.whole)
	}
	return e.whole
}

// test applies n's operator to v, whatever n's path.
func (e *evaluator) test(n *Node, v value) bool {
	switch n.Op {
	case Not:
		// With a path n's operand has none of its own (see negate), and without
		// one it may.
		return !e.eval(n.Kids[0], v)
	case ElemMatch:
		return e.elements(n.Kids[0], v, true)
	case AllMatch:
		return !isEmpty(v) && e.elements(n.Kids[0], v, false)
	case KeyMapMatch:
		return e.names(n.Kids[0], v)
	}
	return e.budget.spend(len(v.b)>>bytesPerStep) && n.test.match(v, e.budget)
}

// elements reports whether v is an array with an element for which n's
// outcome is want; if it has none, the opposite of want. False for no array.
func (e *evaluator) elements(n *Node, v value, want bool) bool {
	if v.kind() != jsonscan.Array {
		return false
	}
	for it := jsonscan.ElementsOf(v.b); ; {
		b, ok := it.Next()
		if !ok {
			return !want
		}
		if e.eval(n, value{b: b, raw: v.raw}) == want || e.budget.err != nil {
			return want
		}
	}
}

func isEmpty(v value) bool {
	if v.kind() != jsonscan.Array {
		return true
	}
	it := jsonscan.ElementsOf(v.b)
	_, ok := it.Next()
	return !ok
}

// names reports whether v is an object with a member whose name matches n.
func (e *evaluator) names(n *Node, v value) bool {
	if v.kind() != jsonscan.Object {
		return false
	}
	for it := jsonscan.MembersOf(v.b); ; {
		name, _, ok := it.Next()
		if !ok {
			return false
		}
		if e.eval(n, value{b: name, raw: v.raw}) || e.budget.err != nil {
			return true
		}
	}
}
