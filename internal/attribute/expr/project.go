package expr

import (
	"cmp"
	"slices"

	"github.com/sectional/sectional/internal/attribute"
)

// Projection is which parts of items are wanted. It may be used by several at once.
type Projection struct {
	root  *tree
	paths []*node
}

// Projection parses a ProjectionExpression. Errors: Validation.
func (p *Placeholders) Projection(text string) (*Projection, error) {
	nodes, err := parseProjection(text)
	if err != nil {
		return nil, err
	}
	const kind = ProjectionExpression
	for _, n := range nodes {
		if err := kind.checkShape(n, asOperand); err != nil {
			return nil, err
		}
	}
	for _, n := range nodes {
		if err := (resolver{kind, p}).resolvePath(n); err != nil {
			return nil, err
		}
	}
	root, err := kind.newTree(nodes)
	return &Projection{root, nodes}, err
}

// Apply returns the parts of an item that are wanted. Elements of lists close up.
func (p *Projection) Apply(item attribute.Item) attribute.Item { return p.root.of(item) }

// Parts returns how many paths are wanted.
func (p *Projection) Parts() int { return len(p.paths) }

// Names returns the names of the attributes of which something is wanted.
func (p *Projection) Names() []string {
	var names []string
	for _, b := range p.root.branches {
		names = append(names, b.name)
	}
	return names
}

// CheckKeyPaths is as of Condition.
func (p *Projection) CheckKeyPaths(keys ...string) error {
	return (&node{kind: nodeAnd, args: p.paths}).checkKeyPaths(keys)
}

// tree is document paths none of which lies within another.
type tree struct {
	first    path // of those within, in the order of the text
	end      bool // first ends here
	branches []branch
	at       map[step]*tree
}

type branch struct {
	step
	*tree
}

// newTree returns the tree of resolved paths. Errors: Validation for two that overlap
// or take an attribute for a list and for a map.
func (k Kind) newTree(nodes []*node) (*tree, error) {
	root := &tree{}
	for _, n := range nodes {
		clash, other := root.add(n.path, 0)
		if clash != "" {
			return nil, k.invalid("Two document paths %s with each other; must remove or rewrite one of these paths; path one: %s, path two: %s", clash, other, n.path)
		}
	}
	root.sort()
	return root, nil
}

// add adds a path of which the first steps lead to t; what it clashes with, if
// anything, is returned.
func (t *tree) add(p path, depth int) (clash string, other path) {
	switch {
	case t.first == nil:
		t.first = p
	case t.end || depth == len(p):
		return "overlap", t.first
	}
	if depth == len(p) {
		t.end = true
		return "", nil
	}
	if len(t.branches) > 0 && (t.branches[0].index == byName) != (p[depth].index == byName) {
		return "conflict", t.branches[0].first
	}
	next := t.at[p[depth]]
	if next == nil {
		next = &tree{}
		if t.at == nil {
			t.at = map[step]*tree{}
		}
		t.at[p[depth]] = next
		t.branches = append(t.branches, branch{p[depth], next})
	}
	return next.add(p, depth+1)
}

// sort puts elements of lists into their order.
func (t *tree) sort() {
	slices.SortStableFunc(t.branches, func(a, b branch) int { return cmp.Compare(a.index, b.index) })
	for _, b := range t.branches {
		b.sort()
	}
}

// of returns what of an item is in the tree.
func (t *tree) of(item attribute.Item) attribute.Item {
	var found []attribute.Attribute
	for _, b := range t.branches {
		if v, ok := b.take(attribute.Map(item)); ok {
			found = append(found, attribute.Attribute{Name: b.name, Value: v})
		}
	}
	return attribute.NewItem(found)
}

// take returns what of the value that a step leads to is in the tree below.
func (b branch) take(parent attribute.Value) (v attribute.Value, ok bool) {
	if v, ok = b.into(parent); !ok || b.end {
		return v, ok
	}
	if b.branches[0].index == byName {
		item := b.of(v.Map())
		return attribute.Map(item), item.Len() > 0
	}
	var list []attribute.Value
	for _, below := range b.branches {
		if e, ok := below.take(v); ok {
			list = append(list, e)
		}
	}
	return attribute.List(list), list != nil
}
