package textjs

import (
	"context"
	"testing"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/mapjs"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/script"
)

// TestNouveau: what a call of Nouveau's index may say, compiled and interpreted.
func TestNouveau(t *testing.T) {
	pool, err := script.New(script.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	f := New(mapjs.New(pool))
	for _, test := range []struct{ body, want string }{
		{`index("text", "a", "x y"); index("string", "b", "X"); index("double", "c", 1.5); index("stored", "d", "s"); index("stored", "d", 2);`,
			`a="x y" measured, b="X" facet whole measured, c=1.5 facet, d="s" store noindex, d=2 store noindex`},
		{`index("text", "a", "x", {store: true}); index("double", "c", 1, {store: true}); index("string", "b", "", {store: false});`,
			`a="x" store measured, c=1 facet store, b="" facet whole measured`},
		{`index("text", "a", "x", null); index("text", "a", "y", 7); index("text", "a", "z", {store: "true", facet: true});`, `a="x" measured, a="y" measured, a="z" measured`},
		{`index("text", "a", 1);`, `error: TypeError: type of value must be a string not number`},
		{`index("string", "a", true);`, `error: TypeError: type of value must be a string not boolean`},
		{`index("double", "a", "1");`, `error: TypeError: type of value must be a number not string`},
		{`index("double", "a", doc.missing);`, `error: TypeError: type of value must be a number not undefined`},
		{`index("stored", "a", true);`, `error: TypeError: type of true must be a string or number`},
		{`index("date", "a", "x");`, `error: TypeError: date not supported`},
		{`index("a", "x");`, `error: TypeError: a not supported`},
		{`index(1, "a", "x");`, `error: TypeError: type of type must be a string not number`},
		{`index("text", {}, "x");`, `error: TypeError: type of name must be a string not object`},
		{`index("text", "_id", "x");`, `error: ReservedName: name must not start with an underscore`},
		{`index("string", "a", "x"); index("double", "a", 1);`, `error: field a is of type STRING not DOUBLE`},
		{`index("text", "a", "x"); index("string", "a", "x");`, `error: field a is of type TEXT not STRING`},
		{`index("text", "a", "x"); index("stored", "a", 7);`, `a="x" measured, a=7 store noindex`},
		{`if (doc.n) { index("double", "n", doc.n); }`, ``},
	} {
		for _, source := range []string{"function(doc){" + test.body + "}", "function(doc){ with ({}) {" + test.body + "} }"} {
			s := text.Script{Def: &text.Def{Index: source, Nouveau: true}, FunctionScope: index.FunctionScope{Database: 1, Signature: source}}
			results, err := f.Index(context.Background(), s, [][]byte{[]byte(`{"_id":"a"}`)})
			if err != nil {
				t.Fatal(err)
			}
			if got := shown(results[0]); got != test.want {
				t.Errorf("%s\n got %s\nwant %s", source, got, test.want)
			}
		}
	}
}
