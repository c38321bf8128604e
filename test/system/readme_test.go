package system

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sectional/sectional/test/process"
)

// commands gives the command lines of the README's shell blocks in their order.
func commands(t *testing.T, root string) (lines []string) {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(readme, -1) {
		lines = append(lines, strings.Split(strings.TrimSpace(string(block[1])), "\n")...)
	}
	return lines
}

// TestReadme does what the README tells a newcomer to do: it runs the server by the README's command and sends every
// curl line that stands there, and those that the server prints.
func TestReadme(t *testing.T) {
	root, err := process.Root()
	if err != nil {
		t.Fatal(err)
	}
	lines := commands(t, root)
	if len(lines) < 6 || !strings.HasPrefix(lines[0], "go run ./cmd/sectional serve --demo") {
		t.Fatalf("the README does not begin with running the server: %q", lines)
	}
	address, err := process.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	// The command as it stands, but for the port, which may be taken here, and the data, which must not stay.
	out := runReadme(t, root, fmt.Sprintf("%s --demo-size 60 --listen %s --data %s", lines[0], address, t.TempDir()))
	within(t, 3*time.Minute, "the demo is loaded", func() bool { return strings.Count(out.String(), "curl -u") >= 3 })
	found := regexp.MustCompile(`(?mi)password:?\s+(\S+)\s*$`).FindStringSubmatch(out.String())
	if found == nil {
		t.Fatalf("no password was printed:\n%s", out.String())
	}
	curls := 0
	for line := range strings.Lines(strings.Join(lines[1:], "\n") + "\n" + out.String()) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "curl "):
			curls++
			line = strings.NewReplacer("127.0.0.1:5984", address, "PASSWORD", found[1]).Replace(line)
			answers(t, line)
		case line == "make test":
			// It runs this test, so it is only asked what it would do.
			if said, err := shell(root, "make -n test"); err != nil {
				t.Errorf("%v\n%s", err, said)
			}
		}
	}
	if curls < 16 {
		t.Errorf("only %d curl lines were found:\n%s", curls, out.String())
	}
}

// answers runs a curl line and wants a success and JSON with something in it.
func answers(t *testing.T, line string) {
	t.Helper()
	said, err := shell("", line+" --silent --show-error --fail-with-body")
	if err != nil {
		t.Errorf("%s: %v\n%s", line, err, said)
		return
	}
	var answer any
	if err := json.Unmarshal(said, &answer); err != nil {
		t.Errorf("%s: %v\n%s", line, err, said)
	}
	if bytes.Contains(said, []byte(`"rows":[]`)) || bytes.Contains(said, []byte(`"docs":[]`)) {
		t.Errorf("%s shows nothing: %s", line, said)
	}
}

// shell runs a line as a newcomer's shell does.
func shell(dir, line string) ([]byte, error) {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	return cmd.CombinedOutput()
}

// runReadme starts the server's command in the repository and stops it, with all that it started, at the test's end.
func runReadme(t *testing.T, root, line string) fmt.Stringer {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = root
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "COUCHDB_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	var out process.Output
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		// go run tells of the signal in its own way; what counts is that all of it is gone.
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the command printed:\n%s", out.String())
		}
	})
	return &out
}
