package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// command is the outcome of a command line.
type command struct {
	code     int
	out, err string
}

// sectional runs a command line in this process, whose output is no terminal's.
func sectional(t *testing.T, args ...string) command {
	t.Helper()
	return sectionalWith(t, "", args...)
}

// sectionalWith runs one that has something to read.
func sectionalWith(t *testing.T, input string, args ...string) command {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	c := &console{in: strings.NewReader(input), out: file("out"), err: file("err")}
	code := run(args, c)
	text := func(f *os.File) string {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return command{code, text(c.out), text(c.err)}
}

// subcommands are all of them, with arguments that they could work with.
var subcommands = map[string][]string{
	"serve":        nil,
	"check":        nil,
	"backup":       {"backups"},
	"restore":      {"backups"},
	"salvage":      {"a", "b"},
	"copy":         {"a", "b"},
	"sync":         {"http://localhost:1/a", "http://localhost:1/b"},
	"import":       {"http://localhost:1/a"},
	"export":       {"http://localhost:1/a", "-"},
	"migrate":      {"http://localhost:1/a", "http://localhost:1/b", "--partition-by", "x"},
	"up":           {"http://localhost:1"},
	"stats":        {"db"},
	"top":          nil,
	"explain":      {"db", "{}"},
	"version":      nil,
	"completion":   {"bash"},
	"man":          {"pages"},
	"script-child": nil,
}

// TestUsageErrors holds that what is wrong with a command line is told on standard
// error alone, with the exit code 2, and that nothing was done.
func TestUsageErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	lines := map[string]string{ // and what is told
		"":                                   "expected one of",
		"--unknown":                          "unknown flag --unknown",
		"unknown":                            "unexpected argument unknown",
		"help":                               "unexpected argument help",
		"backup":                             `expected "<backups>"`,
		"restore":                            `expected "<backup>"`,
		"sync":                               `expected "<source> <target>"`,
		"copy a":                             `expected "<target>"`,
		"sync http://localhost:1/a":          `expected "<target>"`,
		"sync nowhere http://localhost:1/b":  "SOURCE: A database is named by a URL",
		"sync http://localhost:1/a http://x": "TARGET: A database is named by a URL",
		"sync http://u:secret@h /b":          "is named by a URL",
		"sync http://h/a http://h/b http://u:secret@h/c":        "unexpected argument http://…@h/c",
		"migrate http://h/a http://h/b":                         "missing flags: --partition-by",
		"migrate http://h/a http://h/b --partition-by {a":       "has no } after it",
		"migrate http://h/a http://u:secret@h --partition-by a": "TARGET: A database is named by a URL",
		"serve --listen":                                "--listen: expected string value",
		"serve --listen nonsense":                       "--listen nonsense",
		"serve --listen 127.0.0.1:99999":                `"99999" is not a port`,
		"serve --demo --demo-size many":                 "--demo-size",
		"serve --demo --demo-size 0":                    "--demo-size must be at least 1",
		"serve --demo-size 5":                           "what --demo loads",
		"serve --demo=perhaps":                          "--demo",
		"check --no-verify":                             "unknown flag --no-verify",
		"restore b --database d":                        "--database NAME and --to URL go together",
		"restore b --to http://h/d":                     "--database NAME and --to URL go together",
		"restore b --partition p":                       "--partition is one of --database",
		"restore b --database d --to http://u:secret@h": "--to: A database is named by a URL",
		"restore b --at yesterday":                      "is not a time such as",
		"sync --continuous=never http://a http":         "--continuous",
		"import nowhere":                                "TARGET: A database is named by a URL",
		"import http://h/a a b --skip 3":                "--skip goes with one file",
		"import http://h/a --separator ab":              "--separator is one character",
		"import http://h/a --existing perhaps":          "--existing",
		"export http://u:secret@h":                      "SOURCE: A database is named by a URL",
		"export http://h/a --selector {} --revs":        "--selector gives documents without",
	}
	for name, args := range subcommands {
		line := strings.Join(append([]string{name}, args...), " ")
		lines[line+" --unknown"] = "unknown flag --unknown"
		if name != "import" { // which takes any number of files
			lines[line+" more"] = "unexpected argument more"
		}
	}
	for line, want := range lines {
		c := sectional(t, strings.Fields(line)...)
		if c.code != exitUsage || !strings.Contains(c.err, want) || !strings.HasPrefix(c.err, "sectional: ") || !strings.Contains(c.err, "--help\n") || c.out != "" {
			t.Errorf("sectional %s: exit code %d\nerr: %q\nout: %q", line, c.code, c.err, c.out)
		}
		if strings.Contains(c.err, "secret") {
			t.Errorf("sectional %s shows a password: %s", line, c.err)
		}
	}
	for _, command := range []string{"check", "keys list"} {
		c := sectional(t, append(strings.Fields(command), "--unknown")...)
		if !strings.Contains(c.err, "See: sectional "+command+" --help\n") {
			t.Errorf("what to do is told by %q", c.err)
		}
	}
	left, err := os.ReadDir(".")
	if err != nil || len(left) > 0 {
		t.Errorf("files were made: %v %v", left, err)
	}
}

// TestHelp holds that help is on standard output, with the exit code 0.
func TestHelp(t *testing.T) {
	lines := []string{"--help", "-h"}
	for name := range subcommands {
		lines = append(lines, name+" --help", name+" -h")
	}
	for _, line := range lines {
		c := sectional(t, strings.Fields(line)...)
		if c.code != exitDone || !strings.HasPrefix(c.out, "Usage: sectional") || c.err != "" {
			t.Errorf("sectional %s: exit code %d\nerr: %q\nout: %q", line, c.code, c.err, c.out)
		}
	}
}

// TestErrorsOfTheWork holds that commands that fail tell why on standard error, with
// the exit code 1, and draw nothing in a log.
func TestErrorsOfTheWork(t *testing.T) {
	t.Chdir(t.TempDir())
	nobody := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":"unauthorized","reason":"who?"}`))
	}))
	defer nobody.Close()
	if err := os.WriteFile("file", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"check --data missing":                             "there is no data directory",
		"check --data file":                                "file",
		"backup --data missing backups":                    "there is no data directory",
		"copy missing data":                                "there is no data directory",
		"restore missing --data data":                      "missing",
		"restore . --data data":                            "backup",
		"restore . --data data --at 2026-11-22":            "backup",
		"backup --data missing --increment --json backups": "there is no data directory",
		"serve --listen 127.0.0.1:0 --config missing.ini":  "missing.ini",
		"serve --listen 127.0.0.1:0 --data file":           "file",
		"serve --listen 192.0.2.1:0 --data refused":        "refusing to listen on 192.0.2.1",
		"sync " + nobody.URL + "/a " + nobody.URL + "/b":   "unauthorized",
		"up " + nobody.URL:                                 "no Sectional server",
		"up http://127.0.0.1:1":                            "refused",
		"up nowhere":                                       "a server is named by a URL",
	} {
		c := sectional(t, strings.Fields(line)...)
		if c.code != exitFailed || !strings.Contains(c.err, want) || !strings.Contains(c.err, "sectional: ") || c.out != "" || strings.ContainsAny(c.err, "\r\x1b") {
			t.Errorf("sectional %s: exit code %d\nerr: %q\nout: %q", line, c.code, c.err, c.out)
		}
		if strings.Contains(c.err, "--help") {
			t.Errorf("sectional %s tells of help: %q", line, c.err)
		}
	}
}

// TestWork holds what commands print that do what they are asked for.
func TestWork(t *testing.T) {
	if c := sectional(t, "version"); c.code != exitDone || !strings.HasPrefix(c.out, version) || c.err != "" {
		t.Errorf("version: %+v", c)
	}
}
