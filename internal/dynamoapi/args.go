package dynamoapi

import (
	"encoding/json"
	"strconv"

	"github.com/sectional/sectional/internal/attribute"
	"github.com/sectional/sectional/internal/attribute/expr"
	"github.com/sectional/sectional/internal/jsonscan"
)

// args are the members of a request that holds items: they are taken out in one pass, and
// each is read when it is asked for. The first that can't be read, or that there is not, is
// the request's error.
type args struct {
	members []member
	err     error
}

type member struct{ name, value []byte }

// argsOf takes the members out of an object, which has those that are known. Null is as good
// as nothing.
func argsOf(object []byte, known []string) *args {
	a := &args{members: make([]member, 0, 8)}
	for m := jsonscan.MembersOf(object); ; {
		name, value, ok := m.Next()
		if !ok {
			return a
		}
		if jsonscan.KindOf(value) == jsonscan.Null {
			continue
		}
		text := jsonscan.Text(nil, name)
		if a.err == nil && !oneOf(string(text), known) {
			a.fail(notSupported(string(text)))
		}
		a.members = append(a.members, member{text, value})
	}
}

// get returns a member as it came, nil for none.
func (a *args) get(name string) []byte {
	for i := range a.members {
		if string(a.members[i].name) == name {
			return a.members[i].value
		}
	}
	return nil
}

func (a *args) has(name string) bool { return a.get(name) != nil }

func (a *args) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// text returns a string, nil for none.
func (a *args) text(name string) *string {
	v := a.get(name)
	if v == nil {
		return nil
	}
	text, err := attribute.ParseText(v)
	if err != nil {
		a.fail(err)
		return nil
	}
	return &text
}

// textOr returns a string, or what stands for none.
func (a *args) textOr(name, none string) string {
	if text := a.text(name); text != nil {
		return *text
	}
	return none
}

// truth returns a truth value, false for none.
func (a *args) truth(name string) bool {
	v := a.get(name)
	if v == nil {
		return false
	}
	b, err := attribute.ParseTruth(v)
	if err != nil {
		a.fail(err)
	}
	return b
}

// number returns a whole number, nil for none.
func (a *args) number(name string) *int64 {
	v := a.get(name)
	if v == nil {
		return nil
	}
	if jsonscan.KindOf(v) != jsonscan.Number {
		a.fail(attribute.Unreadable("%s cannot be converted to Integer", tokenOf(v)))
		return nil
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		f, err := json.Number(v).Float64() // AWS cuts what comes after the point
		if err != nil || f > 1<<62 || f < -1<<62 {
			a.fail(attribute.Unreadable("Numeric value (%s) out of range of int", v))
			return nil
		}
		n = int64(f)
	}
	return &n
}

// object returns an object, nil for none.
func (a *args) object(name string) []byte { return a.composite(name, jsonscan.Object, "Map") }

// placeholders reads the names and values that expressions have.
func (a *args) placeholders() (*expr.Placeholders, error) {
	names, values := a.object("ExpressionAttributeNames"), a.object("ExpressionAttributeValues")
	if a.err != nil {
		return nil, a.err
	}
	return expr.ParsePlaceholders(names, values)
}

// array returns an array, nil for none.
func (a *args) array(name string) []byte { return a.composite(name, jsonscan.Array, "List") }

func (a *args) composite(name string, kind jsonscan.Kind, class string) []byte {
	v := a.get(name)
	switch jsonscan.KindOf(v) {
	case kind:
		return v
	case jsonscan.Object, jsonscan.Array:
		a.fail(attribute.Unreadable("Unrecognized collection type class java.util.%s", class))
	default:
		if v != nil {
			a.fail(attribute.Unreadable("Unexpected value type in payload"))
		}
	}
	return nil
}

// tokenOf names a JSON value as AWS's parser does.
func tokenOf(v []byte) string {
	switch jsonscan.KindOf(v) {
	case jsonscan.String:
		return "STRING_VALUE"
	case jsonscan.Number:
		return "NUMBER_VALUE"
	case jsonscan.Object:
		return "START_OBJECT"
	case jsonscan.Array:
		return "START_ARRAY"
	}
	return map[bool]string{true: "TRUE_VALUE", false: "FALSE_VALUE"}[string(v) == "true"]
}
