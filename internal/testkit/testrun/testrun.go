// Package testrun says which tests a run leaves to another. `make test` runs every test over a part of its data, and the
// packages whose state goroutines share once more under the race detector with -short, which has no use for what one
// goroutine does for long. `make test-long` sets SECTIONAL_LONG and runs everything. Begin reading at Sequential.
package testrun

import (
	"os"
	"testing"
)

// Sequential skips a long test in a run with -short: one caller asks after the other in it, so there is nothing that the
// race detector could find and does not find in others.
func Sequential(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("left to the run without -short: one caller asks after the other")
	}
}

// Long skips a test that takes too long for every change.
func Long(t testing.TB) {
	t.Helper()
	if !IsLong() {
		t.Skip("left to make test-long")
	}
}

// IsLong reports whether tests take all of their data and play all of their rounds.
func IsLong() bool { return os.Getenv("SECTIONAL_LONG") != "" }
