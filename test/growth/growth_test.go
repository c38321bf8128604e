package main

import (
	"io"
	"strings"
	"testing"
)

// TestAllocations counts what is allocated for headers, files, and bodies of documents. Everything is counted by the program, of which
// a build takes minutes.
func TestAllocations(t *testing.T) {
	failures, err := run(t.Context(), io.Discard, func(name string) bool {
		for _, begin := range []string{"file: ", "header ", "signature", "POST /{db}/_bulk_docs", "PUT /{db}/{id}", "PutItem"} {
			if strings.HasPrefix(name, begin) {
				return true
			}
		}
		return false
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range failures {
		t.Error(f)
	}
}
