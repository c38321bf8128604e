package analyze

import (
	"errors"
	"strings"
	"testing"
)

// nouveauNames are those that CouchDB's documentation of Nouveau lists.
const nouveauNames = `arabic armenian basque bulgarian catalan chinese cjk classic czech danish dutch email english finnish french galician german hindi hungarian
	indonesian irish italian japanese keyword latvian norwegian persian polish portugese romanian russian simple simple_asciifolding spanish standard swedish thai turkish whitespace`

func TestNouveau(t *testing.T) {
	for _, name := range strings.Fields(nouveauNames) {
		if a, err := NouveauNamed(name); err != nil || len(a.Terms("Öl 12 東京")) == 0 && name != "simple" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"klingon", "", "perfield", "greek", "brazilian"} {
		if _, err := NouveauNamed(name); !errors.Is(err, ErrUnknown) || err.Error() != name+" is not a valid analyzer name" {
			t.Errorf("%s: %v", name, err)
		}
	}
	a, err := Nouveau([]byte(`{"default_analyzer":"english","field_analyzers":{"k":"keyword","s":"standard"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{"x": "fox jump", "k": "The foxes Jump", "s": "the foxes jump"} {
		var got []string
		for _, term := range a.For(field).Analyze([]byte("The foxes Jump")) {
			got = append(got, string(term.Term))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %s", field, got, want)
		}
	}
	for _, bad := range []string{`{"default_analyzer":{"name":"english"}}`, `{"field_analyzers":[]}`, `{"field_analyzers":{"a":1}}`, `{"field_analyzers":{"a":"x"}}`, `{"field_analyzers":{"a":null}}`} {
		if _, err := Nouveau([]byte(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	for _, good := range []string{``, `{}`, `{"field_analyzers":{}}`} {
		if a, err := Nouveau([]byte(good)); err != nil || strings.Join(a.Terms("The Fox"), " ") != "the fox" {
			t.Errorf("%s: %v", good, err)
		}
	}
}
