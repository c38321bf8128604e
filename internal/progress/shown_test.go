package progress

import (
	"bytes"
	"errors"
	"testing"
)

// TestShown has texts of others do what terminals act on.
func TestShown(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "",
		"a:1":                "a:1",
		"grün 日本 😀":          "grün 日本 😀",
		`"quoted" \ 'text'`:  `"quoted" \ 'text'`,
		"\x1b]52;c;AA==\x07": `\x1b]52;c;AA==\a`,
		"\"\x1b\"\\\n":       "\"\\x1b\"\\\\n",
		"a\nadmin\t5\r":      `a\nadmin\t5\r`,
		"c1 \u009b31m":       `c1 \u009b31m`,
		"bidi \u202e \u2066": `bidi \u202e \u2066`,
		"line \u2028 \u0085": `line \u2028 \u0085`,
		"no utf-8 \xff\x9b":  `no utf-8 \xff\x9b`,
		"\x7f\x00":           `\x7f\x00`,
		"none \u200b \ufeff": `none \u200b \ufeff`,
		"replaced \ufffd":    "replaced \ufffd",
	} {
		if got := Shown(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
	if got := Lines("one\x1b\ntwo\r"); got != "one\\x1b\ntwo\\r" {
		t.Errorf("%q", got)
	}
	type name string
	var b bytes.Buffer
	if _, err := Fprintf(&b, "\t%s %s %v %d %v\n", "\t", name("\x1b"), errors.New("\n"), 5, nil); err != nil || b.String() != "\t\\t \\x1b \\n 5 <nil>\n" {
		t.Errorf("%q %v", b.String(), err)
	}
}
