package kvtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEachEngineRunsTheSuite looks into every package of engines for the call of Run.
func TestEachEngineRunsTheSuite(t *testing.T) {
	const engines = "../../kv"
	entries, err := os.ReadDir(engines)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, entry := range entries {
		dir := filepath.Join(engines, entry.Name())
		if !entry.IsDir() || !mentions(t, dir, "*.go", "// Update implements kv.Engine.") {
			continue
		}
		found++
		if !mentions(t, dir, "*_test.go", "kvtest.Run(t, ") {
			t.Errorf("kv/%s does not call kvtest.Run in its tests", entry.Name())
		}
	}
	if found < 2 {
		t.Errorf("%d engines found", found)
	}
}

// mentions reports whether one of a directory's files has a text in it.
func mentions(t *testing.T, dir, pattern, text string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), text) {
			return true
		}
	}
	return false
}
