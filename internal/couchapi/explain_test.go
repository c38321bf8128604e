package couchapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/testkit/golden"
)

// TestExplainScripts runs the files of testdata/explain, each over a database of its
// own. A file is made of blocks parted by empty lines: docs and a document on each
// following line; index NAME DEFINITION; explain REQUEST, with the answer of _explain
// after "----".
func TestExplainScripts(t *testing.T) {
	golden.Scripts(t, "testdata/explain/*.txt", func(t *testing.T) func(string) string {
		a := newTestAPI(t)
		a.do("PUT", "/db", "").want(201, "")
		return a.explainBlock
	})
}

// explainBlock runs one block and returns its output, "" for none.
func (a *testAPI) explainBlock(command string) string {
	a.t.Helper()
	verb, arg, _ := strings.Cut(command, " ")
	if docs, is := strings.CutPrefix(command, "docs\n"); is {
		a.do("POST", "/db/_bulk_docs", `{"docs":[`+strings.ReplaceAll(docs, "\n", ",")+`]}`).want(201, "")
		return ""
	}
	if verb == "explain" {
		return strings.TrimSpace(a.do("POST", "/db/_explain", arg).want(200, "").Body)
	}
	name, definition, _ := strings.Cut(arg, " ")
	a.do("PUT", "/db/_design/"+name, fmt.Sprintf(`{"language":"query","views":{%q:{"map":%s}},"options":{"partitioned":false}}`, name, definition)).want(201, "")
	d, err := a.Store.Database(a.t.Context(), "db")
	must(a.t, err)
	must(a.t, a.API.Indexes.Run(a.t.Context(), d))
	return ""
}
