package expr

import (
	"strings"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/jsonscan"
)

// Placeholders are the ExpressionAttributeNames and ExpressionAttributeValues of a
// request, and which of them its expressions have used so far.
type Placeholders struct {
	names  map[string]string
	values map[string]attribute.Value
	unused struct{ names, values []string }
	used   map[string]bool
}

// maxPlaceholder is how long a placeholder may be. maxPlaceholders is how many there may
// be: more than that the expressions of a request have no room to use.
const (
	maxPlaceholder  = 255
	maxPlaceholders = maxLength
)

// The parameters' names.
const (
	attributeNames  = "ExpressionAttributeNames"
	attributeValues = "ExpressionAttributeValues"
)

// ParsePlaceholders reads the two parameters from the wire; nil stands for one that is
// not there. Errors: Serialization, and Validation for placeholders that are none and
// values that are invalid.
func ParsePlaceholders(names, values []byte) (*Placeholders, error) {
	p := &Placeholders{}
	if names == nil && values == nil {
		return p, nil
	}
	p.names, p.values, p.used = map[string]string{}, map[string]attribute.Value{}, map[string]bool{}
	size := 0
	err := eachMember(names, attributeNames, '#', func(key string, raw []byte) error {
		name, err := attribute.ParseText(raw)
		if err == nil {
			if err = attribute.CheckName(name); err != nil {
				err = prefixed(attributeNames+" contains invalid value: ", err, " for key "+key)
			}
		}
		size += len(name)
		p.names[key], p.unused.names = name, append(p.unused.names, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = eachMember(values, attributeValues, ':', func(key string, raw []byte) error {
		v, err := attribute.ParseValue(raw)
		if err != nil {
			return prefixed(attributeValues+" contains invalid value: ", err, " for key "+key)
		}
		size += v.Size()
		p.values[key], p.unused.values = v, append(p.unused.values, key)
		return nil
	})
	if err == nil && size > attribute.MaxValues {
		err = attribute.Invalid("Combined size of ExpressionAttributeNames and ExpressionAttributeValues exceeds max size")
	}
	return p, err
}

// eachMember calls member for each member of a parameter. All keys are checked before
// any value, as AWS does.
func eachMember(raw []byte, parameter string, first byte, member func(key string, raw []byte) error) error {
	if raw == nil || jsonscan.KindOf(raw) == jsonscan.Null {
		return nil
	}
	if err := checkObject(raw); err != nil {
		return err
	}
	count := 0
	for m := jsonscan.MembersOf(raw); ; count++ {
		quoted, _, ok := m.Next()
		if !ok {
			break
		}
		if err := checkPlaceholder(string(jsonscan.Text(nil, quoted)), parameter, first); err != nil {
			return err
		}
	}
	switch {
	case count == 0:
		return attribute.Invalid(parameter + " must not be empty")
	case count > maxPlaceholders:
		return attribute.Invalid("%s has %d members, of which no expressions can use more than %d", parameter, count, maxPlaceholders)
	}
	for m := jsonscan.MembersOf(raw); ; {
		quoted, value, ok := m.Next()
		if !ok {
			return nil
		}
		if err := member(string(jsonscan.Text(nil, quoted)), value); err != nil {
			return err
		}
	}
}

// checkObject refuses JSON that is not an object.
func checkObject(raw []byte) error {
	if jsonscan.KindOf(raw) != jsonscan.Object {
		return attribute.Unreadable("Unexpected field type")
	}
	return nil
}

func checkPlaceholder(key, parameter string, first byte) error {
	const invalidKey = " contains invalid key: "
	if len(key) > maxPlaceholder {
		return attribute.Invalid(parameter+invalidKey+"The expression attribute map contains a key that is too long; size of key: %d", len(key))
	}
	if len(key) < 2 || key[0] != first || run(key, 1, isPart) != len(key) {
		return attribute.Invalid(parameter+invalidKey+`Syntax error; key: "%s"`, key)
	}
	return nil
}

// CheckUsed refuses placeholders that no expression of the request has used. It is
// called when all have been parsed.
func (p *Placeholders) CheckUsed() error {
	if left := p.left(p.unused.names); left != "" {
		return attribute.Invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", left)
	}
	if left := p.left(p.unused.values); left != "" {
		return attribute.Invalid("Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", left)
	}
	return nil
}

// left lists the placeholders that have not been used.
func (p *Placeholders) left(all []string) string {
	var left []string
	for _, key := range all {
		if !p.used[key] {
			left = append(left, key)
		}
	}
	return strings.Join(left, ", ")
}
