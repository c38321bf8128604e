package lint

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoPrograms: what may be executed is a script. `go build` leaves programs where it is called, which are easily
// committed with everything else, and then in everybody's clone for good.
func TestNoPrograms(t *testing.T) {
	if _, err := os.Stat(filepath.Join(top, ".git")); err != nil {
		t.Skip("these files are of no repository")
	}
	list, err := exec.Command("git", "-c", "safe.directory=*", "-C", top, "ls-files", "--stage", "-z").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(list), "\x00") {
		mode, path, _ := strings.Cut(line, "\t")
		if !strings.HasPrefix(mode, "100755 ") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(top, path))
		if err != nil {
			t.Error(err)
		} else if !bytes.HasPrefix(content, []byte("#!")) {
			t.Errorf("%s is a program, not a script", path)
		}
	}
}
