package selector

import (
	"strings"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// Op is an operator of the selector language.
type Op uint8

// The operators of a normalized selector. Not and Nor remain only where they
// can't be pushed down: Not over an operator without an opposite, and both
// inside the operands of ElemMatch, AllMatch and KeyMapMatch.
const (
	And Op = iota + 1
	Or
	Not
	Nor
	Eq
	Ne
	Lt
	Lte
	Gt
	Gte
	In
	Nin
	All
	Exists
	Type
	Mod
	Regex
	BeginsWith
	Size
	ElemMatch
	AllMatch
	KeyMapMatch
	Text
	GeoWithin
	GeoIntersects
	Near

	fieldOp // a field name over a condition; gone once names are pushed down
)

// String returns the operator's word, such as "$gte".
func (op Op) String() string { return operators[op].word }

// Node is a part of a normalized selector. A node is not changed once Parse
// has returned it.
type Node struct {
	Op Op
	// Path is the field that the operator looks at. It is nil where the node
	// combines others (And, Or, Nor), for Text, and for a Not and its operand,
	// one of which applies to what the other one's path has found.
	Path *Path
	// Arg is the operand as compact JSON; nil where the operands are Kids.
	Arg []byte
	// Kids are the operands of And, Or and Nor, and the one operand of Not,
	// ElemMatch, AllMatch and KeyMapMatch. Paths below the last three begin at
	// the element or name, not at the document.
	Kids []*Node

	name string // of a fieldOp
	test tester // evaluates a leaf; nil for And, Or, Not and Nor
	slot int    // of Path's first segment among the selector's names, for paths from the document
}

// Path is a parsed field name: "a.b\\.c.0" is a, "b.c", 0.
type Path struct {
	text     string
	segments []string
}

// ParsePath parses a dotted field name. A backslash before a dot makes it part
// of the name; other backslashes fall away, so that "\\$x" is the name "$x".
// The empty name stands for the value itself.
func ParsePath(text string) (*Path, error) {
	p := &Path{text: text}
	if text == "" {
		return p, nil
	}
	for _, part := range rawParts(text) {
		if part == "" {
			return nil, dberr.New(dberr.Invalid, "invalid_field_name", "Invalid field name: %s", text)
		}
		p.segments = append(p.segments, strings.ReplaceAll(part, `\`, ""))
	}
	return p, nil
}

// rawParts cuts text at its unescaped dots and leaves the backslashes in.
func rawParts(text string) []string {
	var parts []string
	from := 0
	for i := range len(text) {
		if text[i] == '.' && (i == 0 || text[i-1] != '\\') {
			parts = append(parts, text[from:i])
			from = i + 1
		}
	}
	return append(parts, text[from:])
}

// String returns the path as it was written, with its backslashes.
func (p *Path) String() string { return p.text }

// Segments returns the names from the outermost to the innermost; none for the
// value itself.
func (p *Path) Segments() []string { return p.segments }

// isID reports whether the path is the one that compares by bytes.
func (p *Path) isID() bool { return p.text == "_id" }

// appendJSON appends the node as CouchDB's _explain prints it.
func (n *Node) appendJSON(dst []byte) []byte {
	if n.Path != nil {
		dst = append(dst, '{')
		dst = append(jsonscan.AppendQuoted(dst, n.Path.text), ':')
		return append(n.appendCondition(dst), '}')
	}
	return n.appendCondition(dst)
}

func (n *Node) appendCondition(dst []byte) []byte {
	if n.Op == Text {
		return append(append(append(dst, `{"$default":`...), n.Arg...), '}')
	}
	dst = append(dst, `{"`...)
	dst = append(append(dst, n.Op.String()...), `":`...)
	switch {
	case n.Arg != nil:
		dst = append(dst, n.Arg...)
	case operators[n.Op].list:
		dst = append(dst, '[')
		for i, k := range n.Kids {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = k.appendJSON(dst)
		}
		dst = append(dst, ']')
	default:
		dst = n.Kids[0].appendJSON(dst)
	}
	return append(dst, '}')
}
