package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// binaryVariable carries the path of the built server from Main to the tests.
const binaryVariable = "SECTIONAL_BINARY"

// Main builds the server, runs the tests and returns their exit code. A package of tests calls it from TestMain. Tests
// that run under the race detector get a server that does too. A server that the environment names already is taken
// as it is.
func Main(m interface{ Run() int }) int {
	if Binary() != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "sectional")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := 1
	if err := Build(filepath.Join(dir, "sectional"), raceFlags()...); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Build compiles the server to the given path and lets Start find it there.
func Build(path string, flags ...string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	cmd := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), "./cmd/sectional")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("process: building the server: %w\n%s", err, out)
	}
	return os.Setenv(binaryVariable, path)
}

// Root returns the top of the repository: the nearest directory above that holds go.mod.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("process: no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}

// Binary returns the path of the server that Main built.
func Binary() string { return os.Getenv(binaryVariable) }

// panicMessage is script.PanicMessage, which is not imported: this package is used by modules without an interpreter.
const panicMessage = "a child for functions panicked"

// Start runs a server for the length of a test. Without a directory it gets one of its own. When the test fails, what
// the server printed is in the log.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	o.Binary = Binary()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := Launch(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
		if strings.Contains(s.Output(), panicMessage) {
			t.Errorf("the server logged: %s", panicMessage)
		}
		if t.Failed() {
			t.Logf("the server printed:\n%s", s.Output())
		}
	})
	return s
}

// slowest is how many times as slow as usual a machine may be on which tests have to pass.
const slowest = 3

// Within waits for a condition, fails the test when it does not come true within limit, or a machine's slowest, and returns
// how long that took. It asks on every tick; there is no other signal from a process that one only knows over HTTP.
func Within(t testing.TB, limit time.Duration, what string, holds func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	deadline := time.NewTimer(slowest * limit)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("not within %s: %s", slowest*limit, what)
		case <-tick.C:
		}
	}
	return time.Since(began)
}
