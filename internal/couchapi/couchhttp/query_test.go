package couchhttp

import (
	"testing"

	"github.com/sectional/sectional/internal/web"
)

func TestTypedParameters(t *testing.T) {
	type form struct {
		flag  bool
		count int
	}
	table := Params[form]{
		"flag":  BoolParam(func(f *form) *bool { return &f.flag }),
		"count": CountParam(func(f *form) *int { return &f.count }),
	}
	var f form
	if err := table.Read(web.ParseQuery("flag=TRUE&count=7&other=x"), &f); err != nil || !f.flag || f.count != 7 {
		t.Errorf("got %+v %v", f, err)
	}
	for s, want := range map[string]string{
		"flag=1":           `Invalid boolean parameter: "1"`,
		"count=x&flag=1":   `Invalid value for integer: "x"`,
		"count=-1":         `Invalid value for positive integer: "-1"`,
		"count=1.5":        `Invalid value for integer: "1.5"`,
		"flag=&count=what": `Invalid boolean parameter: ""`,
	} {
		err := table.Read(web.ParseQuery(s), &f)
		if status, word, reason := Words(err); status != 400 || word != "query_parse_error" || reason != want {
			t.Errorf("%s: %d %s %q, want %q", s, status, word, reason, want)
		}
	}
}
