package document

import (
	"errors"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/dberr"
)

func TestLocate(t *testing.T) {
	for text, want := range map[string]string{
		``:                                "line 1, column 1, byte 1: the text ends there",
		`{"a": bad}`:                      "line 1, column 7, byte 7: bad}",
		"{\"a\": 1,\n \"b\": [1, 2,,]}":   "line 2, column 13, byte 22: ,]}",
		"{\"a\": 1,\n\n":                  "line 3, column 1, byte 11: the text ends there",
		`{"a":1} trailing`:                "line 1, column 9, byte 9: trailing",
		`{a:1}`:                           "line 1, column 2, byte 2: a:1}",
		`{"a":1e400}`:                     "line 1, column 11, byte 11: }",
		`{"a":"x` + "\xff" + `y"}`:        "line 1, column 8, byte 8: \ufffdy\"}",
		`{"a":"über` + "\xc3" + `"}`:      "line 1, column 12, byte 12: \ufffd\"}",
		`{"a":"tab	here"}`:                "line 1, column 10, byte 10: \there\"}",
		`["` + strings.Repeat("x", 40):    "line 1, column 43, byte 43: the text ends there",
		`[nonsense and still more of it]`: "line 1, column 2, byte 2: nonsense and still m…",
	} {
		_, _, err := Split([]byte(text))
		got := &dberr.Error{}
		if !errors.As(Locate(err, []byte(text), true), &got) || got.Reason != "invalid UTF-8 JSON ("+want+")" {
			t.Errorf("%q\n got %s\nwant %s", text, got.Reason, want)
		}
		if errors.As(Locate(err, []byte(text), false), &got); strings.Contains(got.Reason, ": ") && !strings.Contains(want, "ends") {
			t.Errorf("%q is shown: %s", text, got.Reason)
		}
	}
	if err := Locate(ErrNotJSON, []byte(`{"fine":true}`), true); err != ErrNotJSON {
		t.Error(err)
	}
	if other := errors.New("other"); Locate(other, []byte(`{`), true) != other {
		t.Error("another error was changed")
	}
}
