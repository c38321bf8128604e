package dynamoapi

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/sectional/sectional/internal/attribute"
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

// cutARN returns the name of the table in the name of a resource.
func cutARN(text string) (name string, ok bool) {
	if !strings.HasPrefix(text, "arn:") {
		return "", false
	}
	_, name, ok = strings.Cut(text, ":table/")
	name, _, _ = strings.Cut(name, "/")
	return name, ok
}
