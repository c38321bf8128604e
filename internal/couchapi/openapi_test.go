package couchapi_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/couchapi"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/testkit/golden"
)

// TestOpenAPI: docs/openapi.json describes the routes that there are, with the rights of docs/access.md and the parameters
// of a query that the code of each endpoint reads. -update writes it.
func TestOpenAPI(t *testing.T) {
	text, err := json.MarshalIndent(openAPI(t), "", " ")
	must(t, err)
	golden.File(t, "../../docs/openapi.json", string(text)+"\n")
}

type object = map[string]any

func openAPI(t *testing.T) object {
	t.Helper()
	all, err := schemas()
	must(t, err)
	takes, err := takings()
	must(t, err)
	d := describing{t: t, who: accessTable(t), paths: object{}, shapes: map[string]string{}, params: queryParams(t), takes: takes, used: map[string]bool{}}
	for _, row := range couchhttp.ExpandRoutes(couchapi.AllRoutes()) {
		d.row(row)
	}
	for name := range takes {
		if !d.used[name] {
			t.Errorf("operations.txt has %s, and there is no such operation", name)
		}
	}
	refused := object{"description": "What is wrong, for programs and for people.", "content": object{"application/json": object{"schema": object{"$ref": "#/components/schemas/Error"}}}}
	return object{
		"openapi": "3.1.0",
		"info": object{"title": "Sectional", "version": "1", "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "The HTTP API of CouchDB 3.5 and Cloudant, with what Sectional adds. Every GET answers HEAD. Made of the table of routes, docs/access.md and the parameters that the code reads; documents have what members they like. docs/api.md and CouchDB's documentation say what requests mean."},
		"servers":  []object{{"url": "http://127.0.0.1:5984"}},
		"security": []object{{}, {"basic": []string{}}, {"cookie": []string{}}, {"token": []string{}}},
		"tags": []object{{"name": "server"}, {"name": "database"}, {"name": "partition", "description": "A partition as a database."},
			{"name": "tenant", "description": "A partition with ids of its own."}},
		"paths": d.paths,
		"components": object{
			"schemas":   all,
			"responses": object{"Error": refused},
			"securitySchemes": object{"basic": object{"type": "http", "scheme": "basic"}, "cookie": object{"type": "apiKey", "in": "cookie", "name": "AuthSession"},
				"token": object{"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
		},
	}
}

// describing makes the paths of the description.
type describing struct {
	t      *testing.T
	who    map[string]string   // may send a request, by method and pattern
	paths  object              // by the template of the path
	shapes map[string]string   // templates by what they look like without names, of which there is one of each
	params map[string][]string // of a query, by the name of the function that reads them
	takes  map[string]taking   // bodies and answers of operations
	used   map[string]bool     // those that there are
}

var (
	numbered    = regexp.MustCompile(`^(func)?\d+$`)
	placeholder = regexp.MustCompile(`\{(\w+)(\.\.\.)?\}`)
	allMethods  = []string{"GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"} // that a description can have
)

func (d *describing) row(row couchhttp.Route) {
	template := placeholder.ReplaceAllString(row.Pattern, "{$1}")
	shape := placeholder.ReplaceAllString(row.Pattern, "{}")
	if other, taken := d.shapes[shape]; taken {
		template = other
	}
	d.shapes[shape] = template
	item, _ := d.paths[template].(object)
	if item == nil {
		item = object{}
		if named := pathParameters(template, row.Pattern); len(named) > 0 {
			item["parameters"] = named
		}
		d.paths[template] = item
	}
	methods := strings.Split(row.Methods, ",")
	if row.Methods == "*" {
		methods = []string{"GET", "POST", "PUT", "DELETE"}
	}
	for _, m := range methods {
		if !slices.Contains(allMethods, m) {
			item["x-"+strings.ToLower(m)] = d.operation(row, m, template)
		} else if _, there := item[strings.ToLower(m)]; !there {
			item[strings.ToLower(m)] = d.operation(row, m, template)
		}
	}
}

// pathParameters are those of a template; one of several segments is told.
func pathParameters(template, pattern string) (all []object) {
	for _, m := range placeholder.FindAllStringSubmatch(template, -1) {
		p := object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}}
		if strings.Contains(pattern, "{"+m[1]+"...}") {
			p["description"] = "May have slashes."
		}
		all = append(all, p)
	}
	return all
}

// operation describes a request.
func (d *describing) operation(row couchhttp.Route, method, template string) object {
	id := strings.Trim(regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(strings.ToLower(method)+"_"+template, "_"), "_")
	who := d.who[method+" "+row.Pattern]
	if who == "" {
		who = d.who["* "+row.Pattern]
	}
	if who == "" {
		d.t.Errorf("docs/access.md does not say who may %s %s", method, row.Pattern)
	}
	o := object{"operationId": id, "tags": []string{tag(row.Pattern)}, "x-who": who, "responses": object{"default": object{"$ref": "#/components/responses/Error"}}}
	responses := o["responses"].(object)
	if row.Missing != "" {
		o["summary"], o["deprecated"], o["description"] = "Not implemented", true, "Not there: "+row.Missing
		responses["501"] = object{"$ref": "#/components/responses/Error"}
		return o
	}
	name := operationOf(&row, method, d.takes)
	takes, there := d.takes[name]
	if d.used[name] = true; !there {
		d.t.Errorf("operations.txt does not say what %s takes and gives", name)
	}
	if takes.summary == "" {
		d.t.Errorf("operations.txt does not say what %s does", name)
	}
	o["summary"] = strings.ReplaceAll(takes.summary, "{db}", "the "+tag(row.Pattern))
	done := object{"description": "Done."}
	if answer := content(takes.answer); answer != nil {
		done["content"] = answer
	}
	responses["2XX"] = done
	if names := d.params[handlerName(row.Run)]; len(names) > 0 {
		var all []object
		for _, name := range names {
			all = append(all, object{"name": name, "in": "query", "schema": object{}})
		}
		o["parameters"] = all
	}
	if body := content(takes.body); body != nil && (method == "POST" || method == "PUT" || method == "PATCH") {
		o["requestBody"] = object{"content": body}
	}
	return o
}

func tag(pattern string) string {
	switch {
	case strings.HasPrefix(pattern, "/{db}/_partition/{"):
		return "partition"
	case strings.HasPrefix(pattern, "/{db}/_owner/{"):
		return "tenant"
	case strings.HasPrefix(pattern, "/{db}"):
		return "database"
	}
	return "server"
}

// handlerName is the name of a function with the last part of its package: lists.allDocs.
func handlerName(h couchhttp.Handler) string {
	if h == nil {
		return ""
	}
	name := runtime.FuncForPC(reflect.ValueOf(h).Pointer()).Name()
	parts := strings.Split(name[strings.LastIndex(name, "/")+1:], ".")
	last := slices.DeleteFunc(parts[1:], func(p string) bool { return numbered.MatchString(p) }) // functions that another made
	return parts[0] + "." + strings.TrimSuffix(last[len(last)-1], "-fm")
}

// queryParams reads from the sources which parameters of a query each function of the API's packages reads, itself or by
// functions and tables of its package: the keys of tables of parameters, and names that the query is asked for.
func queryParams(t *testing.T) map[string][]string {
	t.Helper()
	params := map[string][]string{}
	for _, dir := range []string{".", "admin", "lists", "documents", "legacy"} {
		p := readPackage(t, dir)
		for name := range p.uses {
			found := map[string]bool{}
			p.follow(name, found, map[string]bool{})
			for param := range found {
				params[p.name+"."+name] = append(params[p.name+"."+name], param)
			}
			slices.Sort(params[p.name+"."+name])
		}
	}
	return params
}

// sourcePackage is what the functions of a package refer to.
type sourcePackage struct {
	name   string
	uses   map[string][]string // names of its functions and tables, by the function that names them
	tables map[string][]string // keys of tables of parameters
	asks   map[string][]string // names that a function asks the query for

	methods map[string]int // how many types have a method of a name
}

// follow gathers what a function reads.
func (p *sourcePackage) follow(name string, found, seen map[string]bool) {
	if seen[name] || p.methods[name] > 1 {
		return
	}
	seen[name] = true
	for _, param := range slices.Concat(p.tables[name], p.asks[name]) {
		found[param] = true
	}
	for _, used := range p.uses[name] {
		p.follow(used, found, seen)
	}
}

func readPackage(t *testing.T, dir string) *sourcePackage {
	t.Helper()
	p := &sourcePackage{uses: map[string][]string{}, tables: map[string][]string{}, asks: map[string][]string{}, methods: map[string]int{}}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	must(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		must(t, err)
		p.name = f.Name.Name
		for _, decl := range f.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Body != nil {
					p.function(decl)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && len(v.Values) == 1 {
						p.table(v.Names[0].Name, v.Values[0])
					}
				}
			}
		}
	}
	return p
}

// function notes what a function calls, which tables it names, and what it asks a query for. Functions are known by their
// names alone: methods of one name are taken together, but for those of many types, which would lead everywhere.
func (p *sourcePackage) function(f *ast.FuncDecl) {
	name := f.Name.Name
	if f.Recv != nil {
		p.methods[name]++
	}
	p.uses[name] = append(p.uses[name], "")
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if strings.HasSuffix(n.Name, "Params") {
				p.uses[name] = append(p.uses[name], n.Name)
			}
		case *ast.CallExpr:
			p.call(name, n)
		}
		return true
	})
}

func (p *sourcePackage) call(name string, n *ast.CallExpr) {
	if i, ok := n.Fun.(*ast.Ident); ok {
		p.uses[name] = append(p.uses[name], i.Name)
	}
	method, ok := n.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	p.uses[name] = append(p.uses[name], method.Sel.Name)
	of, ok := method.X.(*ast.SelectorExpr)
	if !ok || of.Sel.Name != "Query" || len(n.Args) != 1 {
		return
	}
	if text, literal := n.Args[0].(*ast.BasicLit); literal && text.Kind == token.STRING {
		if param, err := strconv.Unquote(text.Value); err == nil {
			p.asks[name] = append(p.asks[name], param)
		}
	}
}

// table notes the keys of a table whose name ends in Params.
func (p *sourcePackage) table(name string, value ast.Expr) {
	literal, ok := value.(*ast.CompositeLit)
	if !ok || !strings.HasSuffix(name, "Params") {
		return
	}
	for _, e := range literal.Elts {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := pair.Key.(*ast.BasicLit); ok {
			if param, err := strconv.Unquote(key.Value); err == nil {
				p.tables[name] = append(p.tables[name], param)
			}
		}
	}
}

// TestQueryParams: what is read of the sources is what there is to be read, in some endpoints that are known.
func TestQueryParams(t *testing.T) {
	params := queryParams(t)
	for name, want := range map[string][]string{
		"couchapi.databaseChanges": {"since", "feed", "include_docs", "heartbeat"},
		"admin.ListPartitions":     {"sort", "descending", "limit", "bookmark"},
		"admin.DropPartition":      {"tombstones"},
		"lists.search":             {"q", "bookmark", "counts"},
		"lists.listDocs":           {"startkey", "limit", "include_docs"},
	} {
		for _, w := range want {
			if !slices.Contains(params[name], w) {
				t.Errorf("%s reads %v, without %s", name, params[name], w)
			}
		}
	}
	if got := fmt.Sprint(params["couchapi.favicon"]); got != "[]" {
		t.Errorf("favicon.ico reads %s", got)
	}
}
