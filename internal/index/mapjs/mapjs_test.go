package mapjs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/script"
)

// TestMain lets the test binary be a child that runs functions.
func TestMain(m *testing.M) {
	script.ServeIfChild()
	os.Exit(m.Run())
}

// TestOtherNames: a function that emits by another name has four arguments, compiled or
// not, and knows no emit; nor does a view's know the other name.
func TestOtherNames(t *testing.T) {
	pool, err := script.New(script.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	r := New(pool)
	docs := [][]byte{[]byte(`{"_id":"a","n":1}`), []byte(`{"_id":"b","n":[1]}`)}
	for _, c := range []struct {
		emits, source string
		compiled      bool
		want          []string
	}{
		{"index", `function(doc){ index(doc._id, doc.n, {boost: 2}, doc.n); index(doc.n); }`, true, []string{`"a" 1 {"boost":2} 1; 1 null null null; `, `"b" [1] {"boost":2} [1]; [1] null null null; `}},
		{"index", `function(doc){ with ({}) { index(doc._id, doc.n, {boost: 2}, doc.n); index(doc.n); } }`, false, []string{`"a" 1 {"boost":2} 1; 1 null null null; `, `"b" [1] {"boost":2} [1]; [1] null null null; `}},
		{"index", `function(doc){ emit(doc._id); }`, false, []string{"error", "error"}},
		{"", `function(doc){ index(doc._id); }`, false, []string{"error", "error"}},
		{"", `function(doc){ with ({}) { emit(doc._id, doc.n, 3); } }`, false, []string{`"a" 1  ; `, `"b" [1]  ; `}},
	} {
		if m := r.Compiled(c.source, c.emits); (m != nil) != c.compiled {
			t.Errorf("%s: compiled: %v", c.source, m != nil)
		}
		all, err := r.Run(context.Background(), Function{FunctionScope: index.FunctionScope{Database: 1, Signature: c.source}, Source: c.source, Emits: c.emits}, docs)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, result := range all {
			text := ""
			for _, row := range result.Rows {
				text += fmt.Sprintf("%s %s %s %s; ", row.Key, row.Value, row.More, row.Rest)
			}
			if result.Err != nil {
				text = "error"
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.source, diff)
		}
	}
}

// ending is a context that ends when it has been looked at so many times.
type ending struct {
	context.Context
	checks int
}

func (c *ending) Err() error {
	if c.checks--; c.checks < 0 {
		return context.Canceled
	}
	return nil
}

// TestEndsWithItsContext: compiled functions run in the process, and one may take long for each document, and for one.
func TestEndsWithItsContext(t *testing.T) {
	for source, docs := range map[string][][]byte{
		`function(doc){ emit(doc._id); }`: {[]byte(`{"_id":"a"}`), []byte(`{"_id":"b"}`)},
		`function(doc){ for (;;) {} }`:    {[]byte(`{"_id":"a"}`)},
	} {
		all, err := New(nil).Run(&ending{context.Background(), 1}, Function{Source: source}, docs)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, %v", source, all, err)
		}
	}
}
