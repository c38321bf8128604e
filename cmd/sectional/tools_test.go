package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/testkit/apitest"
	"github.com/sectional/sectional/internal/testkit/golden"
)

// TestScripts runs the commands that ask a server, and shows what they print. In a script a line of capitals is a
// request and its answer; `sectional` is a command line, in whose output the exit code is told if it is not 0; `file NAME`
// makes a file of the lines below; `cat NAME` shows one. URL stands for the server's address.
func TestScripts(t *testing.T) {
	dir, err := filepath.Abs("testdata/scripts")
	if err != nil {
		t.Fatal(err)
	}
	golden.Scripts(t, dir+"/*.txt", func(t *testing.T) func(string) string {
		server := apitest.New(t)
		listener := httptest.NewServer(server)
		t.Cleanup(listener.Close)
		t.Chdir(t.TempDir())
		t.Setenv("SECTIONAL_USER", "adm")
		t.Setenv("SECTIONAL_PASSWORD", "pass")
		s := &session{t: t, server: server, url: strings.Replace(listener.URL, "://", "://adm:pass@", 1)}
		s.replace = strings.NewReplacer(s.url, "URL", listener.URL, "URL")
		return s.run
	})
}

// session is one script that runs.
type session struct {
	t       *testing.T
	server  *apitest.Server
	url     string
	replace *strings.Replacer
}

// run carries out a command.
func (s *session) run(command string) string {
	if strings.HasPrefix(command, "#") {
		return ""
	}
	line, below, _ := strings.Cut(command, "\n")
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "sectional":
		return s.sectional(rest, below)
	case "file":
		s.must(os.WriteFile(filepath.FromSlash(rest), []byte(below+"\n"), 0o600))
		return ""
	case "cat":
		text, err := os.ReadFile(rest)
		s.must(err)
		return s.replace.Replace(string(text))
	}
	target, _, _ := strings.Cut(rest, " ")
	a := s.server.Do(word, target, below)
	return s.replace.Replace(a.Body.String())
}

// sectional runs a command line, with the lines below it as its input.
func (s *session) sectional(line, input string) string {
	c := sectionalWith(s.t, input, arguments(strings.ReplaceAll(line, "URL", s.url))...)
	text := c.out + c.err
	if c.code != exitDone {
		text += "exit code " + string(rune('0'+c.code)) + "\n"
	}
	if strings.Contains(text, "pass@") {
		s.t.Errorf("sectional %s shows a password", line)
	}
	return s.replace.Replace(blank.ReplaceAllString(text, "\n"))
}

// blank are empty lines, which would end the output of a command in a script.
var blank = regexp.MustCompile(`\n\n+`)

// arguments splits a command line at spaces that are not between single quotes.
func arguments(line string) (args []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	return args
}

func (s *session) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestBackupTold: a backup's sizes are in units for people, and numbers for programs; a path that is not there is told once.
func TestBackupTold(t *testing.T) {
	dir := t.TempDir()
	data, backups := filepath.Join(dir, "data"), filepath.Join(dir, "backups")
	serveOn(t, data).stop()
	c := sectional(t, "backup", "--data", data, backups)
	if !regexp.MustCompile(` holds \d+\.\d [kM]B in \d+ files, \d+\.\d [kM]B of them copied, `).MatchString(c.out) {
		t.Error(c)
	}
	if c = sectional(t, "backup", "--json", "--data", data, backups); !regexp.MustCompile(`"bytes":\d+,"copied_bytes":\d+,`).MatchString(c.out) {
		t.Error(c)
	}
	gone := filepath.Join(dir, "gone")
	if c = sectional(t, "restore", "--data", filepath.Join(dir, "new"), gone); c.code != exitFailed || strings.Count(c.err, gone) != 1 || !strings.Contains(c.err, "no such file or directory") {
		t.Error(c)
	}
	if c = sectional(t, "restore", "--data", filepath.Join(dir, "new"), dir); c.code != exitFailed || strings.Count(c.err, dir) != 1 {
		t.Error(c)
	}
}
