// Package testrun owns what tests leave to another run. `make test` runs every test, and those of packages whose
// state goroutines share once more under the race detector with -short, which has no use for what one goroutine does for long.
// Begin reading at Sequential.
package testrun

import "testing"

// Elsewhere is what a test says that is left to the run without -short. The count of `make test` knows it.
const Elsewhere = "left to the run without the race detector: one caller asks after the other"

// Sequential skips a long test in a short run: one caller asks after the other in it, so there is nothing that the race
// detector could find and does not find in others. `make test-long` runs it under the detector too.
func Sequential(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip(Elsewhere)
	}
}
