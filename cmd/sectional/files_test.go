package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestRejectedFile names files for what is rejected that can't be it: the run ends before anything is done, and what was
// there stays. A list of a run before goes, also if nothing is rejected this time.
func TestRejectedFile(t *testing.T) {
	s, url := served(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("docs.jsonl", []byte(`{"_id":"a:9"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("lists", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("docs.jsonl", "link"); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{
		"lists": "lists is a directory", "nodir/list": "no such file or directory", "docs.jsonl": "is read", "link": "is read",
	} {
		for _, line := range []string{"import --create " + url + "/new docs.jsonl --rejected " + name, "migrate --partition-by x " + url + "/shop " + url + "/new --rejected " + name} {
			if strings.HasPrefix(line, "migrate") && says == "is read" {
				continue
			}
			c := sectional(t, strings.Fields(line)...)
			if c.code != exitFailed || !strings.Contains(c.err, says) || strings.Contains(c.err, "documents read") {
				t.Errorf("%s: %+v", line, c)
			}
		}
	}
	if text, err := os.ReadFile("docs.jsonl"); err != nil || len(text) == 0 {
		t.Errorf("the documents are %q, %v", text, err)
	}
	if a := s.Do("GET", "/new", ""); a.Code != 404 {
		t.Errorf("a database was made: %d", a.Code)
	}
	c := sectional(t, "import", url+"/shop", "docs.jsonl", "--id", "{none}:{_id}", "--rejected", "list")
	if text, err := os.ReadFile("list"); c.code != exitRefused || err != nil || strings.Count(string(text), "\n") != 1 || !strings.Contains(c.err, "named in list\n") {
		t.Errorf("%+v %q %v", c, text, err)
	}
	if c := sectional(t, "import", url+"/shop", "docs.jsonl", "--rejected", "list"); c.code != exitDone {
		t.Errorf("%+v", c)
	}
	if _, err := os.Stat("list"); !os.IsNotExist(err) {
		t.Errorf("an empty list stays: %v", err)
	}
}

// TestSpecialFiles has commands write to what is no file of its own: a link is followed and stays, a socket is no place
// for an export, and a directory is refused before anything is read.
func TestSpecialFiles(t *testing.T) {
	_, url := served(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("real.jsonl", []byte(strings.Repeat("old\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.jsonl", "link.jsonl"); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for line, says := range map[string]string{
		fmt.Sprintf("export %s/shop .", url):                           "is a directory",
		fmt.Sprintf("export %s/shop socket", url):                      "socket",
		fmt.Sprintf("import %s/shop /dev/null --rejected socket", url): "socket",
		fmt.Sprintf("export %s/shop none/out.jsonl", url):              "none/out.jsonl",
	} {
		if c := sectional(t, strings.Fields(line)...); c.code != exitFailed || !strings.Contains(c.err, says) {
			t.Errorf("%s: %+v", line, c)
		}
	}
	if _, err := os.Stat("socket"); err != nil {
		t.Error(err)
	}
	if c := sectional(t, "export", url+"/shop", "link.jsonl"); c.code != exitDone {
		t.Errorf("%+v", c)
	}
	link, err := os.Readlink("link.jsonl")
	text, readErr := os.ReadFile("real.jsonl")
	if err != nil || link != "real.jsonl" || readErr != nil || strings.Contains(string(text), "old") || !strings.Contains(string(text), `"a:1"`) {
		t.Errorf("%q %v, %v: %.200s", link, err, readErr, text)
	}
	c := sectional(t, "export", url+"/none", "link.jsonl")
	if now, err := os.ReadFile("real.jsonl"); c.code != exitFailed || err != nil || string(now) != string(text) {
		t.Errorf("%+v %v %.200s", c, err, now)
	}
	if left, _ := filepath.Glob("*.part"); len(left) > 0 {
		t.Errorf("there is %q", left)
	}
}

// TestFilesArePrivate writes a list of what was rejected, and a file that is not whole, where others could read one before.
func TestFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes")
	}
	t.Chdir(t.TempDir())
	for _, name := range []string{"rejected", "docs" + partial} {
		if err := errors.Join(os.WriteFile(name, []byte("old"), 0o600), os.Chmod(name, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := newRejects("rejected", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o, err := (&exporting{File: "docs"}).open(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rejected", "docs" + partial} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	r.add(1, "")
	if err := errors.Join(r.Close(), o.keep()); err != nil {
		t.Fatal(err)
	}
}
