package web

import "strings"

// Pair is one parameter of a query string, decoded.
type Pair struct{ Name, Value string }

// Query holds the parameters of a request in their order.
type Query []Pair

// MaxParameters is how many parameters a request may have in its query, and fields in a form. They are looked up one by one, by a
// few names.
const MaxParameters = 1000

// CountParameters returns how many parameters ParseQuery would make at most: it looks at nothing but what divides them.
func CountParameters(s string) int {
	return 1 + strings.Count(s, "&") + strings.Count(s, ";")
}

// ParseQuery splits a query string: "&" and ";" divide, "+" is
// a space, a name without "=" has the empty value.
func ParseQuery(s string) Query {
	if s == "" {
		return nil
	}
	q := make(Query, 0, 1+strings.Count(s, "&"))
	for s != "" {
		var part string
		if i := strings.IndexAny(s, "&;"); i >= 0 {
			part, s = s[:i], s[i+1:]
		} else {
			part, s = s, ""
		}
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		q = append(q, Pair{Unquote(name, PlusIsSpace), Unquote(value, PlusIsSpace)})
	}
	return q
}

// Get returns the first value of a parameter.
func (q Query) Get(name string) (string, bool) {
	for i := range q {
		if q[i].Name == name {
			return q[i].Value, true
		}
	}
	return "", false
}

// Is reports whether a parameter has the value "true".
func (q Query) Is(name string) bool {
	v, _ := q.Get(name)
	return v == "true"
}
