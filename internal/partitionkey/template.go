// Package partitionkey owns what a choice of partition key makes of documents: templates that say how a key is made of
// a document's members, and surveys of how documents would lie in the partitions of such keys. It is pure.
//
// Begin with Parse and Survey.
package partitionkey

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/document"
	"github.com/sectional/sectional/internal/jsonscan"
)

// Template says how the partition key of a document is made: of texts and of members in braces, {country} or
// {user.id}-{date|first 7}. {_id} is the id. A word after a bar changes the value: first N takes so many characters,
// before X what comes before the first X, spread N a number below N that the value is hashed to.
type Template struct {
	text  string
	parts []part
}

// part is a text, or a member with what is done to its value.
type part struct {
	text   string
	path   []string // nil for a text
	change func(string) (string, bool)
}

// A template has up to so many bytes, and so many members, each of which is looked for in every document.
const (
	maxTemplate = 1000
	maxMembers  = 16
)

// maxKey bounds the bytes of a key: a document's id has to have room for it, and a survey holds many.
const maxKey = 4096

// Parse reads a template. A text without braces is the name of one member, as if it were in braces. Errors: Invalid
// bad_request, which say what is wrong where.
func Parse(text string) (Template, error) {
	t := Template{text: text}
	if text == "" || len(text) > maxTemplate {
		return t, bad("A template has 1 to %d bytes.", maxTemplate)
	}
	if !strings.ContainsAny(text, "{}") {
		text = "{" + text + "}"
	}
	for members := 0; text != ""; {
		literal, rest, open := strings.Cut(text, "{")
		if strings.Contains(literal, "}") {
			return t, bad("A } in %q has no { before it.", t.text)
		}
		if literal != "" {
			t.parts = append(t.parts, part{text: literal})
		}
		if !open {
			break
		}
		inside, after, closed := strings.Cut(rest, "}")
		if !closed || strings.Contains(inside, "{") {
			return t, bad("A { in %q has no } after it.", t.text)
		}
		p, err := parseMember(inside)
		if err != nil {
			return t, err
		}
		if members++; members > maxMembers {
			return t, bad("A template has up to %d members.", maxMembers)
		}
		t.parts = append(t.parts, p)
		text = after
	}
	return t, nil
}

// parseMember reads what is between braces: a path, and perhaps a bar and a change.
func parseMember(text string) (p part, err error) {
	path, change, changes := strings.Cut(text, "|")
	for _, name := range strings.Split(strings.ReplaceAll(strings.TrimSpace(path), `\.`, "\x00"), ".") {
		if name == "" {
			return p, bad("{%s} names no member.", text)
		}
		p.path = append(p.path, strings.ReplaceAll(name, "\x00", "."))
	}
	if changes {
		p.change, err = parseChange(strings.TrimSpace(change))
	}
	return p, err
}

func parseChange(text string) (func(string) (string, bool), error) {
	word, argument, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(argument)
	number := err == nil && n > 0 && n <= 1_000_000
	switch {
	case word == "first" && number:
		return func(v string) (string, bool) { return first(v, n), true }, nil
	case word == "before" && argument != "":
		return func(v string) (string, bool) {
			before, _, ok := strings.Cut(v, argument)
			return before, ok
		}, nil
	case word == "spread" && number:
		return func(v string) (string, bool) { return spread(v, n), true }, nil
	}
	return nil, bad("%q is none of: first N, before TEXT, spread N.", text)
}

// first returns the first n characters.
func first(v string, n int) string {
	for i := range v {
		if n == 0 {
			return v[:i]
		}
		n--
	}
	return v
}

// spread returns one of n numbers, the same for equal values.
func spread(v string, n int) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(v)) // a hash takes everything
	return strconv.FormatUint(h.Sum64()%uint64(n), 10)
}

func bad(format string, args ...any) error {
	return dberr.New(dberr.Invalid, "bad_request", "%s", fmt.Sprintf(format, args...))
}

// String returns the template as it was given.
func (t Template) String() string { return t.text }

// Partition returns the partition that the template gives a document, of its id and its body, a valid JSON object. Where
// there is none why says so: a member is missing or is not a text, number or boolean, or the key can be no partition's.
func (t Template) Partition(id string, body []byte) (p document.Partition, why string) {
	key, why := t.Text(id, body)
	if why != "" {
		return "", why
	}
	p, err := document.ParsePartition(key)
	if err != nil {
		var refused *dberr.Error
		errors.As(err, &refused)
		return "", fmt.Sprintf("%q can be no partition: %s", shown(key), refused.Reason)
	}
	return p, ""
}

// Text returns what the template makes of a document, be it a partition or not, and otherwise why it makes nothing.
func (t Template) Text(id string, body []byte) (text, why string) {
	var key strings.Builder
	for _, part := range t.parts {
		if part.path == nil {
			key.WriteString(part.text)
			continue
		}
		value, why := part.value(id, body)
		if why != "" {
			return "", why
		}
		if key.Len()+len(value) > maxKey {
			return "", fmt.Sprintf("its key has more than %d bytes", maxKey)
		}
		key.WriteString(value)
	}
	return key.String(), ""
}

// value returns the text of a member.
func (p part) value(id string, body []byte) (text, why string) {
	if len(p.path) == 1 && p.path[0] == "_id" {
		text = id
	} else {
		value, ok := body, true
		for _, name := range p.path {
			if jsonscan.KindOf(value) != jsonscan.Object {
				ok = false
				break
			}
			if value, ok = jsonscan.Member(value, name); !ok {
				break
			}
		}
		if !ok {
			return "", fmt.Sprintf("it has no member %q", strings.Join(p.path, "."))
		}
		switch jsonscan.KindOf(value) {
		case jsonscan.String:
			text = string(jsonscan.Text(nil, value))
		case jsonscan.Number, jsonscan.True, jsonscan.False:
			text = string(jsonscan.Trim(value))
		default:
			return "", fmt.Sprintf("the member %q is not a text, number or boolean", strings.Join(p.path, "."))
		}
	}
	if p.change == nil {
		return text, ""
	}
	changed, ok := p.change(text)
	if !ok {
		return "", fmt.Sprintf("%q does not contain what the key ends before", shown(text))
	}
	return changed, ""
}

// shown cuts what is long.
func shown(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	text = text[:most]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}
