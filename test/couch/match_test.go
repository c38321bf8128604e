package couch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// bindings are the values that placeholders stand for. A placeholder «name» is bound where an answer first shows it
// and must be equal afterwards; «any» is never bound.
type bindings map[string]string

// placeholder finds «name».
func placeholder() *regexp.Regexp { return regexp.MustCompile(`«([a-z]+\d*)»`) }

// fill puts the bound values in place of their placeholders and leaves the others as they are.
func (b bindings) fill(text string) string {
	return placeholder().ReplaceAllStringFunc(text, func(token string) string {
		if value, ok := b[strings.Trim(token, "«»")]; ok {
			return value
		}
		return token
	})
}

// fillJSON does the same inside JSON text, where a value may need escapes.
func (b bindings) fillJSON(text []byte) []byte {
	return placeholder().ReplaceAllFunc(text, func(token []byte) []byte {
		value, ok := b[strings.Trim(string(token), "«»")]
		if !ok {
			return token
		}
		// A string always marshals.
		quoted, _ := json.Marshal(value)
		return quoted[1 : len(quoted)-1]
	})
}

// decode reads one JSON value and keeps its number literals.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return value, nil
}

// show writes a value for a message, shortened.
func show(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	if len(text) > 200 {
		text = append(text[:200], "…"...)
	}
	return string(text)
}

// match compares an answered value with a recorded one and binds what it meets for the first time.
func (b bindings) match(want, got any, where string) error {
	switch want := want.(type) {
	case string:
		return b.matchString(want, got, where)
	case map[string]any:
		return b.matchObject(want, got, where)
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Errorf("%s: want %d elements, got %s", where, len(want), show(got))
		}
		for i := range want {
			if err := b.match(want[i], list[i], fmt.Sprintf("%s[%d]", where, i)); err != nil {
				return err
			}
		}
		return nil
	case json.Number:
		if number, ok := got.(json.Number); ok && sameNumber(want, number) {
			return nil
		}
	default:
		if want == got {
			return nil
		}
	}
	return fmt.Errorf("%s: want %s, got %s", where, show(want), show(got))
}

func (b bindings) matchString(want string, got any, where string) error {
	if want == "«any»" {
		return nil
	}
	if number, ok := got.(json.Number); ok && placeholder().MatchString(want) {
		got = number.String()
	}
	text, ok := got.(string)
	if ok && strings.HasSuffix(where, ".reason") && strings.HasSuffix(text, ")") && strings.HasPrefix(text, want+" (") {
		return nil // number 323: it goes on with which one, or where
	}
	if !ok || !b.matchText(want, text) {
		return fmt.Errorf("%s: want %s, got %s", where, show(b.fill(want)), show(got))
	}
	return nil
}

// matchText compares texts; each unbound placeholder takes the shortest text that lets the rest agree.
func (b bindings) matchText(want, got string) bool {
	var pattern strings.Builder
	var names []string
	at := 0
	pattern.WriteString(`(?s)\A`)
	for _, m := range placeholder().FindAllStringSubmatchIndex(want, -1) {
		pattern.WriteString(regexp.QuoteMeta(want[at:m[0]]))
		name := want[m[2]:m[3]]
		value, bound := b[name]
		switch {
		case name == "any":
			pattern.WriteString(`(?:.*?)`)
		case bound:
			pattern.WriteString(regexp.QuoteMeta(value))
		default:
			pattern.WriteString(`(.+?)`)
			names = append(names, name)
		}
		at = m[1]
	}
	pattern.WriteString(regexp.QuoteMeta(want[at:]) + `\z`)
	found := regexp.MustCompile(pattern.String()).FindStringSubmatch(got)
	if found == nil {
		return false
	}
	for i, name := range names {
		b[name] = found[i+1]
	}
	return true
}

func (b bindings) matchObject(want map[string]any, got any, where string) error {
	object, ok := got.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: want an object, got %s", where, show(got))
	}
	names := map[string]string{} // from the filled name to the recorded one
	for name := range want {
		names[b.fill(name)] = name
	}
	wanted, answered := slices.Sorted(maps.Keys(names)), slices.Sorted(maps.Keys(object))
	if !slices.Equal(wanted, answered) {
		return fmt.Errorf("%s: want members %q, got %q", where, wanted, answered)
	}
	for _, name := range wanted {
		if err := b.match(want[names[name]], object[name], where+"."+name); err != nil {
			return err
		}
	}
	return nil
}

// sameNumber compares by value: integers exactly, others as the doubles that CouchDB keeps.
func sameNumber(a, b json.Number) bool {
	x, okX := value(a)
	y, okY := value(b)
	if okX && okY {
		return x.Cmp(y) == 0
	}
	return a == b
}

// value is the number that a literal stands for; false for one beyond the doubles.
func value(n json.Number) (*big.Rat, bool) {
	text := n.String()
	if !strings.ContainsAny(text, ".eE") {
		return new(big.Rat).SetString(text)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, false
	}
	return new(big.Rat).SetFloat64(f), true
}

// gather binds what it can from an answer that differs, so that the steps after it can go on.
func (b bindings) gather(want response, got answer) {
	for name, value := range want.Headers {
		if has := got.headers.Get(name); !b.matchText(value, has) {
			b.matchText(value+"«any»", has) // there may be more of it
		}
	}
	expected, err := decode(want.JSON)
	if err != nil {
		return // nothing to learn from a body that is not JSON
	}
	if answered, err := decode(got.body); err == nil {
		b.gatherValue(expected, answered)
	}
}

func (b bindings) gatherValue(want, got any) {
	switch want := want.(type) {
	case string:
		if text, ok := got.(string); ok {
			b.matchText(want, text)
		}
	case []any:
		list, _ := got.([]any)
		for i := range min(len(want), len(list)) {
			b.gatherValue(want[i], list[i])
		}
	case map[string]any:
		object, _ := got.(map[string]any)
		for name, value := range want {
			b.gatherValue(value, object[b.fill(name)])
		}
	}
}
