package selector

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
)

// Normalizing goes in three steps, as CouchDB does it, so that the same
// selector meets the same error: operators are made explicit and checked,
// field names move down to the operators, negations move down to those that
// have an opposite.

// maxNesting is the depth a selector may have. Reading it takes time in
// proportion to length times depth.
const maxNesting = 200

// compact checks raw and returns a copy without white space. Duplicate names pass:
// the last of them counts.
func compact(raw []byte) ([]byte, error) {
	v := jsontext.Value(bytes.Clone(raw))
	if err := v.Compact(jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true)); err != nil {
		return nil, document.ErrNotJSON
	}
	if jsonscan.Depth(v) > maxNesting {
		return nil, dberr.New(dberr.Invalid, "bad_request", "The selector is nested too deeply.")
	}
	return v, nil
}

// parser counts what has been parsed of a selector.
type parser struct {
	nodes, patterns, positions int
	orders                     bool // what matches is put into an order: $near may ask for it
}

// count counts a condition, a pattern's bytes, and a geometry's positions.
func (r *parser) count(op Op, arg []byte) error {
	if op == Near && !r.orders {
		return errNear
	}
	if r.positions += positions(op, arg); r.positions > MaxPositions {
		return errTooLarge("positions", MaxPositions)
	}
	if r.nodes++; r.nodes > MaxNodes {
		return errTooLarge("conditions", MaxNodes)
	}
	if op == Regex {
		if r.patterns += len(arg); r.patterns > MaxPatterns {
			return errTooLarge("bytes of patterns", MaxPatterns)
		}
	}
	return nil
}

// operatorStep reads the condition v.
func (r *parser) operatorStep(v []byte) (*Node, error) {
	if !isObject(v) {
		return r.leaf(Eq, v)
	}
	var terms []*Node
	for _, m := range lastMembers(v) {
		n, err := r.parseMember(m.Name, m.Value)
		if err != nil {
			return nil, err
		}
		terms = append(terms, n)
	}
	switch len(terms) {
	case 0:
		return r.leaf(Eq, v)
	case 1:
		return terms[0], nil
	}
	return &Node{Op: And, Kids: terms}, nil
}

// lastMembers returns the members of an object: of those with one name the last, as
// CouchDB reads them.
func lastMembers(object []byte) []Member {
	var all []Member
	place := map[string]int{}
	for m := jsonscan.MembersOf(object); ; {
		quoted, value, ok := m.Next()
		if !ok {
			break
		}
		name := string(jsonscan.Text(nil, quoted))
		place[name] = len(all)
		all = append(all, Member{name, value})
	}
	if len(place) == len(all) {
		return all
	}
	kept := all[:0]
	for i, m := range all {
		if place[m.Name] == i {
			kept = append(kept, m)
		}
	}
	return kept
}

// leaf counts a node that tests a value, and makes it.
func (r *parser) leaf(op Op, arg []byte) (*Node, error) {
	if err := r.count(op, arg); err != nil {
		return nil, err
	}
	return leaf(op, nil, arg)
}

func (r *parser) parseMember(name string, arg []byte) (*Node, error) {
	switch {
	case name == "$default":
		return &Node{Op: Text, Arg: arg}, nil
	case name == "" || name[0] != '$':
		kid, err := r.operatorStep(arg)
		return &Node{Op: fieldOp, name: name, Kids: []*Node{kid}}, err
	}
	op, err := lookup(name, arg)
	if err == nil && operators[op].compile == nil {
		err = r.count(op, nil)
	}
	if err != nil {
		return nil, err
	}
	n := &Node{Op: op}
	switch {
	case operators[op].list:
		return n, r.parseList(n, arg)
	case op == Text:
		n.Arg = append(append([]byte(`{"$text":`), arg...), '}')
		return n, nil
	case operators[op].compile == nil:
		kid, err := r.operatorStep(arg)
		n.Kids = []*Node{kid}
		return n, err
	}
	return r.leaf(op, arg)
}

// leaf makes a node that tests a value by itself.
func leaf(op Op, p *Path, arg []byte) (*Node, error) {
	test, err := operators[op].compile(arg)
	return &Node{Op: op, Path: p, Arg: arg, test: test}, err
}

func (r *parser) parseList(n *Node, arg []byte) error {
	n.Kids = []*Node{}
	for e := jsonscan.ElementsOf(arg); ; {
		v, ok := e.Next()
		if !ok {
			return nil
		}
		kid, err := r.operatorStep(v)
		if err != nil {
			return err
		}
		n.Kids = append(n.Kids, kid)
	}
}

// fieldStep returns the node with the field name path moved down.
func fieldStep(n *Node, path string) (_ *Node, err error) {
	switch n.Op {
	case fieldOp:
		if path != "" {
			path += "."
		}
		return fieldStep(n.Kids[0], path+n.name)
	case Text:
		if path != "" || !isTextClause(n.Arg) {
			return nil, badField(n)
		}
		return n, nil
	case And, Or, Nor, Not:
		return n, n.moveIntoKids(path)
	case ElemMatch, AllMatch, KeyMapMatch:
		err = n.moveIntoKids("")
	}
	if err == nil {
		n.Path, err = ParsePath(path)
	}
	return n, err
}

func (n *Node) moveIntoKids(path string) (err error) {
	for i, k := range n.Kids {
		if n.Kids[i], err = fieldStep(k, path); err != nil {
			return err
		}
	}
	return nil
}

// isTextClause reports whether arg is {"$text": …} and no more.
func isTextClause(arg []byte) bool {
	_, ok := jsonscan.Member(arg, "$text")
	m := jsonscan.MembersOf(arg)
	m.Next()
	_, _, more := m.Next()
	return isObject(arg) && ok && !more
}

func badField(n *Node) error {
	return dberr.New(dberr.Invalid, "bad_field", "Invalid field normalization on selector: %s", Term(n.appendJSON(nil)))
}

// negationStep moves the negations within n down. Operands of ElemMatch and
// its like keep theirs.
func negationStep(n *Node) (*Node, error) {
	switch n.Op {
	case Not:
		return negate(n.Kids[0])
	case Nor:
		return n.each(And, negate)
	case And, Or:
		return n.each(n.Op, negationStep)
	}
	return n, nil
}

// negate returns the opposite of n by De Morgan's laws. Since a missing field
// fails every operator but $exists, n and its opposite may both be false.
func negate(n *Node) (*Node, error) {
	switch n.Op {
	case Not:
		return negationStep(n.Kids[0])
	case Nor:
		return n.each(Or, negationStep)
	case And:
		return n.each(Or, negate)
	case Or:
		return n.each(And, negate)
	case Text:
		return nil, badArgument("$not", n.appendJSON(nil))
	case Exists:
		return negateExists(n)
	}
	op := operators[n.Op].opposite
	if op == 0 {
		inner := *n
		inner.Path = nil
		return &Node{Op: Not, Path: n.Path, Kids: []*Node{&inner}}, nil
	}
	return leaf(op, n.Path, n.Arg)
}

func negateExists(n *Node) (*Node, error) {
	arg := []byte("true")
	if string(n.Arg) == "true" {
		arg = []byte("false")
	}
	return leaf(Exists, n.Path, arg)
}

func (n *Node) each(op Op, step func(*Node) (*Node, error)) (*Node, error) {
	out := &Node{Op: op, Kids: make([]*Node, len(n.Kids))}
	for i, k := range n.Kids {
		var err error
		if out.Kids[i], err = step(k); err != nil {
			return nil, err
		}
	}
	return out, nil
}
