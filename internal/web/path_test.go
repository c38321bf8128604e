package web

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// splitPath splits the path of a request target.
func splitPath(target string) (p Path) {
	p.Split(target, PlusIsSpace)
	return p
}

func TestSplitPath(t *testing.T) {
	for target, want := range map[string][]string{
		"/":                             nil,
		"":                              nil,
		"/db":                           {"db"},
		"/db/":                          {"db"},
		"//db///doc//":                  {"db", "doc"},
		"/db%2Fname/doc":                {"db/name", "doc"},
		"/db/_design/x":                 {"db", "_design", "x"},
		"/db/_design%2Fx":               {"db", "_design/x"},
		"/db/doc/a/b%20c":               {"db", "doc", "a", "b c"},
		"/db/one+two":                   {"db", "one two"},
		"/db/one%2Btwo":                 {"db", "one+two"},
		"/db/%FF":                       {"db", "\xff"},
		"/db/100%":                      {"db", "100%"},
		"/db/%zz%4":                     {"db", "%zz%4"},
		"/%C3%A4":                       {"ä"},
		"/a" + strings.Repeat("/b", 20): append(append([]string{"a"}, strings.Split(strings.Repeat("b", 14), "")...), "b/b/b/b/b/b"),
	} {
		p := splitPath(target)
		if diff := cmp.Diff(want, append([]string(nil), p.Parts()...)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", target, diff)
		}
	}
}

func TestTargetOfAbsoluteForm(t *testing.T) {
	r := httptest.NewRequest("GET", "http://host/db%2Fname?q=1", nil)
	if path, query := TargetOf(r); path != "/db%2Fname" || query != "q=1" {
		t.Errorf("got %q %q", path, query)
	}
}

func TestQuotedPathComesBack(t *testing.T) {
	for _, s := range []string{"plain", "a b", "a/b", "ä", "100%", "\x00\xff", "p:x", "$()"} {
		quoted := string(AppendQuotedPath(nil, s))
		if got := Unquote(quoted, PlusIsSpace); got != s || strings.ContainsAny(quoted, "/ %%%"[:2]) {
			t.Errorf("%q became %q and then %q", s, quoted, got)
		}
	}
}

func TestParseQuery(t *testing.T) {
	for s, want := range map[string]Query{
		"":                 nil,
		"a=1":              {{"a", "1"}},
		"a=1&b=2;c=3":      {{"a", "1"}, {"b", "2"}, {"c", "3"}},
		"a":                {{"a", ""}},
		"a=":               {{"a", ""}},
		"a=b=c":            {{"a", "b=c"}},
		"&&a=1&":           {{"a", "1"}},
		"k=%22x+y%22":      {{"k", `"x y"`}},
		"k=%7B%22a%22%3A1": {{"k", `{"a":1`}},
		"a=1&a=2":          {{"a", "1"}, {"a", "2"}},
	} {
		if diff := cmp.Diff(want, ParseQuery(s)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", s, diff)
		}
	}
}

func FuzzSplitPath(f *testing.F) {
	f.Add("/db/doc/a%2Fb")
	f.Add("//%")
	f.Fuzz(func(t *testing.T, target string) {
		p := splitPath(target)
		if len(p.Parts()) > MaxParts {
			t.Fatalf("%d parts", len(p.Parts()))
		}
		var quoted []byte
		for _, part := range p.Parts() {
			quoted = AppendQuotedPath(append(quoted, '/'), part)
		}
		again := splitPath(string(quoted))
		// The last of very many segments may hold slashes that stay escaped.
		if diff := cmp.Diff(p.Parts(), again.Parts()); diff != "" {
			t.Fatalf("%q does not come back (-want +got):\n%s", target, diff)
		}
	})
}

func FuzzParseQuery(f *testing.F) {
	f.Add("a=1&b=%22x%22;c")
	f.Fuzz(func(t *testing.T, s string) {
		q := ParseQuery(s)
		if len(q) > 1+strings.Count(s, "&")+strings.Count(s, ";") {
			t.Fatalf("%q gave %d parameters", s, len(q))
		}
		for _, p := range q {
			if v, ok := q.Get(p.Name); !ok || q.Is(p.Name) != (v == "true") {
				t.Fatalf("%q: parameter %q is not found again", s, p.Name)
			}
		}
	})
}

func TestExpandedPaths(t *testing.T) {
	for target, want := range map[string]string{
		"/db%2Fin%2Fp":                            "db in p",
		"/db%2Fin%2Fp/doc/a%2Fb":                  "db in p doc a/b",
		"/db%2Fin%2Fp" + strings.Repeat("/b", 20): "db in p" + strings.Repeat(" b", 12) + " b/b/b/b/b/b/b/b",
	} {
		p := splitPath(target)
		p.Expand(strings.Split(p.Parts()[0], "/")...)
		if got := strings.Join(p.Parts(), " "); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
}
