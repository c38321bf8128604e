package expr

import (
	"slices"

	"github.com/sectional/sectional/internal/attribute"
)

// The errors of updates that depend on the item.
var (
	errType       = attribute.Invalid("An operand in the update expression has an incorrect data type")
	errMissing    = attribute.Invalid("The provided expression refers to an attribute that does not exist in the item")
	errPath       = attribute.Invalid("The document path provided in the update expression is invalid for update")
	errLegacyType = attribute.Invalid("Type mismatch for attribute to update")
	errTooLarge   = attribute.Invalid("Item size to update has exceeded the maximum allowed size")
)

// change is what an action does to an item: a value to be put at its path, of type None
// to take out what is there.
type change struct {
	none    bool // nothing to do
	value   attribute.Value
	failure error // to be told if nothing worse is found
}

// Apply returns the item after the update. All values are those of the item as it was.
// An item that is not there yet has its key attributes. Errors: Validation, in the
// order in which AWS finds them: paths that lead into values of another type, operands
// of another type, then from the last section to the first paths that lead nowhere and
// attributes that are not there, at last numbers and what is too large or too deep.
func (u *Update) Apply(item attribute.Item) (attribute.Item, error) {
	for _, a := range u.actions {
		if parent, ok := a.parent(item); ok && !a.fits(parent) {
			return item, errPath
		}
	}
	changes, err := u.changes(item)
	if err != nil {
		return item, err
	}
	end := len(u.actions)
	for _, s := range slices.Backward(u.sections) {
		start := end - len(s.actions)
		if err := checkSection(item, s.actions, changes[start:end]); err != nil {
			return item, err
		}
		end = start
	}
	for _, c := range changes {
		if c.failure != nil {
			return item, c.failure
		}
	}
	changed := u.edit(item, changes)
	return changed, changed.CheckUpdate()
}

// checkSection refuses paths that lead nowhere and values that are not there.
func checkSection(item attribute.Item, actions []*action, changes []change) error {
	for _, a := range actions {
		if _, ok := a.parent(item); !ok {
			return errPath
		}
	}
	for _, c := range changes {
		if c.failure == errMissing {
			return errMissing
		}
	}
	return nil
}

// parent returns what the path without its last step leads to.
func (a *action) parent(item attribute.Item) (attribute.Value, bool) {
	p := a.path.path
	if len(p) == 1 {
		return attribute.Map(item), true
	}
	return p[:len(p)-1].in(item)
}

// fits reports whether the last step of the path is one into a value.
func (a *action) fits(parent attribute.Value) bool {
	if a.path.path[len(a.path.path)-1].index == byName {
		return parent.Type() == attribute.M
	}
	return parent.Type() == attribute.L
}

// changes works out what each action does. Errors: a type that is wrong, and too much.
func (u *Update) changes(item attribute.Item) ([]change, error) {
	changes := make([]change, len(u.actions))
	e := evaluation{item: item}
	size := 0
	for i, a := range u.actions {
		c := &changes[i]
		switch a.keyword {
		case "SET":
			c.value, c.failure = e.value(a.value)
		case "ADD":
			c.value, c.failure = u.add(a, item)
		case "DELETE":
			c.value, c.none, c.failure = u.remove(a, item)
		}
		if c.failure == errType || c.failure == errLegacyType || c.failure == errTooLarge {
			return nil, c.failure
		}
		// What is set ends up in the item, so that too much of it needs no further work.
		if size += c.value.Size(); size > attribute.MaxItemSize {
			return nil, errTooLarge
		}
	}
	return changes, nil
}

// add works out an ADD: to a number, a set, or to nothing.
func (u *Update) add(a *action, item attribute.Item) (attribute.Value, error) {
	operand := a.value.value
	v, ok := a.path.path.in(item)
	switch {
	case !ok:
		return operand, nil
	case v.Type() != operand.Type():
		return v, u.mismatch
	case v.Type() == attribute.N:
		sum, err := v.Number().Add(operand.Number())
		return attribute.Num(sum), err
	case v.Type().Element() != attribute.None:
		return v.Union(operand), nil
	case v.Type() == attribute.L && u.addLists:
		return attribute.List(slices.Concat(v.List(), operand.List())), nil
	}
	return v, u.mismatch
}

// remove works out a DELETE of elements of a set; none if there is no set.
func (u *Update) remove(a *action, item attribute.Item) (v attribute.Value, none bool, err error) {
	operand := a.value.value
	v, ok := a.path.path.in(item)
	switch {
	case !ok:
		return attribute.Value{}, true, nil
	case v.Type() != operand.Type():
		return v, false, u.mismatch
	}
	return v.Without(operand), false, nil
}

// evaluation is the values of SET actions over an item.
type evaluation struct {
	item     attribute.Item
	elements int // of lists that have been put together, each time
}

// value evaluates a node. Errors: errMissing, errType, which goes before, numbers, and
// errTooLarge.
func (e *evaluation) value(n *node) (v attribute.Value, err error) {
	switch n.kind {
	case nodeValue:
		return n.value, nil
	case nodePath:
		v, ok := n.path.in(e.item)
		if !ok {
			return v, errMissing
		}
		return v, nil
	case nodeSum:
		return e.sum(n)
	}
	if n.op == ifNotExists {
		if v, ok := n.args[0].path.in(e.item); ok {
			return v, nil
		}
		return e.value(n.args[1])
	}
	return e.list(n)
}

func (e *evaluation) sum(n *node) (v attribute.Value, err error) {
	a, err := e.value(n.args[0])
	b, err2 := e.value(n.args[1])
	if err == nil && a.Type() != attribute.N || err2 == nil && b.Type() != attribute.N {
		return v, errType
	}
	if err = worse(err, err2); err != nil {
		return v, err
	}
	operation := a.Number().Add
	if n.op == "-" {
		operation = a.Number().Sub
	}
	result, err := operation(b.Number())
	return attribute.Num(result), err
}

// maxElements is how many elements of lists an update may put together. An item has at
// most a quarter of it.
const maxElements = 4 * attribute.MaxItemSize

// list evaluates list_append.
func (e *evaluation) list(n *node) (v attribute.Value, err error) {
	a, err := e.value(n.args[0])
	b, err2 := e.value(n.args[1])
	if err == nil && a.Type() != attribute.L || err2 == nil && b.Type() != attribute.L {
		return v, errType
	}
	if err = worse(err, err2); err != nil {
		return v, err
	}
	if e.elements += a.Len() + b.Len(); e.elements > maxElements {
		return v, errTooLarge
	}
	return attribute.List(slices.Concat(a.List(), b.List())), nil
}

// worse returns the error that is told when there are two.
func worse(a, b error) error {
	if a == nil || b == errType || b == errTooLarge {
		if b != nil {
			return b
		}
	}
	return a
}

// edit is changes below a place in an item, in a tree like that of their paths.
type edit struct {
	*tree
	change *change
	below  map[step]*edit
}

// edit returns the item with the changes.
func (u *Update) edit(item attribute.Item, changes []change) attribute.Item {
	root := &edit{tree: u.touched}
	for i, a := range u.actions {
		if !changes[i].none {
			root.put(a.path.path, &changes[i])
		}
	}
	return root.of(attribute.Map(item)).Map()
}

// put puts a change at a path.
func (e *edit) put(p path, c *change) {
	for _, s := range p {
		if e.below == nil {
			e.below = map[step]*edit{}
		}
		next := e.below[s]
		if next == nil {
			next = &edit{tree: e.at[s]}
			e.below[s] = next
		}
		e = next
	}
	e.change = c
}

// of returns the value after the changes; what they lead to is there.
func (e *edit) of(v attribute.Value) attribute.Value {
	switch {
	case e.change != nil:
		return e.change.value
	case v.Type() == attribute.L:
		return e.ofList(v)
	}
	item := v.Map()
	var changed []attribute.Attribute
	for _, b := range e.branches { // in the order of the text
		if next := e.below[b.step]; next != nil {
			old, _ := item.Get(b.name)
			changed = append(changed, attribute.Attribute{Name: b.name, Value: next.of(old)})
		}
	}
	return attribute.Map(item.With(changed...))
}

// ofList changes elements by the indexes that they had before; those after the end are
// appended in the order of their indexes.
func (e *edit) ofList(v attribute.Value) attribute.Value {
	old := v.List()
	list := slices.Clone(old)
	for _, b := range e.branches {
		next := e.below[b.step]
		switch {
		case next == nil:
		case b.index < len(old):
			list[b.index] = next.of(old[b.index])
		default:
			list = append(list, next.of(attribute.Value{}))
		}
	}
	list = slices.DeleteFunc(list, func(v attribute.Value) bool { return v.Type() == attribute.None })
	return attribute.List(list)
}
