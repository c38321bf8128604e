package dynamoapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/table"
)

// parse reads the request's members into a struct, for operations on tables. What holds
// items is taken apart without one. Errors: SerializationException for members of other
// types.
func (r *Request) parse(into any) error {
	err := json.Unmarshal(r.body, into)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return attribute.Unreadable("%s", cannotConvert(kind))
	}
	if err != nil {
		return errNoObject
	}
	return nil
}

// cannotConvert is AWS's sentence for a member of another type.
func cannotConvert(e *json.UnmarshalTypeError) string {
	token := map[string]string{"string": "STRING_VALUE", "bool": "TRUE_VALUE", "object": "START_OBJECT", "array": "START_ARRAY"}[e.Value]
	if token == "" {
		token = "NUMBER_VALUE"
	}
	switch e.Type.Kind() {
	case reflect.String:
		return token + " cannot be converted to String"
	case reflect.Int64:
		return token + " cannot be converted to Long"
	case reflect.Bool:
		return token + " cannot be converted to Boolean"
	}
	if token == "START_OBJECT" || token == "START_ARRAY" {
		return "Unrecognized collection type class java.util." + map[reflect.Kind]string{reflect.Slice: "List", reflect.Map: "Map"}[e.Type.Kind()]
	}
	return "Unexpected value type in payload"
}

// constraints collects what AWS says of the form of a request's members, all of it in one
// error.
type constraints []string

// failed notes that a member's value fails a constraint. member is its path, as in
// "keySchema.1.member.keyType".
func (c *constraints) failed(member, value, constraint string) {
	*c = append(*c, fmt.Sprintf("Value %s at '%s' failed to satisfy constraint: Member must %s", value, member, constraint))
}

// given notes a member that is not there, and reports whether it is.
func (c *constraints) given(member string, there bool) bool {
	if !there {
		c.failed(member, "null", "not be null")
	}
	return there
}

// between notes a number that is out of range.
func (c *constraints) between(member string, value *int64, least, most int64) {
	switch {
	case value == nil:
	case *value < least:
		c.failed(member, fmt.Sprintf("'%d'", *value), fmt.Sprintf("have value greater than or equal to %d", least))
	case *value > most:
		c.failed(member, fmt.Sprintf("'%d'", *value), fmt.Sprintf("have value less than or equal to %d", most))
	}
}

// oneOf notes a text that is none of a list, "" being no text.
func (c *constraints) oneOf(member, value string, list ...string) {
	for _, one := range list {
		if value == one || value == "" {
			return
		}
	}
	c.failed(member, "'"+value+"'", "satisfy enum value set: ["+strings.Join(list, ", ")+"]")
}

var plainName = regexp.MustCompile(`^[a-zA-Z0-9_.-]+$`)

// nameOf notes the name of a table or an index that can't be one.
func (c *constraints) nameOf(member string, name *string) {
	if !c.given(member, name != nil) {
		return
	}
	if !plainName.MatchString(*name) {
		c.failed(member, "'"+*name+"'", "satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
	}
	switch n := len(*name); {
	case n < 3:
		c.failed(member, "'"+*name+"'", "have length greater than or equal to 3")
	case n > table.MaxName:
		c.failed(member, "'"+*name+"'", fmt.Sprintf("have length less than or equal to %d", table.MaxName))
	}
}

// tableName notes a table that can't be meant, by its name or as a resource, and returns
// the name.
func (c *constraints) tableName(name *string) string { return c.tableNameAt("tableName", name) }

// tableNameAt is tableName for a member of another path.
func (c *constraints) tableNameAt(member string, name *string) string {
	if name != nil {
		if plain, ok := cutARN(*name); ok {
			name = &plain
		}
	}
	c.nameOf(member, name)
	if name == nil {
		return ""
	}
	return *name
}

// err returns what was noted as one error, nil for nothing.
func (c constraints) err() error {
	switch len(c) {
	case 0:
		return nil
	case 1:
		return attribute.Invalid("%s", "1 validation error detected: "+c[0])
	}
	return attribute.Invalid("%s", fmt.Sprintf("%d validation errors detected: %s", len(c), strings.Join(c, "; ")))
}

// cutARN returns the name of the table in the name of a resource.
func cutARN(text string) (name string, ok bool) {
	if !strings.HasPrefix(text, "arn:") {
		return "", false
	}
	_, name, ok = strings.Cut(text, ":table/")
	name, _, _ = strings.Cut(name, "/")
	return name, ok
}
