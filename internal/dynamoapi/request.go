package dynamoapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/jsonscan"
)

// parse reads the request's members into a struct, for operations on tables. What holds
// items is taken apart without one. Errors: SerializationException for members of other
// types, ValidationException for members that the struct has not.
func (r *Request) parse(into any) error {
	if name, ok := unknownMember(r.body, reflect.TypeOf(into)); ok {
		return notSupported(name)
	}
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

// unknownMember returns the first member of a JSON value for which a type has no field, also
// in the values of its members.
func unknownMember(raw []byte, t reflect.Type) (name string, found bool) {
	kind := jsonscan.KindOf(raw)
	switch {
	case t.Kind() == reflect.Pointer:
		return unknownMember(raw, t.Elem())
	case t.Kind() == reflect.Slice && kind == jsonscan.Array:
		for e := jsonscan.ElementsOf(raw); !found; {
			element, ok := e.Next()
			if !ok {
				break
			}
			name, found = unknownMember(element, t.Elem())
		}
	case t.Kind() == reflect.Struct && kind == jsonscan.Object:
		for m := jsonscan.MembersOf(raw); !found; {
			quoted, value, ok := m.Next()
			if !ok {
				break
			}
			if jsonscan.KindOf(value) == jsonscan.Null {
				continue
			}
			if field := fieldOf(t, string(jsonscan.Text(nil, quoted))); field != nil {
				name, found = unknownMember(value, field)
			} else {
				name, found = string(jsonscan.Text(nil, quoted)), true
			}
		}
	}
	return name, found
}

// fieldOf returns the type of the field that a member is read into, nil for none.
func fieldOf(t reflect.Type, member string) reflect.Type {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if cmp.Or(name, f.Name) == member {
			return f.Type
		}
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

// cutARN returns the name of the table in the name of a resource.
func cutARN(text string) (name string, ok bool) {
	if !strings.HasPrefix(text, "arn:") {
		return "", false
	}
	_, name, ok = strings.Cut(text, ":table/")
	name, _, _ = strings.Cut(name, "/")
	return name, ok
}
