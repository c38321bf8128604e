package lint

import (
	"go/ast"
	"maps"
	"slices"
	"strconv"
	"testing"
)

// purposes are what keys are made for of the store's secret and of [chttpd_auth] secret, with
// the package that has the key. What one package signs no other accepts.
var purposes = map[string]string{
	"access keys":              "internal/auth",
	"attempts":                 "internal/assembly",
	"iterators of streams":     "internal/dynamoapi",
	"opaque sequences":         "internal/store",
	"requests between servers": "internal/peers",
	"session cookies":          "internal/auth",
	"tokens of statements":     "internal/dynamoapi",
}

// derives are the functions that make a key for a purpose, which is their last argument.
var derives = []string{"Secret", "deriveKey"}

// TestSecretsHavePurposes: each key that is made of a secret has a purpose of its own.
func TestSecretsHavePurposes(t *testing.T) {
	found := map[string]string{}
	for _, s := range sources(t) {
		if s.test() || s.directory() == "internal/testkit/apitest" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 || !slices.Contains(derives, called(call)) {
				return true
			}
			literal, ok := call.Args[len(call.Args)-1].(*ast.BasicLit)
			if !ok {
				return true // hands a purpose on, or is the secret of an access key
			}
			purpose, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			if other, twice := found[purpose]; twice {
				t.Errorf("%s:%d: a key for %q is made in %s too", s.path, s.line(call.Pos()), purpose, other)
			}
			found[purpose] = s.directory()
			return true
		})
	}
	if !maps.Equal(found, purposes) {
		t.Errorf("keys are made for %v, want %v", found, purposes)
	}
}

// called returns the name of the function or method that is called.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
