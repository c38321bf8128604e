package couchapi

import (
	"fmt"
	"os"
	"testing"

	"github.com/sectional/sectional/internal/script"
)

// TestMain lets the test binary be a child that runs design functions.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "script-child" {
		if err := script.Child(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
