package expr

import (
	"slices"

	"github.com/sectional/sectional/internal/attribute"
)

// Update is what an update changes. It may be used by several at once.
type Update struct {
	sections []section
	actions  []*action
	touched  *tree
	// mismatch is the error of a value of another type than an ADD or DELETE wants.
	mismatch error
	// addLists says that ADD appends lists, as only AttributeUpdates does.
	addLists bool
}

// Update parses an UpdateExpression. Errors: Validation.
func (p *Placeholders) Update(text string) (*Update, error) {
	sections, err := parseUpdate(text)
	if err != nil {
		return nil, err
	}
	u := &Update{sections: sections, mismatch: errType}
	for _, s := range sections {
		u.actions = append(u.actions, s.actions...)
	}
	if err := u.checkSections(); err != nil {
		return nil, err
	}
	if err := UpdateExpression.checkOperators(operatorsOf(sections)); err != nil {
		return nil, err
	}
	r := resolver{UpdateExpression, p}
	for _, a := range u.actions {
		if err := r.resolvePath(a.path); err != nil {
			return nil, err
		}
	}
	if err := u.fork(UpdateExpression); err != nil {
		return nil, err
	}
	return u, r.resolveActions(u.actions)
}

// fork makes the tree of the paths that are changed.
func (u *Update) fork(k Kind) (err error) {
	nodes := make([]*node, len(u.actions))
	for i, a := range u.actions {
		nodes[i] = a.path
	}
	u.touched, err = k.newTree(nodes)
	return err
}

// checkSections is the first pass: the sections of each keyword together, in the order
// in which the keywords appear, and each keyword once.
func (u *Update) checkSections() error {
	var done []string
	for _, s := range u.sections {
		if slices.Contains(done, s.keyword) {
			continue
		}
		done = append(done, s.keyword)
		count := 0
		for _, other := range u.sections {
			if other.keyword != s.keyword {
				continue
			}
			count++
			if err := other.checkShape(); err != nil {
				return err
			}
		}
		if count > 1 {
			return UpdateExpression.invalid("The \"%s\" section can only be used once in an update expression;", s.keyword)
		}
	}
	return nil
}

func (s section) checkShape() error {
	for _, a := range s.actions {
		if err := UpdateExpression.checkShape(a.path, asOperand); err != nil {
			return err
		}
		if a.value == nil {
			continue
		}
		if err := UpdateExpression.checkShape(a.value, inUpdate); err != nil {
			return err
		}
	}
	return nil
}

// resolveActions is the second pass over the values, from the last action to the first
// as AWS does: names, then values and types.
func (r resolver) resolveActions(actions []*action) error {
	for _, a := range slices.Backward(actions) {
		if a.value != nil {
			if err := r.checkNames(a.value); err != nil {
				return err
			}
		}
	}
	for _, a := range slices.Backward(actions) {
		if a.value == nil {
			continue
		}
		if err := r.resolve(a.value); err != nil {
			return err
		}
		if err := r.checkAction(a); err != nil {
			return err
		}
	}
	return nil
}

func (r resolver) checkNames(n *node) error {
	for _, p := range n.parts {
		if _, ok := r.names[p.text]; p.kind == tokenName && !ok {
			return r.undefinedName(p.text)
		}
	}
	for _, a := range n.args {
		if err := r.checkNames(a); err != nil {
			return err
		}
	}
	return nil
}

// longNames are how AWS calls the types in the errors of ADD and DELETE.
var longNames = map[attribute.Type]string{
	attribute.S: "STRING", attribute.N: "NUMBER", attribute.B: "BINARY", attribute.BOOL: "BOOLEAN", attribute.NULL: "NULL", attribute.M: "MAP", attribute.L: "LIST",
	attribute.SS: "STRING_SET", attribute.NS: "NUMBER_SET", attribute.BS: "BINARY_SET",
}

// checkAction refuses an ADD or DELETE of a value of another type.
func (r resolver) checkAction(a *action) error {
	t := a.value.value.Type()
	if a.keyword == "SET" || t.Element() != attribute.None || a.keyword == "ADD" && t == attribute.N {
		return nil
	}
	return r.invalid("Incorrect operand type for operator or function; operator: %s, operand type: %s, typeSet: ALLOWED_FOR_%s_OPERAND", a.keyword, longNames[t], a.keyword)
}

// CheckKeys refuses an update of key attributes. AWS does so after the condition.
func (u *Update) CheckKeys(keys ...string) error {
	for _, a := range u.actions {
		if a.value != nil {
			if err := a.value.checkKeyPaths(keys); err != nil {
				return err
			}
		}
	}
	for _, a := range u.actions {
		if a.path.path[0].isOneOf(keys) {
			return attribute.Invalid("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", a.path.path[0].name)
		}
	}
	return nil
}

// Touched returns what of an item lies at the paths that the update changes: of the
// item as it was for UPDATED_OLD, of the new one for UPDATED_NEW. As with AWS an
// element that was put after the end of a list is not at its path.
func (u *Update) Touched(item attribute.Item) attribute.Item { return u.touched.of(item) }

// OnlyRemoves reports whether the update does nothing but take attributes out. Where
// there is no item AWS then makes none, and does not mind paths that lead nowhere.
func (u *Update) OnlyRemoves() bool {
	for _, a := range u.actions {
		if a.keyword == "SET" || a.keyword == "ADD" {
			return false
		}
	}
	return len(u.actions) > 0
}
