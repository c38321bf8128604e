package couchapi_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/sectional/sectional/internal/script"
)

// TestMain lets the test binary be a child that runs design functions. Where all tests have run, they have seen an answer
// of every operation that docs/openapi.json describes.
func TestMain(m *testing.M) {
	script.ServeIfChild()
	code := m.Run()
	if names, err := unseen(); code == 0 && wholeRun() && (err != nil || len(names) > 0) {
		fmt.Println("no test has seen an answer of", names, err)
		code = 1
	}
	os.Exit(code)
}

// wholeRun reports whether no test was left out.
func wholeRun() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		if flag.Lookup(name).Value.String() != "" {
			return false
		}
	}
	return true
}
