package kvtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEachEngineRunsTheSuite looks into every package beside this one for the
// call of Run.
func TestEachEngineRunsTheSuite(t *testing.T) {
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	engines := 0
	for _, entry := range entries {
		if !entry.IsDir() || entry.Name() == "kvtest" {
			continue
		}
		engines++
		if !runsSuite(t, filepath.Join("..", entry.Name())) {
			t.Errorf("kv/%s does not call kvtest.Run in its tests", entry.Name())
		}
	}
	if engines == 0 {
		t.Error("no engine found")
	}
}

func runsSuite(t *testing.T, dir string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "kvtest.Run(t, ") {
			return true
		}
	}
	return false
}
