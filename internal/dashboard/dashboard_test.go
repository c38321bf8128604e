package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const sources = "../../dashboard"

// TestFilesAreOfTheSources compares what the files were built from with the sources as they are.
func TestFilesAreOfTheSources(t *testing.T) {
	built, err := os.ReadFile("sources.sha256")
	must(t, err)
	var names []string
	for _, pattern := range []string{"*.json", "*.html", "*.ts", "public/*", "src/*", "src/*/*", "src/*/*/*"} {
		found, err := filepath.Glob(filepath.Join(sources, pattern))
		must(t, err)
		names = append(names, found...)
	}
	for i, name := range names {
		relative, err := filepath.Rel(sources, name)
		must(t, err)
		names[i] = filepath.ToSlash(relative)
	}
	slices.Sort(names)
	hash := sha256.New()
	for _, name := range names {
		at := filepath.Join(sources, filepath.FromSlash(name))
		if s, err := os.Stat(at); err != nil || s.IsDir() {
			must(t, err)
			continue
		}
		text, err := os.ReadFile(at)
		must(t, err)
		hash.Write([]byte(name + "\n"))
		hash.Write(text)
	}
	if now := hex.EncodeToString(hash.Sum(nil)); now != strings.TrimSpace(string(built)) {
		t.Errorf("the dashboard's files are not of its sources: run `make dashboard` (%d files, %s)", len(names), now)
	}
}

func TestFind(t *testing.T) {
	all, err := files()
	must(t, err)
	size := 0
	for name, file := range all {
		f, err := file()
		must(t, err)
		if name == Help { // comes when somebody asks for it
			continue
		}
		size += len(f.Body)
		if f.Gzip != nil {
			size += len(f.Gzip) - len(f.Body)
			z, err := gzip.NewReader(bytes.NewReader(f.Gzip))
			must(t, err)
			if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, f.Body) {
				t.Errorf("%s is another when unpacked: %v", name, err)
			}
		}
		if f.Type == "" || f.ETag == "" || f.Hashed != strings.HasPrefix(name, "assets/") {
			t.Errorf("%s: %q %q %v", name, f.Type, f.ETag, f.Hashed)
		}
	}
	if size > 400_000 {
		t.Errorf("%d bytes compressed, 400,000 at most", size)
	}
	index, err := Find(Index)
	must(t, err)
	for _, tag := range []string{"<style", "style=", " on", "http://", "https://", "data:"} {
		if strings.Contains(string(index.Body), tag) {
			t.Errorf("the page holds %s, which its policy forbids", tag)
		}
	}
	if missing, err := Find("../sources.sha256"); missing != nil || err != nil {
		t.Errorf("found %v, %v", missing, err)
	}
}

// TestHelp: every page for users is there, and the table of contents leads to each.
func TestHelp(t *testing.T) {
	f, err := Find(Help)
	must(t, err)
	var pages map[string]string
	must(t, json.Unmarshal(f.Body, &pages))
	for _, pattern := range []string{"*.md", "guides/*.md", "articles/*.md"} {
		found, err := filepath.Glob(filepath.Join("../../docs", pattern))
		must(t, err)
		for _, file := range found {
			name, err := filepath.Rel("../../docs", file)
			must(t, err)
			name = filepath.ToSlash(name)
			if name == "ARCHITECTURE.md" || name == "KEYS.md" { // how it is made
				continue
			}
			text, err := os.ReadFile(file)
			must(t, err)
			if pages[name] != string(text) {
				t.Errorf("%s is not in the help, or is another there", name)
			}
			if name != "README.md" && !strings.Contains(pages["README.md"], "]("+name+")") {
				t.Errorf("the contents do not lead to %s", name)
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
