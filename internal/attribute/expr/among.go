package expr

import (
	"slices"

	"github.com/sectional/sectional/internal/attribute"
)

// among is what an IN compares an item's value with. A list, a map or a set is held
// against the values by its hash, so that it is gone through once and not for each of
// them, of which 800 fit in an expression.
type among struct {
	plain  []attribute.Value            // of which nothing is in another
	nested map[uint64][]attribute.Value // by their hashes; nil for none
	others []*node                      // what the item gives
}

// hashes are those of values by their placeholders, each of which is made once however
// often an expression has it.
type hashes map[string]uint64

func (h hashes) of(n *node) uint64 {
	if known, ok := h[n.name]; ok && n.name != "" {
		return known
	}
	h[n.name] = attribute.Hash(n.value)
	return h[n.name]
}

// prepare makes what the INs within a condition compare with.
func (n *node) prepare(known hashes) {
	for _, a := range n.args {
		a.prepare(known)
	}
	if n.kind != nodeIn {
		return
	}
	n.among = &among{}
	for i, a := range n.args[1:] {
		if !slices.ContainsFunc(n.args[1:i+1], a.same) {
			n.among.add(a, known)
		}
	}
}

// same reports whether two nodes are the same placeholder of a value, or the same path.
func (n *node) same(o *node) bool {
	switch {
	case n.kind != o.kind:
		return false
	case n.kind == nodeValue:
		return n.name != "" && n.name == o.name
	}
	return n.kind == nodePath && slices.Equal(n.path, o.path)
}

func (m *among) add(n *node, known hashes) {
	switch {
	case n.kind != nodeValue:
		m.others = append(m.others, n)
	case !isNested(n.value):
		m.plain = append(m.plain, n.value)
	default:
		m.addNested(known.of(n), n.value)
	}
}

func (m *among) addNested(hash uint64, v attribute.Value) {
	if m.nested == nil {
		m.nested = map[uint64][]attribute.Value{}
	}
	m.nested[hash] = append(m.nested[hash], v)
}

// has reports whether a value is among what an item and the expression have.
func (m *among) has(v attribute.Value, item attribute.Item) bool {
	values := m.plain
	if isNested(v) {
		values = nil
		if m.nested != nil {
			values = m.nested[attribute.Hash(v)]
		}
	}
	for _, w := range values {
		if attribute.Equal(v, w) {
			return true
		}
	}
	for _, o := range m.others {
		if w, ok := o.operand(item); ok && attribute.Equal(v, w) {
			return true
		}
	}
	return false
}

// isNested reports whether a value has others in it.
func isNested(v attribute.Value) bool {
	switch v.Type() {
	case attribute.L, attribute.M, attribute.SS, attribute.NS, attribute.BS:
		return true
	}
	return false
}
