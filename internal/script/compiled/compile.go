package compiled

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
	"github.com/dop251/goja/unistring"
)

// sourceLimit bounds sources, and so how deep the parser and the closures nest,
// and what the parser spends where it goes back and tries again.
const sourceLimit = 8 << 10

// Map is a compiled map function. It is immutable; machines run it.
type Map struct {
	body    statement
	names   names // members of the document read by name
	slots   int
	docSlot int // -1 when the function has no parameter
}

// expression evaluates to a value.
type expression func(m *Machine) value

// statement runs, and says how it ended.
type statement func(m *Machine) completion

// completion is how a statement ended.
type completion uint8

const (
	normal completion = iota
	breaks
	continues
	returns
	fails // m.err says why
)

// Compile compiles the source of a map function. When m is nil, why says what
// keeps the function from it.
func Compile(source string) (m *Map, why string) { return CompileFor(source, "emit") }

// CompileFor is Compile for a function that emits by calling one of another name,
// with up to four arguments.
func CompileFor(source, emits string) (m *Map, why string) {
	if len(source) > sourceLimit {
		return nil, "the source is long"
	}
	if !utf8.ValidString(source) {
		return nil, "the source is not UTF-8"
	}
	source = strings.TrimRight(source, "; \t\r\n")
	program, err := parser.ParseFile(nil, "", "("+source+"\n)", 0, parser.WithDisableSourceMaps)
	if err != nil {
		return nil, "it does not parse"
	}
	if len(program.Body) != 1 {
		return nil, "it is not one function"
	}
	only, ok := program.Body[0].(*ast.ExpressionStatement)
	if !ok {
		return nil, "it is not one function"
	}
	c := &compiler{docFixed: true, emits: emits}
	m = c.compile(only.Expression)
	if c.why == "" && c.docAssigned {
		c = &compiler{emits: emits}
		m = c.compile(only.Expression)
	}
	if c.why != "" {
		return nil, c.why
	}
	return m, ""
}

// compiler holds what is known while a function is compiled. The first refusal
// is in why; compiling then goes on to no purpose.
type compiler struct {
	out         *Map
	emits       string // the function that emits
	why         string
	scope       *scope
	doc         *variable
	docFixed    bool // nothing assigns to the parameter
	docAssigned bool
	within      []*functionShape // those being compiled, the outermost first
	nodes       int              // expressions and statements compiled so far
}

// costSince returns what one round of a loop, or one call of a function, is charged for
// what it consists of: as if all of it ran. Before it, so many nodes had been compiled.
func (c *compiler) costSince(before int) int { return 8 + 4*(c.nodes-before) }

// refuse says why the function can't be compiled.
func (c *compiler) refuse(format string, arguments ...any) {
	if c.why == "" {
		c.why = fmt.Sprintf(format, arguments...)
	}
}

// refused is refuse for an expression.
func (c *compiler) refused(format string, arguments ...any) expression {
	c.refuse(format, arguments...)
	return func(m *Machine) value { return m.interpret() }
}

// stuck is refuse for a statement.
func (c *compiler) stuck(format string, arguments ...any) statement {
	c.refuse(format, arguments...)
	return func(m *Machine) completion { m.interpret(); return fails }
}

// compile compiles the map function itself.
func (c *compiler) compile(e ast.Expression) *Map {
	c.out = &Map{docSlot: -1}
	shape, ok := c.shapeOf(e)
	if !ok {
		c.refuse("it is not a function")
		return nil
	}
	if len(shape.parameters) > 1 {
		c.refuse("it has more than one parameter")
		return nil
	}
	c.push()
	if shape.name != "" && !shape.arrow {
		c.declare(shape.name, &variable{slot: -1, constant: true})
	}
	c.push()
	c.within = append(c.within, shape)
	if len(shape.parameters) == 1 {
		c.doc = c.newVariable()
		c.declare(shape.parameters[0], c.doc)
		c.out.docSlot = c.doc.slot
	}
	c.out.body = c.functionBody(shape)
	c.out.slots = max(c.out.slots, 0)
	return c.out
}

// goString is an identifier or literal as a Go string; ok is false if it holds
// half a surrogate pair.
func goString(s unistring.String) (text string, ok bool) {
	text = s.String()
	return text, utf8.ValidString(text) && !strings.ContainsRune(text, utf8.RuneError)
}
