// Package selector owns the Mango selector language: parsing a selector into a
// normalized tree, matching documents with it, and picking the fields of a
// document that a request asks for. It is pure: bytes in, answers out.
//
// What a selector means, which selectors are refused and with what words is
// CouchDB's; the comments say where it is not. The package knows nothing of
// indexes: a planner reads the tree (Selector.Root). Full-text clauses are
// parsed and match everything, since the text index has chosen by then.
//
// Begin reading at Parse and Match; normalize.go holds the three steps that
// make the tree, evaluate.go how a document runs through it.
package selector

import (
	"slices"
	"sync"

	"github.com/sectional/sectional/internal/dberr"
)

// Selector is a parsed selector. It may be used by several goroutines.
type Selector struct {
	root *Node // nil: everything matches
	// names are the document's members that the tree looks at, in order of
	// Node.slot.
	names      []string
	slots      map[string]int // places in names
	evaluators sync.Pool
}

// Bounds of a selector.
const (
	MaxBytes    = 8 << 20
	MaxNodes    = 10_000   // conditions
	MaxPatterns = 64 << 10 // bytes of all patterns

	// MaxPositions is about how many positions the geometries may have together.
	MaxPositions = 20_000
)

// Parse parses a selector. Its errors are dberr.Invalid with CouchDB's code and
// reason for _find: invalid_selector_json, bad_arg, invalid_operator and so on;
// selector_too_large beyond one of the bounds.
func Parse(raw []byte) (*Selector, error) { return parse(raw, &parser{}) }

// ParseQuery is Parse for a query, whose answer has an order: $near may ask for it.
func ParseQuery(raw []byte) (*Selector, error) { return parse(raw, &parser{orders: true}) }

func parse(raw []byte, with *parser) (*Selector, error) {
	if len(raw) > MaxBytes {
		return nil, errTooLarge("bytes", MaxBytes)
	}
	raw, err := compact(raw)
	if err != nil {
		return nil, err
	}
	if !isObject(raw) {
		return nil, dberr.New(dberr.Invalid, "invalid_selector_json", "Selector must be a JSON object, not: %s", Term(raw))
	}
	s := new(Selector)
	s.evaluators.New = func() any { return &evaluator{sel: s, slots: make([]value, len(s.names))} }
	if string(raw) == "{}" {
		return s, nil
	}
	if s.root, err = with.normalize(raw); err != nil {
		return nil, err
	}
	s.slots = map[string]int{}
	s.assignSlots(s.root)
	return s, nil
}

func errTooLarge(of string, most int) error {
	return dberr.New(dberr.Invalid, "selector_too_large", "The selector has more than %d %s.", most, of)
}

func (r *parser) normalize(raw []byte) (*Node, error) {
	n, err := r.operatorStep(raw)
	if err != nil {
		return nil, err
	}
	if n, err = fieldStep(n, ""); err != nil {
		return nil, err
	}
	if n, err = negationStep(n); err != nil {
		return nil, err
	}
	if n.Path != nil && len(n.Path.segments) == 0 {
		return nil, dberr.New(dberr.Invalid, "invalid_selector", "One or more conditions is missing a field name.")
	}
	return n, nil
}

// assignSlots numbers the members that paths from the document begin with.
func (s *Selector) assignSlots(n *Node) {
	if n.Path != nil {
		if len(n.Path.segments) > 0 {
			n.slot = s.slotOf(n.Path.segments[0])
		}
		return
	}
	for _, k := range n.Kids {
		s.assignSlots(k)
	}
}

func (s *Selector) slotOf(name string) int {
	i, ok := s.slots[name]
	if !ok {
		i = len(s.names)
		s.names = append(s.names, name)
		s.slots[name] = i
	}
	return i
}

// Linear reports whether matching takes time in proportion to the document's
// size: it does unless a pattern goes back and forth.
func (s *Selector) Linear() bool { return s.root == nil || s.root.linear() }

// Root returns the normalized tree, nil for the empty selector, which matches
// everything.
func (s *Selector) Root() *Node { return s.root }

// Has reports whether an operator is anywhere in the selector.
func (s *Selector) Has(op Op) bool { return s.root != nil && s.root.has(op) }

func (n *Node) has(op Op) bool {
	return n.Op == op || slices.ContainsFunc(n.Kids, func(k *Node) bool { return k.has(op) })
}

// Conditions is how many conditions the selector has.
func (s *Selector) Conditions() int {
	if s.root == nil {
		return 0
	}
	return s.root.conditions()
}

func (n *Node) conditions() int {
	sum := 1
	for _, k := range n.Kids {
		sum += k.conditions()
	}
	return sum
}

// Uses reports whether the selector looks at the document's member name, so
// that a caller need not fill in what nobody asks for. A condition on the whole
// document (reached by {"$and":[1]} and the like) uses every member.
func (s *Selector) Uses(name string) bool {
	return slices.Contains(s.names, name) || s.root != nil && s.root.usesWhole()
}

func (n *Node) usesWhole() bool {
	if n.Path != nil {
		return len(n.Path.segments) == 0
	}
	return slices.ContainsFunc(n.Kids, (*Node).usesWhole)
}

// JSON returns the normalized selector as _explain prints it.
func (s *Selector) JSON() []byte {
	if s.root == nil {
		return []byte("{}")
	}
	return s.root.appendJSON(nil)
}
