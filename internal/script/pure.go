package script

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"github.com/sectional/sectional/internal/script/syntax"
)

// isPure reports whether it can be seen from a function's source that it leaves nothing behind: that it is a bare function,
// outside of which there is nothing that it could change but the globals, and that it changes none of these. What a realm
// is born with is frozen (harden.js), and the function will be. Anything that is not understood counts as
// remembering, which costs a little time and no more.
func isPure(program *ast.Program) bool {
	f := syntax.Function(program)
	return f != nil && (&scope{}).closed(f)
}

// scope is the variables that code may assign to: those of functions around it.
type scope struct {
	outer *scope
	names map[string]bool
}

// beyond are names by which code reaches globals, or makes code that can't be seen.
var beyond = map[string]bool{"globalThis": true, "eval": true, "Function": true, "require": true, "constructor": true, "__proto__": true}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		if s.names[name] {
			return true
		}
	}
	return false
}

// inner makes the scope of a block within this one.
func (s *scope) inner() *scope { return &scope{outer: s, names: map[string]bool{}} }

// declare takes up a variable; false: it is a pattern.
func (s *scope) declare(target any) bool {
	id, ok := target.(*ast.Identifier)
	if ok {
		s.names[id.Name.String()] = true
	}
	return ok
}

func (s *scope) declareAll(list []*ast.Binding) bool {
	for _, b := range list {
		if !s.declare(b.Target) {
			return false
		}
	}
	return true
}

// function reports whether a function changes variables of functions around it and its own alone.
func (s *scope) function(parameters *ast.ParameterList, variables []*ast.VariableDeclaration, body any) bool {
	in := s.inner()
	if parameters.Rest != nil || !in.declareAll(parameters.List) {
		return false
	}
	for _, d := range variables {
		if !in.declareAll(d.List) {
			return false
		}
	}
	return syntax.Every(parameters.List, in.node) && syntax.Every(body, in.node)
}

// closed is function for the kinds of functions. One whose name is a variable of its own is closed too: it can't be assigned to.
func (s *scope) closed(n any) bool {
	switch f := n.(type) {
	case *ast.FunctionLiteral:
		return s.function(f.ParameterList, f.DeclarationList, f.Body)
	case *ast.ArrowFunctionLiteral:
		return s.function(f.ParameterList, f.DeclarationList, f.Body)
	}
	return false
}

// node looks at one node, for every: whether it changes variables of the scope alone.
func (s *scope) node(n any) (done, ok bool) {
	switch n := n.(type) {
	case *ast.Identifier:
		return true, !beyond[n.Name.String()]
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
		return true, s.closed(n)
	case *ast.ThisExpression, *ast.SuperExpression, *ast.ClassLiteral, *ast.WithStatement:
		return true, false
	case *ast.StringLiteral:
		return true, !beyond[n.Value.String()]
	case *ast.AssignExpression:
		return false, s.assigns(n.Left)
	case *ast.UnaryExpression:
		changes := n.Operator == token.INCREMENT || n.Operator == token.DECREMENT || n.Operator == token.DELETE
		return false, !changes || s.assigns(n.Operand)
	case *ast.ForIntoExpression:
		return false, s.assigns(n.Expression)
	case *ast.CallExpression:
		return false, plainCallee(n.Callee)
	case *ast.BlockStatement:
		return true, s.inner().block(n.List)
	case *ast.SwitchStatement:
		return true, s.inner().cases(n)
	case *ast.ForStatement:
		in := s.inner()
		if l, lexical := n.Initializer.(*ast.ForLoopInitializerLexicalDecl); lexical && !in.declareAll(l.LexicalDeclaration.List) {
			return true, false
		}
		return true, syntax.Every(*n, in.node)
	case *ast.ForInStatement:
		return s.into(n.Into, *n)
	case *ast.ForOfStatement:
		return s.into(n.Into, *n)
	case *ast.CatchStatement:
		in := s.inner()
		if n.Parameter != nil && !in.declare(n.Parameter) {
			return true, false
		}
		return true, syntax.Every(n.Body, in.node)
	}
	return false, true
}

// into looks at a loop over members or items.
func (s *scope) into(target ast.ForInto, loop any) (done, ok bool) {
	in := s.inner()
	switch t := target.(type) {
	case *ast.ForDeclaration:
		if !in.declare(t.Target) {
			return true, false
		}
	case *ast.ForIntoVar:
		if !s.has(nameOf(t.Binding.Target)) {
			return true, false
		}
	}
	return true, syntax.Every(loop, in.node)
}

func nameOf(target any) string {
	if id, ok := target.(*ast.Identifier); ok {
		return id.Name.String()
	}
	return ""
}

// block looks at statements with variables of their own.
func (s *scope) block(list []ast.Statement) bool {
	for _, statement := range list {
		switch d := statement.(type) {
		case *ast.LexicalDeclaration:
			if !s.declareAll(d.List) {
				return false
			}
		case *ast.FunctionDeclaration:
			s.declare(d.Function.Name)
		case *ast.ClassDeclaration:
			return false
		}
	}
	return syntax.Every(list, s.node)
}

func (s *scope) cases(n *ast.SwitchStatement) bool {
	var all []ast.Statement
	for _, c := range n.Body {
		if !syntax.Every(c.Test, s.node) {
			return false
		}
		all = append(all, c.Consequent...)
	}
	return syntax.Every(n.Discriminant, s.node) && s.block(all)
}

// assigns reports whether a target may be assigned to: a variable of the scope, or a member of whatever it is, which is the
// function's own or frozen.
func (s *scope) assigns(target ast.Expression) bool {
	switch t := target.(type) {
	case *ast.Identifier:
		return s.has(t.Name.String())
	case *ast.DotExpression, *ast.BracketExpression:
		return true
	}
	return false
}

// plainCallee reports whether a call names what it calls: it is not a member by a computed name, nor what another call gave,
// which might be the constructor of functions.
func plainCallee(callee ast.Expression) bool {
	switch c := callee.(type) {
	case *ast.BracketExpression:
		_, literal := c.Member.(*ast.StringLiteral)
		return literal
	case *ast.Identifier, *ast.DotExpression, *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
		return true
	}
	return false
}
