// Package golden holds what tests print to the files in testdata and docs: it owns the flag -update, with which
// `go test` writes these files anew, and the form of scripts, whose commands and output lie in one file. Only tests
// import it. Begin reading at Scripts.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the files anew that hold what tests print")

// File fails the test if a file holds something else than got; with -update it writes the file.
func File(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s holds something else (-file +got; -update writes it):\n%s", path, diff)
	}
}

// Scripts runs the scripts whose paths match a pattern, each in a test of its own. A script is made of paragraphs
// with an empty line between them; one is a command of one or more lines, then ---- and its output, if it has any.
// begin is called for each script, and returns what carries out a command. Lines with # are for begin's function to
// pass over.
func Scripts(t *testing.T, pattern string, begin func(t *testing.T) (run func(command string) (output string))) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			File(t, path, script(string(text), begin(t)))
		})
	}
}

// script returns a script with the output that its commands have now.
func script(text string, run func(command string) string) string {
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, p := range paragraphs {
		command, _, _ := strings.Cut(p, "\n----")
		if output := strings.Trim(run(command), "\n"); output != "" {
			command += "\n----\n" + output
		}
		paragraphs[i] = command
	}
	return strings.Join(paragraphs, "\n\n") + "\n"
}
