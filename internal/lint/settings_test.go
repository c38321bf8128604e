package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/config"
)

// notRead are settings that are shown because programs look at them.
var notRead = []string{"couchdb/single_node", "log/writer"}

// TestSettingsAreInTheTable holds the settings that the code reads against the table
// of config, both ways, so that the defaults, the warnings and the reference are
// complete.
func TestSettingsAreInTheTable(t *testing.T) {
	table := map[string]bool{}
	for _, k := range config.Table() {
		table[k.Section+"/"+k.Key] = true
	}
	read := settingsRead(t)
	if len(read) < 80 {
		t.Fatalf("only %d settings are read: the search is broken", len(read))
	}
	for name, where := range read {
		if section, _, _ := strings.Cut(name, "/"); !table[name] && !table[section+"/NAME"] {
			t.Errorf("%s reads %s, which is not in the table of config", where, name)
		}
	}
	for name := range table {
		section, key, _ := strings.Cut(name, "/")
		if strings.HasPrefix(key, "NAME") {
			name = section + "/"
		}
		if (read[name] == "") != slices.Contains(notRead, name) {
			t.Errorf("%s is in the table of config, and is read at %q", name, read[name])
		}
	}
}

// settingsRead returns the settings that the code reads, and where: section/key, or
// section/ for all keys of one.
func settingsRead(t *testing.T) map[string]string {
	read := map[string]string{}
	var files []*reads
	consts := map[string]map[string]string{} // of packages
	for _, s := range sources(t) {
		if s.test() || s.directory() == "internal/config" || !strings.HasPrefix(s.path, "internal/") {
			continue
		}
		of := consts[s.directory()]
		if of == nil {
			of = map[string]string{}
			consts[s.directory()] = of
		}
		for _, d := range s.file.Decls {
			addConsts(of, d)
		}
		files = append(files, &reads{source: s, t: t, into: read, consts: of})
	}
	for _, f := range files {
		for _, d := range f.file.Decls {
			f.look(d)
		}
	}
	return read
}

// reads finds what a file reads of the configuration: calls of the methods of
// Snapshot and Config, and of functions around them such as
//
//	count := func(name string) int { return int(s.Int(section, name, 0)) }
type reads struct {
	source
	t      *testing.T
	into   map[string]string
	consts map[string]string // of the package
}

// look takes a declaration: its constants and texts first, then what it reads.
func (f *reads) look(d ast.Decl) {
	consts := maps.Clone(f.consts)
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.DeclStmt:
			addConsts(consts, n.Decl)
		case *ast.AssignStmt:
			if text := constant(nil, n.Rhs[0]); text != "" {
				consts[types.ExprString(n.Lhs[0])] = text
			}
		}
		return true
	})
	wrappers := map[string]string{} // functions around a read: the section
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if lit, ok := n.Rhs[0].(*ast.FuncLit); ok {
				f.wrapper(consts, wrappers, n.Lhs[0], lit)
			}
		case *ast.CallExpr:
			f.call(consts, wrappers, n)
		}
		return true
	})
}

// wrapper notes a function whose first parameter is the key of a read.
func (f *reads) wrapper(consts, wrappers map[string]string, name ast.Expr, lit *ast.FuncLit) {
	params := lit.Type.Params.List
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if ok && isRead(call) && len(params) > 0 && len(params[0].Names) > 0 && types.ExprString(call.Args[1]) == params[0].Names[0].Name {
			wrappers[types.ExprString(name)] = constant(consts, call.Args[0])
		}
		return true
	})
}

func (f *reads) call(consts, wrappers map[string]string, call *ast.CallExpr) {
	where := f.path + ":" + strconv.Itoa(f.line(call.Pos()))
	if section := wrappers[types.ExprString(call.Fun)]; section != "" {
		if key := constant(consts, call.Args[0]); key != "" {
			f.into[section+"/"+key] = where
		} else {
			f.t.Errorf("%s: the name of a setting can't be told", where)
		}
	}
	if fn, ok := call.Fun.(*ast.SelectorExpr); ok && fn.Sel.Name == "Section" && len(call.Args) == 1 {
		if section := constant(consts, call.Args[0]); section != "" {
			f.into[section+"/"] = where
		}
	}
	if !isRead(call) {
		return
	}
	section, key := constant(consts, call.Args[0]), constant(consts, call.Args[1])
	switch {
	case section != "" && key != "":
		f.into[section+"/"+key] = where
	case section == "" && key != "":
		f.t.Errorf("%s: the section of %s can't be told", where, key)
	}
}

// isRead reports whether a call reads a setting: by its shape, section and key
// first, and by what it is called on.
func isRead(call *ast.CallExpr) bool {
	fn, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) < 2 || !slices.Contains([]string{"String", "Int", "Bool", "Duration", "List", "Get"}, fn.Sel.Name) {
		return false
	}
	on := types.ExprString(fn.X)
	return on == "s" || on == "c" || strings.HasSuffix(on, "Snapshot()") || strings.HasSuffix(on, "config") || strings.HasSuffix(on, "Config")
}

// addConsts adds the text constants of a declaration.
func addConsts(consts map[string]string, d ast.Decl) {
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok != token.CONST {
		return
	}
	for _, spec := range g.Specs {
		v := spec.(*ast.ValueSpec)
		for i := range v.Values {
			if text := constant(consts, v.Values[i]); text != "" {
				consts[v.Names[i].Name] = text
			}
		}
	}
}

// constant returns the text of an expression, "" for none.
func constant(consts map[string]string, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			return ""
		}
		return text
	case *ast.Ident:
		return consts[e.Name]
	}
	return ""
}
