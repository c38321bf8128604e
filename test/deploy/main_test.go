package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sectional/sectional/internal/testkit/process"
)

// files is the directory that is tested.
const files = "../../deploy"

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run builds the server as the Dockerfile does, unless there is one, and runs the tests.
func run(m *testing.M) int {
	if process.Binary() != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "sectional-deploy")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) // in the temporary directory, where a leftover does no harm
	binary := filepath.Join(dir, "sectional")
	build := exec.Command("go", "build", "-o", binary, "./cmd/sectional")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	if err := os.Setenv("SECTIONAL_BINARY", binary); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
