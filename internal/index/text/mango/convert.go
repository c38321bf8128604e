package mango

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/lucene"
	"github.com/sectional/sectional/internal/selector"
)

// Bounds of a query.
const (
	maxClauses = 512   // of all it has
	maxTerm    = 32766 // bytes of a term; longer ones are in no index
	maxPlaces  = 3     // of arrays that one path may name
)

// Query makes the query that finds the documents of the index that a part of a
// selector may mean. It is nil if the index can't narrow them down: all may be meant.
//
// chosen says that whoever asks named the index: then a field that is indexed with one
// type counts as one that has no others.
func (d *Def) Query(n *selector.Node, chosen bool) lucene.Node {
	c := &converter{Def: d, chosen: chosen}
	q := c.node(nil, n)
	if c.clauses > maxClauses {
		return nil
	}
	return q
}

// Either makes the query of what any of several finds; nil if one of them is.
func Either(all ...lucene.Node) lucene.Node { return joined(lucene.Should, all) }

// Both makes the query of what all of several find, nil being everything.
func Both(all ...lucene.Node) lucene.Node { return joined(lucene.Must, all) }

func joined(occur lucene.Occur, all []lucene.Node) lucene.Node {
	b := &lucene.Boolean{Boost: 1}
	for _, q := range all {
		switch {
		case q != nil:
			b.Clauses = append(b.Clauses, lucene.Clause{Occur: occur, Node: q})
		case occur == lucene.Should:
			return nil
		}
	}
	switch {
	case occur == lucene.Must && len(b.Clauses) == 0:
		return nil
	case len(b.Clauses) == 1:
		return b.Clauses[0].Node
	}
	return b
}

// Texts returns how many clauses of $text a selector has.
func Texts(n *selector.Node) (count int) {
	if n == nil {
		return 0
	}
	if n.Op == selector.Text {
		return 1
	}
	for _, k := range n.Kids {
		count += Texts(k)
	}
	return count
}

type converter struct {
	*Def
	chosen  bool
	clauses int
}

// node makes the query of a part that looks at what lies below a path.
func (c *converter) node(below []string, n *selector.Node) lucene.Node {
	if c.clauses++; c.clauses > maxClauses {
		return nil
	}
	switch {
	case n.Op == selector.Text:
		return Said(n.Arg)
	case n.Op == selector.And || n.Op == selector.Or:
		var all []lucene.Node
		for _, k := range n.Kids {
			all = append(all, c.node(below, k))
		}
		if n.Op == selector.Or {
			if len(all) == 0 {
				return nil
			}
			return Either(all...)
		}
		return Both(all...)
	case n.Path == nil || n.Op == selector.Not || n.Op == selector.Nor:
		return nil
	}
	path := append(slices.Clip(below), n.Path.Segments()...)
	paths := variants(path)
	if paths == nil || len(path) > 0 && (isReserved(path[0]) || c.noIDs && path[0] == "_id") {
		return nil
	}
	var all []lucene.Node
	for _, path := range paths {
		all = append(all, c.leaf(path, n))
	}
	return Either(all...)
}

// variants returns the paths that a path may mean: a number is a member or a place of
// an array. nil if there are too many.
func variants(path []string) [][]string {
	all, places := [][]string{nil}, 0
	for _, p := range path {
		var next [][]string
		_, err := strconv.Atoi(p)
		if err == nil {
			places++
		}
		for _, before := range all {
			next = append(next, append(slices.Clip(before), p))
			if err == nil {
				next = append(next, append(slices.Clip(before), elements))
			}
		}
		if all = next; places > maxPlaces {
			return nil
		}
	}
	return all
}

// Said makes the query of {"$text": …}: a phrase of the field that has all strings.
func Said(clause []byte) lucene.Node {
	v, _ := jsonscan.Member(clause, "$text")
	text := string(jsonscan.Trim(v))
	if jsonscan.KindOf(v) == jsonscan.String {
		text = string(jsonscan.Text(nil, v))
	}
	return &lucene.Phrase{Field: textField, Text: text, Boost: 1}
}

// leaf makes the query of a condition on a path.
func (c *converter) leaf(path []string, n *selector.Node) lucene.Node {
	within := append(slices.Clip(path), elements)
	switch n.Op {
	case selector.Eq:
		return c.equal(path, n.Arg)
	case selector.In:
		return c.any(n.Arg, path, within)
	case selector.Lt, selector.Lte, selector.Gt, selector.Gte:
		return c.order(path, n)
	case selector.Exists:
		if jsonscan.KindOf(n.Arg) == jsonscan.True {
			return c.exists(path)
		}
		return nil
	case selector.ElemMatch, selector.AllMatch:
		return Both(c.exists(within), c.node(within, n.Kids[0]))
	case selector.All:
		return c.all(path, n.Arg)
	case selector.Type:
		return c.typed(path, string(jsonscan.Text(nil, n.Arg)))
	case selector.Mod:
		return c.has(path, typeNumber)
	case selector.Regex:
		return c.has(path, typeString)
	case selector.BeginsWith:
		return c.begins(path, string(jsonscan.Text(nil, n.Arg)))
	case selector.Size:
		if c.Lengths {
			return &lucene.Term{Field: nameOf(within, typeLength), Text: string(n.Arg), Boost: 1}
		}
		return c.exists(within)
	case selector.Ne, selector.Nin, selector.KeyMapMatch:
		return c.exists(path)
	}
	return nil
}

// exists makes the query of the documents that have a path, whatever is there.
func (c *converter) exists(path []string) lucene.Node {
	name := pathOf(path)
	if !c.All && (!c.chosen || !c.below(name)) {
		return nil
	}
	return Either(named(name+escape(":"), true), named(name+".", true))
}

// below reports whether a field is indexed that is a path or lies below it.
func (c *converter) below(path string) bool {
	for name := range c.names {
		if strings.HasPrefix(name, path+escape(":")) || strings.HasPrefix(name, path+".") {
			return true
		}
	}
	return false
}

// named makes the query of the documents that have a field of a name, or of one that
// begins with it.
func named(name string, begins bool) lucene.Node {
	if begins {
		return &lucene.Prefix{Field: namesField, Text: name, Boost: 1}
	}
	return &lucene.Phrase{Field: namesField, Text: name, Boost: 1}
}

// has makes the query of the documents that have a value of a type.
func (c *converter) has(path []string, typ string) lucene.Node {
	name := nameOf(path, typ)
	if !c.indexes(name) {
		return nil
	}
	return named(name, false)
}

// equal makes the query of the documents that have a value.
func (c *converter) equal(path []string, v []byte) lucene.Node {
	switch jsonscan.KindOf(v) {
	case jsonscan.String:
		name, text := nameOf(path, typeString), string(jsonscan.Text(nil, v))
		switch {
		case !c.indexes(name):
			return nil
		case !c.exact || len(text) >= maxTerm || text == "":
			return c.has(path, typeString)
		}
		return &lucene.Phrase{Field: name, Text: text, Boost: 1}
	case jsonscan.Number:
		return c.number(path, v)
	case jsonscan.True, jsonscan.False:
		name := nameOf(path, typeBoolean)
		if !c.indexes(name) {
			return nil
		}
		return &lucene.Wildcard{Field: name, Pattern: []lucene.Piece{{Kind: lucene.Literal, Text: string(jsonscan.Trim(v))}}, Boost: 1}
	case jsonscan.Null:
		return c.has(path, typeNull)
	case jsonscan.Array:
		return c.exists(append(slices.Clip(path), elements))
	}
	return c.exists(path)
}

func (c *converter) number(path []string, v []byte) lucene.Node {
	name := nameOf(path, typeNumber)
	if !c.indexes(name) {
		return nil
	}
	text := string(jsonscan.Trim(v))
	return &lucene.Range{Field: name, Min: &text, Max: &text, IncludeMin: true, IncludeMax: true, Boost: 1}
}

// any makes the query of the documents that have one of some values, on any of some
// paths.
func (c *converter) any(values []byte, paths ...[]string) lucene.Node {
	all := []lucene.Node{}
	for it := jsonscan.ElementsOf(values); ; {
		v, ok := it.Next()
		if !ok {
			break
		}
		if c.clauses++; c.clauses > maxClauses {
			return nil
		}
		for _, path := range paths {
			q := c.equal(path, v)
			if q == nil && c.chosen {
				continue // the index has no such values there
			}
			all = append(all, q)
		}
	}
	if len(all) == 0 && jsonscan.Len(values) > 0 {
		return nil // the index knows nothing of these fields
	}
	return Either(all...)
}

// all makes the query of the arrays that have all of some values, or, of one array,
// are it.
func (c *converter) all(path []string, values []byte) lucene.Node {
	within := append(slices.Clip(path), elements)
	all := []lucene.Node{c.exists(within)}
	for it := jsonscan.ElementsOf(values); ; {
		v, ok := it.Next()
		if !ok {
			return Both(all...)
		}
		if k := jsonscan.KindOf(v); k == jsonscan.Array || k == jsonscan.Object {
			return c.exists(within)
		}
		if c.clauses++; c.clauses > maxClauses {
			return nil
		}
		all = append(all, c.equal(within, v))
	}
}

// order makes the query of a comparison. Values of different types compare by their
// types: null, truth values, numbers, strings, arrays, objects.
func (c *converter) order(path []string, n *selector.Node) lucene.Node {
	less := n.Op == selector.Lt || n.Op == selector.Lte
	switch kind := jsonscan.KindOf(n.Arg); {
	case kind == jsonscan.Number:
		text := string(jsonscan.Trim(n.Arg))
		q := &lucene.Range{Field: nameOf(path, typeNumber), IncludeMin: true, IncludeMax: true, Boost: 1}
		if q.Min = &text; less {
			q.Min, q.Max = nil, &text
		}
		switch {
		case c.All && less:
			return Either(q, c.has(path, typeNull), c.has(path, typeBoolean))
		case c.All:
			return Either(q, c.has(path, typeString), c.has(path, typeObject), named(pathOf(path)+".", true))
		case c.chosen && c.indexes(q.Field):
			return q
		}
		return nil
	case kind == jsonscan.String && c.chosen && !c.All:
		return c.has(path, typeString)
	}
	return c.exists(path)
}

// typed makes the query of {"$type": …}.
func (c *converter) typed(path []string, typ string) lucene.Node {
	switch typ {
	case typeString, typeNumber, typeBoolean, typeNull:
		return c.has(path, typ)
	}
	return c.exists(path)
}

// begins makes the query of the strings that begin with a text.
func (c *converter) begins(path []string, text string) lucene.Node {
	name := nameOf(path, typeString)
	if !c.exact || !c.indexes(name) || len(text) > maxTerm || text == "" {
		return c.has(path, typeString)
	}
	return &lucene.Prefix{Field: name, Text: text, Boost: 1}
}
