package script

import (
	"regexp"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"

	"github.com/sectional/sectional/internal/jsonscan"
	"github.com/sectional/sectional/internal/script/syntax"
)

// projection is the set of members that map functions read of a document; nil: they may look at all of it.
//
// Most maps read three members of thirty. Making only those is as good as making the whole document, if the function can't tell:
// if the parameter occurs only where a member of it is read by name, never by itself. Then it can't be enumerated,
// passed on, compared or written out. A getter on Object.prototype would see it, so code that speaks of prototypes gets whole documents.
type projection map[string]bool

// tampering is what code must speak of to reach the prototype of all objects, or the function's variables by other means.
var tampering = regexp.MustCompile(`proto|[dD]efine|constructor|eval|Function|Reflect|Proxy|\\u|\\x`)

// projectionOf finds what the functions of a realm read of a document.
func projectionOf(functions []string, library []byte) projection {
	p := projection{}
	if tampering.Match(library) {
		return nil
	}
	for _, source := range functions {
		if tampering.MatchString(source) || !p.add(source) {
			return nil
		}
	}
	return p
}

// add adds what one function reads. It tells if that can't be seen from the source.
func (p projection) add(source string) bool {
	program, err := goja.Parse("", expression(source), parser.WithDisableSourceMaps)
	if err != nil {
		return true // what does not compile reads nothing
	}
	var parameters *ast.ParameterList
	var body any
	switch f := syntax.Function(program).(type) {
	case *ast.FunctionLiteral:
		parameters, body = f.ParameterList, f.Body
	case *ast.ArrowFunctionLiteral:
		parameters, body = f.ParameterList, f.Body
	default:
		return false
	}
	if len(parameters.List) == 0 && parameters.Rest == nil {
		return syntax.Every(body, (&reading{into: p}).node)
	}
	if len(parameters.List) != 1 || parameters.Rest != nil || parameters.List[0].Initializer != nil {
		return false
	}
	name, ok := parameters.List[0].Target.(*ast.Identifier)
	if !ok {
		return false
	}
	return syntax.Every(body, (&reading{name.Name.String(), p}).node)
}

// reading notes what is read of a function's parameter, and whether that occurs anywhere but before the name of a member.
type reading struct {
	parameter string
	into      projection
}

// node looks at one node, for every.
func (r *reading) node(n any) (done, ok bool) {
	switch n := n.(type) {
	case *ast.Identifier:
		return true, r.harmless(n)
	case *ast.WithStatement:
		return true, false
	case *ast.DotExpression:
		if r.is(n.Left) {
			r.into[n.Identifier.Name.String()] = true
			return true, true
		}
		return true, syntax.Every(n.Left, r.node)
	case *ast.BracketExpression:
		member, literal := n.Member.(*ast.StringLiteral)
		if r.is(n.Left) && literal {
			r.into[member.Value.String()] = true
			return true, true
		}
	case *ast.CallExpression:
		return false, !r.gives(n.Callee)
	case *ast.TemplateLiteral:
		return false, n.Tag == nil || !r.gives(n.Tag)
	}
	return false, true
}

// is reports whether an expression is the parameter.
func (r *reading) is(e ast.Expression) bool {
	id, ok := e.(*ast.Identifier)
	return ok && id.Name.String() == r.parameter
}

// gives reports whether calling the expression passes the parameter on, as `this`.
func (r *reading) gives(callee ast.Expression) bool {
	switch c := callee.(type) {
	case *ast.DotExpression:
		return r.is(c.Left)
	case *ast.BracketExpression:
		return r.is(c.Left)
	}
	return false
}

// harmless reports whether a name is neither the parameter nor another way to it.
func (r *reading) harmless(id *ast.Identifier) bool {
	name := id.Name.String()
	return name != r.parameter && name != "arguments" && name != "eval"
}

// decodeOnly makes a frozen object of the members that p names.
func (r *realm) decodeOnly(document []byte, p projection) (goja.Value, error) {
	if jsonscan.KindOf(document) != jsonscan.Object {
		return r.decode(document, frozen)
	}
	o := r.rt.NewObject()
	var buffer [64]byte
	for m := jsonscan.MembersOf(document); ; {
		quoted, value, ok := m.Next()
		if !ok {
			return r.call(r.builtins.prevent, o)
		}
		name := jsonscan.Text(buffer[:0], quoted)
		if !p[string(name)] {
			continue
		}
		d := decoder{r: r, text: string(value), how: frozen}
		v, err := d.whole()
		if err == nil {
			err = o.DefineDataProperty(string(name), v, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_TRUE)
		}
		if err != nil {
			return r.decode(document, frozen) // a member is there twice
		}
	}
}
