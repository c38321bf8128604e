package couchapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sectional/sectional/internal/couchapi"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/web"
)

// What the tests of this package send and get is held against the schemas of docs/openapi.json, request by request:
// testAPI.ServeHTTP asks contract for it. The schemas are written by hand, in testdata/openapi.

// taking is what an operation takes and gives: names of schemas, or content types, "-" for nothing; and what it does.
type taking struct{ body, answer, summary string }

// takings reads operations.txt, by method and pattern.
func takings() (map[string]taking, error) {
	text, err := os.ReadFile("testdata/openapi/operations.txt")
	all := map[string]taking{}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) >= 4 && words[0] != "#" {
			all[words[0]+" "+words[1]] = taking{words[2], words[3], strings.Join(words[4:], " ")}
		}
	}
	return all, err
}

// operationOf is how operations.txt names a row of the table: by its own pattern, or whichever endpoint it is at.
func operationOf(row *couchhttp.Route, method string, all map[string]taking) string {
	pattern := row.Pattern
	if _, there := all[method+" "+pattern]; there {
		return method + " " + pattern
	}
	for _, e := range couchhttp.EndpointRoots() {
		if row.At == e.At {
			pattern = "/{db}" + strings.TrimPrefix(pattern, e.Root)
		}
	}
	if _, there := all[method+" "+pattern]; !there {
		method = "*"
	}
	return method + " " + pattern
}

// schemas reads schemas.json. References are by name alone there.
func schemas() (object, error) {
	text, err := os.ReadFile("testdata/openapi/schemas.json")
	if err != nil {
		return nil, err
	}
	text = bytes.ReplaceAll(text, []byte(`"$ref": "#`), []byte(`"$ref": "#/components/schemas/`))
	var all object
	err = json.Unmarshal(text, &all)
	return all, err
}

// content is a body in the description.
func content(name string) object {
	switch {
	case name == "-":
		return nil
	case strings.Contains(name, "/"):
		return object{name: object{}}
	}
	return object{"application/json": object{"schema": object{"$ref": "#/components/schemas/" + name}}}
}

// contract holds requests and answers against the description.
type contract struct {
	table      *web.Table[*couchhttp.Route]
	operations map[string]taking
	schemas    map[string]*jsonschema.Schema
	seen       sync.Map // operations of which an answer was looked at
}

// described is the contract, which all tests share.
var described = sync.OnceValues(func() (*contract, error) {
	all, err := schemas()
	if err != nil {
		return nil, err
	}
	c := &contract{table: couchhttp.NewTable(couchapi.AllRoutes(), couchhttp.Classes{}), schemas: map[string]*jsonschema.Schema{}}
	if c.operations, err = takings(); err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("file:///openapi.json", object{"components": object{"schemas": all}}); err != nil {
		return nil, err
	}
	for name := range all {
		if c.schemas[name], err = compiler.Compile("file:///openapi.json#/components/schemas/" + name); err != nil {
			return nil, err
		}
	}
	return c, nil
})

// unseen are the operations with answers in JSON of which no test has seen one.
func unseen() (names []string, err error) {
	c, err := described()
	if err != nil {
		return nil, err
	}
	for name, takes := range c.operations {
		if _, seen := c.seen.Load(name); !seen && takes.answer != "-" && takes.answer != "Error" && !strings.Contains(takes.answer, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// maxBody is how much of a body is looked at; what is longer is not.
const maxBody = 256 << 10

// watched has a request answered, and holds it and its answer against the description.
func watched(t testing.TB, w *httptest.ResponseRecorder, r *http.Request, serve http.Handler) {
	var body bytes.Buffer
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, &atMost{&body}), r.Body}
	}
	method := r.Method
	path, query := web.TargetOf(r)
	serve.ServeHTTP(w, r)
	c, err := described()
	if err != nil {
		t.Errorf("the description: %v", err)
		return
	}
	p := splitPath(path)
	var args [web.MaxArgs]string
	node := c.table.Find(&p, &args)
	if node == nil || method == http.MethodHead || r.Header.Get("X-HTTP-Method-Override") != "" || strings.Contains(query, "feed=continuous") {
		return
	}
	row, ok := node.Row(method)
	if !ok || row.Missing != "" {
		return
	}
	name := operationOf(row, method, c.operations)
	if w.Code < 300 {
		c.hold(t, name, "body", c.operations[name].body, r.Header, body.Bytes())
	}
	answers := []string{c.operations[name].answer}
	if w.Code >= 400 {
		answers = append(answers, "Error")
	}
	if w.Code < 300 || w.Code >= 400 {
		c.hold(t, name, "answer", strings.Join(answers, " "), w.Header(), w.Body.Bytes())
	}
}

// hold compares a body in JSON with the schemas of these names, of which one must fit.
func (c *contract) hold(t testing.TB, operation, what, names string, header http.Header, body []byte) {
	all := strings.Fields(names)
	if len(body) == 0 || len(body) >= maxBody || header.Get("Content-Encoding") != "" || !strings.HasPrefix(header.Get("Content-Type"), "application/json") ||
		slices.ContainsFunc(all, func(name string) bool { return strings.Contains(name, "/") }) {
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return // answers that break off are for other tests
	}
	for _, name := range all {
		if name == "-" {
			return // overlooked
		}
		if err = c.schemas[name].Validate(value); err == nil {
			if what == "answer" && name != "Error" {
				c.seen.Store(operation, true)
			}
			return
		}
	}
	t.Errorf("%s: the %s is not a %s, as docs/openapi.json says:\n%.400s\n%v", operation, what, names, body, err)
}

// atMost keeps the beginning of what is written.
type atMost struct{ *bytes.Buffer }

func (b *atMost) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, maxBody-b.Len()))])
	return len(p), nil
}
