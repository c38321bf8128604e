// Package syntax looks at the syntax trees of the functions of design documents, for the interpreter and for the compiler: it
// finds the one function that a script is, and walks over its nodes. What is looked for is its callers' business.
package syntax

import (
	"reflect"

	"github.com/dop251/goja/ast"
)

// Function returns the function that a program is, nil if there is anything besides. It may come after a number and a comma,
// which is how a script gives a function without a name.
func Function(program *ast.Program) ast.Expression {
	if len(program.Body) == 0 {
		return nil
	}
	for _, s := range program.Body[1:] {
		if _, empty := s.(*ast.EmptyStatement); !empty {
			return nil
		}
	}
	statement, ok := program.Body[0].(*ast.ExpressionStatement)
	if !ok {
		return nil
	}
	e := statement.Expression
	if s, ok := e.(*ast.SequenceExpression); ok && len(s.Sequence) == 2 {
		if _, number := s.Sequence[0].(*ast.NumberLiteral); number {
			e = s.Sequence[1]
		}
	}
	switch e.(type) {
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
		return e
	}
	return nil
}

// Expression reports whether a program is an expression and nothing else.
func Expression(program *ast.Program) bool {
	for i, s := range program.Body {
		switch s.(type) {
		case *ast.EmptyStatement:
		case *ast.ExpressionStatement:
			if i > 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// Every shows look all nodes of a part of a syntax tree, from the outside in, and reports whether each of them was ok. What is
// within a node that was done is not shown.
func Every(part any, look func(node any) (done, ok bool)) bool {
	return everyOf(reflect.ValueOf(part), look)
}

func everyOf(v reflect.Value, look func(node any) (done, ok bool)) bool {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return true
		}
		if v.Kind() == reflect.Pointer {
			if done, ok := look(v.Interface()); done || !ok {
				return ok
			}
		}
		return everyOf(v.Elem(), look)
	case reflect.Slice:
		for i := range v.Len() {
			if !everyOf(v.Index(i), look) {
				return false
			}
		}
	case reflect.Struct:
		if id, ok := v.Interface().(ast.Identifier); ok { // some nodes hold it so
			_, ok = look(&id)
			return ok
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && !everyOf(v.Field(i), look) {
				return false
			}
		}
	}
	return true
}
