package selector

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sectional/sectional/internal/keyspace"
)

// FuzzParse holds that parsing never fails but with an error, and that a
// normalized selector is its own normal form.
func FuzzParse(f *testing.F) {
	for _, s := range scriptArguments(f, "match ", "normalize ", "query ") {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := ParseQuery(in)
		if err != nil {
			return
		}
		again, err := ParseQuery(s.JSON())
		if err != nil {
			t.Fatalf("Parse(%s), which is %s: %v", s.JSON(), in, err)
		}
		if !bytes.Equal(again.JSON(), s.JSON()) {
			t.Errorf("%s normalizes to %s and then to %s", in, s.JSON(), again.JSON())
		}
	})
}

// FuzzMatch holds Match against the reference below.
func FuzzMatch(f *testing.F) {
	docs := scriptLines(f, `{"_id"`)
	for i, s := range scriptArguments(f, "match ") {
		for j := range 3 {
			f.Add([]byte(s), parseDoc(docs[(i*7+j*31)%len(docs)]).Body)
		}
	}
	f.Fuzz(func(t *testing.T, sel, body []byte) {
		s, err := Parse(sel)
		if err != nil || !isBody(body) || bytes.Contains(sel, []byte("regex")) || s.Has(GeoWithin) || s.Has(GeoIntersects) {
			return
		}
		d := &Doc{ID: "id:é", Rev: "1-x", Body: body}
		want := s.root == nil || reference(t, s.JSON(), d.AppendJSON(nil), false)
		if got := matches(t, s, d); got != want {
			t.Errorf("%s on %s: %v, want %v", s.JSON(), body, got, want)
		}
		again, err := Parse(s.JSON())
		if err != nil || matches(t, again, d) != want {
			t.Errorf("%s, normalized twice, on %s: not %v (%v)", s.JSON(), body, want, err)
		}
	})
}

// isBody reports whether b can be the body of a stored document.
func isBody(b []byte) bool {
	v := jsontext.Value(b)
	var m map[string]json.RawMessage
	if !v.IsValid() || v.Kind() != '{' || json.Unmarshal(b, &m) != nil {
		return false
	}
	for name := range m {
		if strings.HasPrefix(name, "_") {
			return false
		}
	}
	return true
}

// reference evaluates a normalized selector the slow way: everything decoded
// by encoding/json, no slots, no short cuts. Only the order of two values is
// keyspace's.
func reference(t *testing.T, sel, v json.RawMessage, raw bool) bool {
	name, arg := single(t, sel)
	switch name {
	case "$and", "$or", "$nor":
		return referenceList(t, name, arg, v, raw)
	case "$not":
		return !reference(t, arg, v, raw)
	case "":
		return reference(t, arg, v, raw)
	case "$default":
		return true
	}
	if name[0] == '$' {
		return referenceOperator(t, name, arg, v, raw)
	}
	text := strings.ReplaceAll(name, `\.`, "\x00")
	for _, part := range strings.Split(text, ".") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, `\`, ""), "\x00", ".")
		next, found := descend(v, part)
		if !found {
			op, exists := single(t, arg)
			return next != nil && op == "$exists" && string(exists) == "false"
		}
		v = next
	}
	return reference(t, arg, v, raw || name == "_id")
}

// descend returns a member or element; not found, next is nil only if v has no
// place for it.
func descend(v json.RawMessage, name string) (next json.RawMessage, found bool) {
	if members := decodeObject(v); members != nil {
		if next, found = members[name]; found {
			return next, true
		}
		return v, false
	}
	if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(decodeArray(v)) {
		return decodeArray(v)[i], true
	}
	return nil, false
}

func referenceList(t *testing.T, name string, arg, v json.RawMessage, raw bool) bool {
	matched := 0
	all := decodeArray(arg)
	for _, s := range all {
		if reference(t, s, v, raw) {
			matched++
		}
	}
	switch name {
	case "$and":
		return matched == len(all)
	case "$or":
		return matched > 0 || len(all) == 0
	}
	return matched == 0
}

func referenceOperator(t *testing.T, op string, arg, v json.RawMessage, raw bool) bool {
	compare := keyspace.CompareJSON
	if raw {
		compare = keyspace.CompareRawJSON
	}
	c := compare(v, arg)
	switch op {
	case "$eq":
		return c == 0
	case "$ne":
		return c != 0
	case "$lt":
		return c < 0
	case "$lte":
		return c <= 0
	case "$gt":
		return c > 0
	case "$gte":
		return c >= 0
	case "$in", "$nin":
		found := false
		for _, o := range decodeArray(arg) {
			if v[0] != '[' {
				found = found || compare(v, o) == 0
			}
			for _, x := range decodeArray(v) {
				found = found || compare(x, o) == 0
			}
		}
		return found == (op == "$in")
	}
	return referenceShape(t, op, arg, v, raw)
}

func referenceShape(t *testing.T, op string, arg, v json.RawMessage, raw bool) bool {
	elements := decodeArray(v)
	switch op {
	case "$all":
		return referenceAll(decodeArray(arg), elements, v)
	case "$exists":
		return string(arg) == "true"
	case "$type":
		return decodeString(arg) == typeName(v[0])
	case "$size":
		return elements != nil && string(arg) == strconv.Itoa(len(elements))
	case "$beginsWith":
		return v[0] == '"' && strings.HasPrefix(decodeString(v), decodeString(arg))
	case "$mod":
		n, ok := new(big.Int).SetString(string(v), 10)
		d, _ := new(big.Int).SetString(string(decodeArray(arg)[0]), 10)
		r, _ := new(big.Int).SetString(string(decodeArray(arg)[1]), 10)
		return ok && new(big.Int).Rem(n, d).Cmp(r) == 0
	case "$keyMapMatch":
		elements = nil
		for name := range decodeObject(v) {
			quoted, _ := json.Marshal(name)
			elements = append(elements, quoted)
		}
	}
	matched := 0
	for _, x := range elements {
		if reference(t, arg, x, raw) {
			matched++
		}
	}
	return matched > 0 && (op != "$allMatch" || matched == len(elements))
}

func referenceAll(args, elements []json.RawMessage, v json.RawMessage) bool {
	if elements == nil || len(args) == 0 {
		return false
	}
	missing := 0
	for _, a := range args {
		found := false
		for _, x := range elements {
			found = found || keyspace.CompareRawJSON(a, x) == 0
		}
		if !found {
			missing++
		}
	}
	return missing == 0 || len(args) == 1 && keyspace.CompareRawJSON(args[0], v) == 0
}

func typeName(c byte) string {
	switch c {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '[':
		return "array"
	case '{':
		return "object"
	}
	return "number"
}

// single takes an object of one member apart.
func single(t *testing.T, object json.RawMessage) (string, json.RawMessage) {
	m := decodeObject(object)
	if len(m) != 1 {
		t.Fatalf("%s is not normalized", object)
	}
	for name, v := range m {
		return name, v
	}
	return "", nil
}

func decodeObject(v json.RawMessage) (m map[string]json.RawMessage) {
	if v[0] == '{' {
		_ = json.Unmarshal(v, &m)
	}
	return m
}

func decodeArray(v json.RawMessage) (a []json.RawMessage) {
	if v[0] == '[' {
		_ = json.Unmarshal(v, &a)
	}
	return a
}

func decodeString(v json.RawMessage) (s string) {
	_ = json.Unmarshal(v, &s)
	return s
}

// scriptLines returns the lines of the scripts that begin with prefix.
func scriptLines(tb testing.TB, prefix string) (lines []string) {
	tb.Helper()
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, prefix) {
				lines = append(lines, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	if len(lines) == 0 {
		tb.Fatalf("no lines with %q", prefix)
	}
	return lines
}

func scriptArguments(tb testing.TB, verbs ...string) (args []string) {
	for _, verb := range verbs {
		for _, l := range scriptLines(tb, verb) {
			args = append(args, strings.TrimPrefix(l, verb))
		}
	}
	return args
}
