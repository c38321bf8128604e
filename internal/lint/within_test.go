package lint

import (
	"go/ast"
	"slices"
	"testing"
)

// passOn are the files whose handlers pass requests on that came over a connection.
var passOn = []string{
	"internal/testkit/acmetest/ca.go", "internal/testkit/apitest/apitest.go",
	"internal/server/acme.go", "internal/server/drain.go", "internal/server/dynamodb.go", "test/servers/balancer.go",
}

// TestRequestsWithinTheProcessAreMarked: whoever makes a request and calls a handler with it
// says so in its context (auth.WithinProcess).
func TestRequestsWithinTheProcessAreMarked(t *testing.T) {
	marked := 0
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		calls := map[string]bool{}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				calls[called(call)] = true
			}
			return true
		})
		switch {
		case !calls["ServeHTTP"]:
		case calls["WithinProcess"]:
			marked++
		case !slices.Contains(passOn, s.path):
			t.Errorf("%s calls a handler and does not mark the request", s.path)
		}
	}
	if marked < 2 {
		t.Errorf("%d files make requests, want the replications' and the demo's", marked)
	}
}
