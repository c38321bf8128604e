package docs

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
)

// anything stands for what differs from run to run.
const anything = "…"

// matches reports whether an output is what the page shows.
func matches(shown, printed string) bool {
	if want, ok := values(strict(shown)); ok {
		got, ok := values(printed)
		return ok && matchList(want, got)
	}
	return matchText(plain(shown), plain(printed))
}

// plain takes away what nobody sees: returns, and spaces at the ends of lines.
func plain(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r", ""), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// matchText compares texts, with anything as a wildcard.
func matchText(shown, printed string) bool {
	parts := strings.Split(shown, anything)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)\A` + strings.Join(parts, ".*") + `\z`).MatchString(printed)
}

// values reads a sequence of JSON values; false if it is none.
func values(text string) (list []any, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for {
		var v any
		err := d.Decode(&v)
		if err == io.EOF {
			return list, len(list) > 0
		}
		if err != nil {
			return nil, false
		}
		list = append(list, v)
	}
}

// strict makes JSON of a text in which the wildcard is bare, for a value, an element or a member.
func strict(text string) string {
	var out bytes.Buffer
	var nest []byte
	last := byte(0)
	quoted := false
	for i, r := range text {
		switch {
		case quoted:
			quoted = r != '"' || escaped(text[:i])
		case r == '"':
			quoted = true
		case r == '{', r == '[':
			nest = append(nest, byte(r))
		case (r == '}' || r == ']') && len(nest) > 0:
			nest = nest[:len(nest)-1]
		case string(r) == anything:
			member := len(nest) > 0 && nest[len(nest)-1] == '{' && last != ':'
			out.WriteString(`"` + anything + `"`)
			if member {
				out.WriteString(`:null`)
			}
			last = '"'
			continue
		}
		if !strings.ContainsRune(" \t\r\n", r) {
			last = byte(r)
		}
		out.WriteRune(r)
	}
	return out.String()
}

// escaped reports whether what follows a text within a string has a backslash in front.
func escaped(before string) bool {
	return (len(before)-len(strings.TrimRight(before, `\`)))%2 == 1
}

// matchValue compares values.
func matchValue(want, got any) bool {
	switch w := want.(type) {
	case string:
		g, ok := got.(string)
		return w == anything || ok && matchText(w, g)
	case []any:
		g, ok := got.([]any)
		return ok && matchList(w, g)
	case map[string]any:
		g, ok := got.(map[string]any)
		return ok && matchObject(w, g)
	}
	return want == got
}

// matchList compares elements in their order; the wildcard stands for any number of them.
func matchList(want, got []any) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] == anything {
		for i := range len(got) + 1 {
			if matchList(want[1:], got[i:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && matchValue(want[0], got[0]) && matchList(want[1:], got[1:])
}

// matchObject compares members; there may be others with the wildcard.
func matchObject(want, got map[string]any) bool {
	_, open := want[anything]
	for name, w := range want {
		if g, ok := got[name]; name != anything && (!ok || !matchValue(w, g)) {
			return false
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok && !open {
			return false
		}
	}
	return true
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		shown, printed string
		want           bool
	}{
		{`{"ok":true}`, "{\"ok\": true}\n", true},
		{`{"ok":true}`, `{"ok":false}`, false},
		{`{"ok":true}`, `{"ok":true,"id":"a"}`, false},
		{`{"ok":true,…}`, `{"ok":true,"id":"a"}`, true},
		{`{…,"ok":true}`, `{"ok":true}`, true},
		{`{"ok":true,…}`, `{"id":"a"}`, false},
		{`{"rev":"1-…"}`, `{"rev":"1-967a"}`, true},
		{`{"rev":"1-…"}`, `{"rev":"2-967a"}`, false},
		{`{"rev":…}`, `{"rev":[1]}`, true},
		{`{"a":"\"…"}`, `{"a":"\"b"}`, true},
		{`[1,…]`, `[1,2,3]`, true},
		{`[1,…,3]`, `[1,2,3]`, true},
		{`[1,…,3]`, `[1,2]`, false},
		{`[…]`, `[]`, true},
		{`[]`, `[1]`, false},
		{`1.50`, `1.5`, false},
		{"{\"a\":1}\n{\"b\":…}", "{\"a\":1}\n{\"b\":2}\n", true},
		{"{\"a\":1}", "{\"a\":1}\n{\"b\":2}\n", false},
		{"HTTP/1.1 200 OK\n…\nETag: …", "HTTP/1.1 200 OK\r\nDate: now\r\nETag: x  \r\n", true},
		{"a (b)", "a (b)\n", true},
		{"a.b", "axb", false},
		{"a", "ab", false},
		{`{"a":1}`, "no JSON", false},
	} {
		if got := matches(c.shown, c.printed); got != c.want {
			t.Errorf("%q shown, %q printed: %v", c.shown, c.printed, got)
		}
	}
}

func TestParse(t *testing.T) {
	p, err := parse("a.md", strings.Join([]string{
		"<!-- test: demo -->", "# A", "```sh", "curl a", "```", "", "```json", "{}", "```",
		"<!-- run: stop -->", "```js", "// a.mjs", "1", "```", "* x", "  ```sh fails", "  curl b", "  ```", "text", "```json", "[]", "```",
	}, "\n"))
	if err != nil || p.needs != "demo" || len(p.steps) != 5 {
		t.Fatalf("%v %+v", err, p)
	}
	first, program, last := p.steps[0], p.steps[2], p.steps[3]
	if first.text != "curl a\n" || first.output != "{}\n" || !first.shown || first.line != 3 {
		t.Errorf("%+v", first)
	}
	if p.steps[1].language != "run" || p.steps[1].text != "stop" || program.file != "a.mjs" {
		t.Errorf("%+v", p.steps)
	}
	if last.option != "fails" || last.text != "curl b\n" || last.shown {
		t.Errorf("%+v", last)
	}
	for _, bad := range []string{"```\na\n```", "```bash\na\n```", "```sh\na"} {
		if _, err := parse("a.md", bad); err == nil {
			t.Errorf("%q is fine", bad)
		}
	}
}
