package expr

import (
	"slices"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/jsonscan"
)

// ParseAttributeUpdates reads AttributeUpdates from the wire. Errors: Serialization
// and Validation.
func ParseAttributeUpdates(raw []byte) (*Update, error) {
	var s section
	err := members(raw, func(name string, raw []byte) error {
		a, err := readAction(name, raw)
		s.actions = append(s.actions, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	u := &Update{sections: []section{s}, actions: s.actions, mismatch: errLegacyType, addLists: true}
	return u, u.fork(UpdateExpression)
}

// readAction reads the update of an attribute. Without an Action it is a PUT.
func readAction(name string, raw []byte) (*action, error) {
	if err := attribute.CheckName(name); err != nil {
		return nil, err
	}
	var value *node
	wanted := "PUT"
	err := members(raw, func(member string, raw []byte) (err error) {
		switch member {
		case "Action":
			wanted, err = attribute.ParseText(raw)
		case "Value":
			value = &node{kind: nodeValue}
			value.value, err = attribute.ParseValue(raw)
		default:
			err = attribute.Invalid(badParameter+"%s is not supported", member)
		}
		return err
	})
	if err == nil {
		err = checkLegacyAction(name, wanted, value)
	}
	if err != nil {
		return nil, err
	}
	keyword := wanted
	switch {
	case value == nil:
		keyword = "REMOVE"
	case wanted == "PUT":
		keyword = "SET"
	}
	return &action{keyword, &node{kind: nodePath, path: path{{name, byName}}}, value}, nil
}

func checkLegacyAction(name, wanted string, value *node) error {
	switch {
	case !slices.Contains([]string{"ADD", "DELETE", "PUT"}, wanted):
		return attribute.Invalid("1 validation error detected: Value '%s' at 'attributeUpdates.%s.member.action' failed to satisfy constraint: Member must satisfy enum value set: [ADD, DELETE, PUT]", wanted, name)
	case value == nil && wanted != "DELETE":
		return attribute.Invalid(badParameter + "Only DELETE action is allowed when no attribute value is specified")
	case value == nil || wanted == "PUT":
		return nil
	}
	t := value.value.Type()
	switch {
	case t.Element() != attribute.None:
	case wanted == "DELETE":
		return attribute.Invalid(badParameter+"DELETE action with value is not supported for the type %s", t)
	case t != attribute.N && t != attribute.L:
		return attribute.Invalid(badParameter+"ADD action is not supported for the type %s", t)
	}
	return nil
}

// maxAttributesToGet is how many names AttributesToGet may have.
const maxAttributesToGet = 255

// ParseAttributesToGet reads AttributesToGet from the wire. Errors: Serialization and
// Validation.
func ParseAttributesToGet(raw []byte) (*Projection, error) {
	if jsonscan.KindOf(raw) != jsonscan.Array {
		return nil, attribute.Unreadable("Unexpected field type")
	}
	p := &Projection{root: &tree{}}
	for e := jsonscan.ElementsOf(raw); ; {
		element, ok := e.Next()
		if !ok {
			break
		}
		name, err := attribute.ParseText(element)
		if err == nil {
			err = attribute.CheckName(name)
		}
		if err != nil {
			return nil, err
		}
		n := &node{kind: nodePath, path: path{{name, byName}}}
		p.paths = append(p.paths, n)
		if clash, _ := p.root.add(n.path, 0); clash != "" {
			return nil, attribute.Invalid(badParameter+"Duplicate value in attribute name: %s", name)
		}
	}
	const constraint = "1 validation error detected: Value at 'attributesToGet' failed to satisfy constraint: Member must have length "
	switch {
	case len(p.paths) == 0:
		return nil, attribute.Invalid("1 validation error detected: Value '[]' at 'attributesToGet' failed to satisfy constraint: Member must have length greater than or equal to 1")
	case len(p.paths) > maxAttributesToGet:
		return nil, attribute.Invalid(constraint+"less than or equal to %d", maxAttributesToGet)
	}
	return p, nil
}
