package viewjs

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/mapjs"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/script"
)

// TestMain lets the test binary be a child that runs functions.
func TestMain(m *testing.M) {
	script.ServeIfChild()
	os.Exit(m.Run())
}

func newFunctions(t *testing.T) *Functions {
	t.Helper()
	pool, err := script.New(script.Options{Limits: script.Limits{Time: 2 * time.Second}}) // one function does not end
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	return New(mapjs.New(pool))
}

var ctx = context.Background()

// shown returns results as text: rows, or that there are none because of an error.
func shown(all []index.Mapped) (text []string) {
	for _, m := range all {
		s := ""
		for _, r := range m.Rows {
			s += fmt.Sprintf("%s=%s ", r.Key, r.Value)
		}
		if m.Err != nil {
			s += "error"
		}
		text = append(text, s)
	}
	return text
}

// TestMapsAreEqual: whether a function is compiled or not can't be seen.
func TestMapsAreEqual(t *testing.T) {
	f := newFunctions(t)
	docs := [][]byte{[]byte(`{"_id":"a","n":1,"s":"x"}`), []byte(`{"_id":"b","n":[1,2]}`), []byte(`{"_id":"c"}`), []byte(`{"_id":"d","o":{"p":"ä"}}`)}
	want := []string{`1="x" "len"=null `, `[1,2]=null "len"=2 `, "error", "error"}
	source := `function(doc){ if (doc.n === undefined) { emit(0); } emit(doc.n, doc.s); emit('len', doc.n.length); }`
	for name, s := range map[string]string{
		"compiled":    source,
		"thrown":      `function(doc){ if (doc.n === undefined) { throw 'no n'; } emit(doc.n, doc.s); emit('len', doc.n.length); }`,
		"interpreted": `function(doc){ with ({}) { if (doc.n === undefined) { emit(0); } emit(doc.n, doc.s); emit('len', doc.n.length); } }`,
	} {
		if c := f.runner.Compiled(s, ""); (c != nil) != (name == "compiled") {
			t.Errorf("%s: compiled: %v", name, c != nil)
		}
		got, err := f.Map(ctx, view.Script{Def: &view.Def{Map: s}, FunctionScope: index.FunctionScope{Database: 1, Signature: name}}, docs)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, shown(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestLibrary: modules are read from views.lib, and realms are kept apart by
// signature.
func TestLibrary(t *testing.T) {
	f := newFunctions(t)
	for _, factor := range []string{"2", "3"} {
		d := &view.Def{Map: `function(doc){ emit(require('views/lib/m').by(doc.n)); }`,
			Lib: []byte(`{"m":"exports.by = function(n){ return n * ` + factor + `; };"}`)}
		got, err := f.Map(ctx, view.Script{Def: d, FunctionScope: index.FunctionScope{Database: 1, Signature: factor}}, [][]byte{[]byte(`{"n":7}`)})
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"2": "14", "3": "21"}[factor]; len(got) != 1 || len(got[0].Rows) != 1 || string(got[0].Rows[0].Key) != want {
			t.Errorf("with the factor %s: %v", factor, shown(got))
		}
	}
}

func TestReduce(t *testing.T) {
	f := newFunctions(t)
	s := view.Script{Def: &view.Def{Reduce: `function(k, v, re){ if (v[0] === 'bad') throw 'bad'; if (v[0] === 'stop') for (;;) {} return [re, v.length, k && k[0]]; }`}, FunctionScope: index.FunctionScope{Database: 1, Signature: "x"}}
	got, err := f.Reduce(ctx, s, []view.Rows{
		{Keys: []byte(`[[1,"a"],[2,"b"]]`), Values: []byte(`[5,6]`)}, {Keys: []byte(`[[1,"a"]]`), Values: []byte(`["bad"]`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if string(got[0].Value) != `[false,2,[1,"a"]]` || got[0].Err != nil {
		t.Errorf("reduce: %s, %v", got[0].Value, got[0].Err)
	}
	if got[1].Err == nil || got[1].Limit {
		t.Errorf("what throws: %+v", got[1])
	}
	if got, err = f.Rereduce(ctx, s, [][]byte{[]byte(`[1,2,3]`)}); err != nil || string(got[0].Value) != `[true,3,null]` {
		t.Errorf("rereduce: %v, %v", got, err)
	}
	if testing.Short() {
		return
	}
	if got, err = f.Rereduce(ctx, s, [][]byte{[]byte(`["stop"]`)}); err != nil || !got[0].Limit {
		t.Errorf("what does not end: %v, %v", got, err)
	}
}
