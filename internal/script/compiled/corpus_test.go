package compiled

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"

	"github.com/sectional/sectional/internal/script/syntax"
	"github.com/sectional/sectional/internal/testkit/golden"
)

// corpus returns the functions of testdata/maps.txt.
func corpus(t *testing.T) (functions []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/maps.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			functions = append(functions, line)
		}
	}
	return functions
}

// constructs collects what a function is made of: kinds of nodes, operators,
// methods and global functions. A function that is compiled needs all of them.
type constructs map[string]bool

func constructsOf(t *testing.T, source string) constructs {
	t.Helper()
	program, err := parser.ParseFile(nil, "", "("+strings.TrimRight(source, "; ")+")", 0, parser.WithDisableSourceMaps)
	if err != nil {
		t.Fatal(err)
	}
	c := constructs{}
	syntax.Every(program.Body, func(node any) (done, ok bool) {
		c.node(node)
		return false, true
	})
	return c
}

func (c constructs) node(n any) {
	c[strings.TrimPrefix(fmt.Sprintf("%T", n), "*ast.")] = true
	switch n := n.(type) {
	case *ast.BinaryExpression:
		c["operator "+n.Operator.String()] = true
	case *ast.UnaryExpression:
		c["operator "+n.Operator.String()] = true
	case *ast.AssignExpression:
		c["assign "+n.Operator.String()] = true
	case *ast.FunctionDeclaration:
		c["function within"] = true
	case *ast.Binding:
		switch n.Initializer.(type) {
		case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
			c["function within"] = true
		}
	case *ast.CallExpression:
		switch callee := n.Callee.(type) {
		case *ast.Identifier:
			c["global "+callee.Name.String()] = true
		case *ast.DotExpression:
			c["method "+callee.Identifier.Name.String()] = true
			if of, ok := callee.Left.(*ast.Identifier); ok {
				c["global "+of.Name.String()+"."+callee.Identifier.Name.String()] = true
			}
		}
	}
}

// groups are parts of the compiler, each with what needs it.
var groups = map[string][]string{
	"loops":                        {"ForStatement", "ForInStatement", "ForOfStatement", "WhileStatement"},
	"assignments":                  {"AssignExpression", "operator ++", "operator --"},
	"dates":                        {"NewExpression", "global Date.parse"},
	"methods that call a function": {"method forEach", "method map", "method filter", "method some", "method reduce"},
	"other methods of strings": {"method toLowerCase", "method toUpperCase", "method trim", "method substring", "method substr", "method split",
		"method startsWith", "method charAt", "method replace"},
	"other methods of arrays":    {"method concat", "method join", "method push", "method sort"},
	"methods of both":            {"method slice", "method indexOf", "method includes"},
	"functions within":           {"function within"},
	"templates, optional chains": {"TemplateLiteral", "OptionalChain"},
	"switch":                     {"SwitchStatement"},
	"functions of the library":   offeredGlobals(),
	"let and const":              {"LexicalDeclaration"},
}

func offeredGlobals() (names []string) {
	for name := range functions {
		names = append(names, "global "+name)
	}
	return names
}

// TestCorpus holds which of the functions that people write are compiled, and
// that nothing is compiled that none of them needs.
func TestCorpus(t *testing.T) {
	all := corpus(t)
	refusals, users, parts := map[string]int{}, map[string]int{}, map[string]int{}
	done := 0
	for _, source := range all {
		m, why := Compile(source)
		if m == nil {
			refusals[why]++
			continue
		}
		done++
		needed := constructsOf(t, source)
		for name := range needed {
			users[name]++
		}
		for group, names := range groups {
			if slices.ContainsFunc(names, func(name string) bool { return needed[name] }) {
				parts[group]++
			}
		}
	}
	for _, name := range offered() {
		if users[name] == 0 {
			t.Errorf("%s is compiled and no function of the corpus needs it", name)
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%d of %d functions are compiled.\n\nWhy others are not:\n", done, len(all))
	tabulate(&out, refusals)
	out.WriteString("\nHow many of the compiled ones need which part:\n")
	tabulate(&out, parts)
	out.WriteString("\nHow many of the compiled ones need what:\n")
	tabulate(&out, users)
	golden.File(t, "testdata/constructs.txt", out.String())
}

// offered names what the compiler's tables have.
func offered() (names []string) {
	for name := range methods {
		names = append(names, "method "+name)
	}
	for name := range walks {
		names = append(names, "method "+name)
	}
	return slices.Sorted(slices.Values(append(names, offeredGlobals()...)))
}

func tabulate(out *strings.Builder, counts map[string]int) {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	for _, name := range names {
		if strings.HasPrefix(name, "global ") && functions[name[len("global "):]] == nil {
			continue // a function of its own, or a method of a variable
		}
		fmt.Fprintf(out, "%5d  %s\n", counts[name], name)
	}
}

// TestCorpusIsCompiledRightly runs the corpus against the interpreter.
func TestCorpusIsCompiledRightly(t *testing.T) {
	o := newOracle()
	for _, source := range corpus(t) {
		m, _ := Compile(source)
		if m == nil {
			continue
		}
		f, err := o.compile(strings.TrimRight(source, ";"))
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range documents {
			if difference, _ := differ(m.NewMachine(), o, f, doc); difference != "" {
				t.Errorf("%s\nwith %s\n%s", source, doc, difference)
			}
		}
	}
}
