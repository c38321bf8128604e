package system

import (
	"os/exec"
	"testing"

	"github.com/sectional/sectional/internal/testkit/process"
)

// check runs the offline check of every invariant on the data directory of a server that does not run.
func check(t testing.TB, dir string) {
	t.Helper()
	out, err := exec.Command(process.Binary(), "check", "--data", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("check: %v\n%s", err, out)
	}
}
