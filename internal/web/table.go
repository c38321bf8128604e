package web

import "strings"

// MaxArgs bounds the {…} of one pattern.
const MaxArgs = 6

// Table finds the rows of an API by path and method. A row is what the API says it is.
//
// A pattern is made of segments: a literal, {name} for any one segment, or at
// the end {name...} for one or more. Literals go before {name} and {name...}, segment
// by segment.
type Table[R any] struct{ root Node[R] }

// Node is a step of the table, on which the rows of one pattern lie.
type Node[R any] struct {
	// Rows are those of the pattern, in the order in which they were added.
	Rows []R
	// Names are those of the {…} on the way.
	Names []string

	literals map[string]*Node[R]
	wild     *Node[R]
	rest     *Node[R]
	methods  []string // of Rows
	allow    string
}

// Add puts a row into the table: methods are "GET" or "GET,POST", where GET serves HEAD too and "*" is every method.
// allow is the Allow header of the pattern, "" for the methods of its rows; only that of the first row counts.
// It panics on a table that contradicts itself.
func (t *Table[R]) Add(pattern, methods, allow string, row R) {
	n := &t.root
	var names []string
	for seg := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		switch name, isName := strings.CutPrefix(seg, "{"); {
		case seg == "":
		case isName && strings.HasSuffix(seg, "...}"):
			n.rest = orNew(n.rest)
			n, names = n.rest, append(names, strings.TrimSuffix(name, "...}"))
		case isName:
			n.wild = orNew(n.wild)
			n, names = n.wild, append(names, strings.TrimSuffix(name, "}"))
		default:
			if n.literals == nil {
				n.literals = map[string]*Node[R]{}
			}
			n.literals[seg] = orNew(n.literals[seg])
			n = n.literals[seg]
		}
	}
	if n.Rows == nil {
		n.Names, n.allow = names, allow
	}
	if strings.Join(n.Names, " ") != strings.Join(names, " ") || len(names) > MaxArgs {
		panic("web: route " + pattern + " names its segments otherwise than a row before it, or too many")
	}
	n.Rows, n.methods = append(n.Rows, row), append(n.methods, methods)
}

func orNew[R any](n *Node[R]) *Node[R] {
	if n == nil {
		return &Node[R]{}
	}
	return n
}

// Find returns the node of a path, nil if there is none. What is at its {…} is stored in args.
func (t *Table[R]) Find(p *Path, args *[MaxArgs]string) *Node[R] { return t.root.find(p, 0, args, 0) }

// find returns the node for segments i and on of p. Arguments are stored in args on the way out.
func (n *Node[R]) find(p *Path, i int, args *[MaxArgs]string, depth int) *Node[R] {
	if i == p.n {
		if n.Rows == nil {
			return nil
		}
		return n
	}
	if next := n.literals[p.parts[i]]; next != nil {
		if found := next.find(p, i+1, args, depth); found != nil {
			return found
		}
	}
	if n.wild != nil {
		if found := n.wild.find(p, i+1, args, depth+1); found != nil {
			args[depth] = p.parts[i]
			return found
		}
	}
	if n.rest != nil {
		args[depth] = p.Rest(i)
		return n.rest
	}
	return nil
}

// Row returns the row of the node for a method.
func (n *Node[R]) Row(method string) (row R, ok bool) {
	if method == "HEAD" {
		method = "GET"
	}
	for i, methods := range n.methods {
		if methods == "*" || hasMethod(methods, method) {
			return n.Rows[i], true
		}
	}
	return row, false
}

func hasMethod(list, method string) bool {
	for list != "" {
		var m string
		m, list, _ = strings.Cut(list, ",")
		if m == method {
			return true
		}
	}
	return false
}

// Allowed returns the methods of the node as the Allow header has them.
func (n *Node[R]) Allowed() string {
	if n.allow != "" {
		return n.allow
	}
	return strings.Join(n.methods, ",")
}
