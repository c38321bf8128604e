package textjs

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/mapjs"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/script"
)

// TestMain lets the test binary be a child that runs functions.
func TestMain(m *testing.M) {
	script.ServeIfChild()
	os.Exit(m.Run())
}

// shown returns a result as text.
func shown(r text.Result) string {
	if r.Err != nil {
		return "error: " + r.Err.Error()
	}
	var all []string
	for _, f := range r.Fields {
		s := fmt.Sprintf("%s=%#v", f.Name, f.Value)
		if f.Boost != 1 {
			s += fmt.Sprintf("^%g", f.Boost)
		}
		for _, o := range []struct {
			name string
			is   bool
		}{{"facet", f.Facet}, {"store", f.Store}, {"noindex", !f.Index}, {"whole", f.Whole}, {"measured", f.Measured}, {f.Similarity.String(), f.Similarity != 0}} {
			if o.is {
				s += " " + o.name
			}
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

// TestIndex: what a call of index may say, compiled and interpreted.
func TestIndex(t *testing.T) {
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
		{`index("a", "x"); index("b", 1.5); index("c", true);`, `a="x", b=1.5, c=true`},
		{`index("a", "x", {boost: 2, facet: true, store: true, index: false});`, `a="x"^2 facet store noindex`},
		{`index("a", "x", {store: "yes", index: "no"});`, `a="x" store noindex`},
		{`index("a", "x", {store: "YES", index: "analyzed", facet: "true", boost: "2", other: 1});`, `a="x" store`},
		{`index("a", "x", {index: "not_analyzed"});`, `a="x" whole`},
		{`index("a", "x", null); index("a", "y", undefined); index("a", "z", {});`, `a="x", a="y", a="z"`},
		{`index("a", "x", 5);`, `error: TypeError: options must be an object not number`},
		{`index("a", doc.none);`, `error: TypeError: value must be a string, a number or boolean not undefined`},
		{`index("a", ["x"]);`, `error: TypeError: value must be a string, a number or boolean not object`},
		{`index("b", 1); index("a", {});`, `error: TypeError: value must be a string, a number or boolean not object`},
		{`index(1, "x");`, `error: TypeError: name must be a string not number`},
		{`index("_id", "x");`, `error: ReservedName: name must not start with an underscore`},
		{`index("", "");`, `=""`},
		{`index("a\"ä\u0001", "x\n\\\uD83D\uDE00 \uD83D" + "\u00e4".charAt(0));`, "a\"ä\x01=\"x\\n\\\\😀 �ä\""},
		{`if (doc.type == "product") { index("default", doc.tags.join(" ") + doc.brand); }`, `default="red blueSalter"`},
		{`for (var i in doc.tags) { index("tag", doc.tags[i], {facet: true}); }`, `tag="red" facet, tag="blue" facet`},
		{`index("v", [3, 4], {type: "vector"});`, `v=[]float32{0.6, 0.8} noindex cosine`},
		{`index("v", [3, 4], {type: "vector", similarity: "dot", dimensions: 2, store: true, facet: true});`, `v=[]float32{3, 4} noindex dot`},
		{`index("v", [0, 4], {type: "vector", similarity: "l2_norm"}); index("w", [1], {type: "vector", similarity: "max_inner_product"});`, `v=[]float32{0, 4} noindex euclidean, w=[]float32{1} noindex dot`},
		{`index("v", [3, 4], {type: "vector", similarity: "near"});`, `error: TypeError: similarity must be cosine, dot or euclidean not near`},
		{`index("v", [3, 4], {type: "vector", dimensions: 3});`, `error: RangeError: a vector has 2 numbers, not 3`},
		{`index("v", [3, 0/0], {type: "vector"});`, `error: RangeError: a vector has finite numbers only`},
		{`index("v", [3, "4"], {type: "vector"});`, `error: RangeError: a vector has finite numbers only`},
		{`index("v", [3, [4]], {type: "vector"});`, `error: RangeError: a vector has finite numbers only`},
		{`index("v", [3, 1e39], {type: "vector"});`, `error: RangeError: number 2 of a vector is 1e+39, which is not a finite number of 32 bits`},
		{`index("v", [0, 0], {type: "vector"});`, `error: RangeError: a vector of zeros has no cosine`},
		{`index("v", [], {type: "vector"});`, `error: RangeError: a vector has 1 to 4096 numbers, not 0`},
		{`var v = []; for (var i = 0; i < 5000; i++) v.push(0); index("v", v, {type: "vector"});`, `error: RangeError: a vector has 1 to 4096 numbers, not more`},
		{`index("v", "3 4", {type: "vector"});`, `error: TypeError: a vector must be an array not string`},
		{`index("v", doc.none, {type: "vector"});`, `error: TypeError: a vector must be an array not undefined`},
		{`index("v", [1], {type: "vector"}); index("v", [2], {type: "vector"});`, `error: TypeError: the vector "v" must be the only value of its name`},
		{`index("v", "x"); index("v", [2], {type: "vector"});`, `error: TypeError: the vector "v" must be the only value of its name`},
		{`index("v", [1, 2]);`, `error: TypeError: value must be a string, a number or boolean not object`},
		{``, ``},
	} {
		for name, source := range map[string]string{"plain": `function(doc){ ` + test.body + ` }`, "interpreted": `function(doc){ with ({}) { ` + test.body + ` } }`} {
			docs := [][]byte{[]byte(`{"_id":"a","type":"product","brand":"Salter","tags":["red","blue"]}`)}
			got, err := f.Index(context.Background(), text.Script{Def: &text.Def{Index: source}, FunctionScope: index.FunctionScope{Database: 1, Signature: source}}, docs)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 || shown(got[0]) != test.want {
				t.Errorf("%s %s: %s, want %s", name, test.body, shown(got[0]), test.want)
			}
		}
	}
}

// TestThrown: a document for which the function throws has an error, the others their
// fields; a library is there.
func TestThrown(t *testing.T) {
	pool, err := script.New(script.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	s := text.Script{
		Def:           &text.Def{Index: `function(doc){ index("n", require("views/lib/m").twice(doc.n.v)); }`, Lib: []byte(`{"m":"exports.twice = function(n){ return 2 * n; };"}`)},
		FunctionScope: index.FunctionScope{Database: 1, Signature: "x"},
	}
	got, err := New(mapjs.New(pool)).Index(context.Background(), s, [][]byte{[]byte(`{"_id":"a","n":{"v":2}}`), []byte(`{"_id":"b"}`), []byte(`{"_id":"c","n":{"v":3}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if shown(got[0]) != "n=4" || got[1].Err == nil || got[1].Stopped || shown(got[2]) != "n=6" {
		t.Errorf("%s; %s; %s", shown(got[0]), shown(got[1]), shown(got[2]))
	}
}
