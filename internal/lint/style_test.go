package lint

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// The longest function and file that there may be. They only ever go down: whoever makes the longest one shorter
// lowers the figure.
const (
	longestFunction = 82
	longestTable    = 160 // a test with a table of cases
	longestFile     = 420
)

func TestSizes(t *testing.T) {
	for _, s := range sources(t) {
		if lines := s.set.File(s.file.FileStart).LineCount(); lines > longestFile && !s.test() {
			t.Errorf("%s has %d lines, at most %d are allowed", s.path, lines, longestFile)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			most := longestFunction
			if s.test() {
				most = longestTable
			}
			if lines := s.line(f.End()) - s.line(f.Pos()) + 1; lines > most {
				t.Errorf("%s:%d: %s has %d lines, at most %d are allowed", s.path, s.line(f.Pos()), f.Name.Name, lines, most)
			}
		}
	}
}

func TestPackageComments(t *testing.T) {
	packages, commented := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		packages[s.directory()] = true
		if s.file.Doc != nil {
			commented[s.directory()] = true
		}
	}
	for directory := range packages {
		if !commented[directory] {
			t.Errorf("%s does not say what it is for", directory)
		}
	}
}

func TestExportedNamesHaveComments(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
					t.Errorf("%s:%d: %s has no comment", s.path, s.line(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if name, ok := spec.(*ast.TypeSpec); ok && name.Name.IsExported() && d.Doc == nil && name.Doc == nil && name.Comment == nil {
						t.Errorf("%s:%d: %s has no comment", s.path, s.line(spec.Pos()), name.Name.Name)
					}
				}
			}
		}
	}
}

// exportedReceiver reports whether a function is seen outside: it has no receiver, or one of an exported type.
func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	receiver := f.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if index, ok := receiver.(*ast.IndexExpr); ok {
		receiver = index.X
	}
	name, ok := receiver.(*ast.Ident)
	return ok && name.IsExported()
}

// TestNoInit finds functions that run before main. The one of package embed has to: a child process must not become the
// program that it is started from.
func TestNoInit(t *testing.T) {
	for _, s := range sources(t) {
		if s.path == "embed/embed.go" {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s:%d: an init function", s.path, s.line(f.Pos()))
			}
		}
	}
}

func TestNoLooseEnds(t *testing.T) {
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			for _, word := range []string{"TO" + "DO", "FIX" + "ME"} {
				if strings.Contains(group.Text(), word) {
					t.Errorf("%s:%d: a comment says %s", s.path, s.line(group.Pos()), word)
				}
			}
		}
	}
}

// TestPackageVariablesAreConstant looks for assignments to package variables. Tables that nobody changes may be
// there; state may not.
func TestPackageVariablesAreConstant(t *testing.T) {
	variables := map[string]map[string]bool{} // by package
	list := sources(t)
	for _, s := range list {
		if s.test() {
			continue
		}
		if variables[s.directory()] == nil {
			variables[s.directory()] = map[string]bool{}
		}
		for _, d := range s.file.Decls {
			for _, name := range variableNames(d) {
				variables[s.directory()][name] = true
			}
		}
	}
	for _, s := range list {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				for _, p := range assigned(f, variables[s.directory()]) {
					t.Errorf("%s:%d: %s changes a package variable", s.path, s.line(p), f.Name.Name)
				}
			}
		}
	}
}

// variableNames lists what a declaration of variables declares.
func variableNames(d ast.Decl) (names []string) {
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok != token.VAR {
		return nil
	}
	for _, spec := range g.Specs {
		for _, name := range spec.(*ast.ValueSpec).Names {
			if name.Name != "_" {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// assigned finds the places where a function writes to a variable of the package. A name that the function declares
// itself, anywhere, counts as its own.
func assigned(f *ast.FuncDecl, variables map[string]bool) (places []token.Pos) {
	own := map[string]bool{}
	declare := func(e ast.Expr) {
		if name, ok := e.(*ast.Ident); ok {
			own[name.Name] = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				own[name.Name] = true
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				own[name.Name] = true
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					declare(e)
				}
			}
		case *ast.RangeStmt:
			declare(n.Key)
			declare(n.Value)
		}
		return true
	})
	written := func(e ast.Expr) {
		if name := root(e); name != nil && variables[name.Name] && !own[name.Name] {
			places = append(places, name.Pos())
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				written(e)
			}
		case *ast.IncDecStmt:
			written(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				written(n.X)
			}
		}
		return true
	})
	return places
}

// root is the variable that an expression such as a.b[c] begins with.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}
