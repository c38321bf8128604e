package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// maxSkipped is how many blocks of commands there may be that nothing executes. It only ever goes down.
const maxSkipped = 1

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

// shared is what pages need and what is made once, by the first that needs it.
type shared struct {
	demo    func() (string, error) // a data directory with the demo
	modules func() (string, error) // the packages of Node
}

// newShared says how it is made.
func newShared(t *testing.T) shared {
	dir := filepath.Join(t.TempDir(), "data")
	return shared{
		demo:    sync.OnceValues(func() (string, error) { return dir, loadDemo(t, dir) }),
		modules: sync.OnceValues(installModules),
	}
}

// loadDemo lets a server load the demo, and ends it.
func loadDemo(t *testing.T, dir string) error {
	s, err := process.Launch(t.Context(), process.Options{
		Binary: process.Binary(), Dir: dir, Args: []string{"--demo", "--demo-size", "60"},
		Anonymous: true, Env: []string{"COUCHDB_USER=admin", "COUCHDB_PASSWORD=" + password},
	})
	if err != nil {
		return err
	}
	// It says what to try when all is there.
	for end := time.Now().Add(blockTimeout); strings.Count(s.Output(), "curl -u") < 3; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("the demo is not loaded within %s: %s\n%w", blockTimeout, s.Output(), s.Kill())
		}
	}
	return s.Stop()
}

// installModules installs the packages of Node from the lock file, if they are not there yet.
func installModules() (string, error) {
	root, err := process.Root()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund")
	cmd.Dir = filepath.Join(root, "test", "node")
	modules := filepath.Join(cmd.Dir, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules, nil
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return modules, nil
}

// TestPages follows every page as a reader does.
func TestPages(t *testing.T) {
	with := newShared(t)
	slots := make(chan struct{}, 2)
	skipped, followed := 0, 0
	for _, p := range pages(t) {
		for _, b := range p.steps {
			if reason, ok := strings.CutPrefix(b.option, "skip "); ok {
				skipped++
				t.Logf("%s:%d is not executed: %s", p.name, b.line, reason)
			}
		}
		if len(p.steps) == 0 {
			continue
		}
		followed++
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			r := newReader(t, p, with)
			for _, problem := range r.follow() {
				t.Error(problem)
			}
			for _, why := range r.omitted {
				t.Run("omitted", func(t *testing.T) { t.Skip(why) })
			}
		})
	}
	if skipped > maxSkipped {
		t.Errorf("%d blocks of commands are not executed, at most %d are allowed", skipped, maxSkipped)
	}
	if followed < 4 {
		t.Errorf("only %d pages have blocks: the search is broken", followed)
	}
}

// TestProblems follows a page on which nothing is as it says but the hidden commands and what is not executed.
func TestProblems(t *testing.T) {
	text := strings.Join([]string{
		"<!-- test: server -->", "<!-- run: A=1; curl -X PUT http://admin:PASSWORD@127.0.0.1:5984/db -->",
		"```sh", "curl http://127.0.0.1:5984/db", "```", // an error
		"```sh", "curl http://127.0.0.1:5984/db | cat", "```", // in a pipe
		"```sh fails", "curl http://127.0.0.1:5984/", "```",
		"```sh", "curl http://127.0.0.1:5984/_up", "```", "```json", `{"status":"down"}`, "```",
		"```sh", "curl http://admin:PASSWORD@127.0.0.1:5984/db/_all_docs", "```", // no rows
		"```sh", "false", "true", "```",
		"```sh", "test $A = 2", "```",
		"```sh", "node missing.mjs", "```", "and",
		"```json", "{a}", "```",
		"```js", "const = 1", "```",
		"```ini", "[chttpd]", "prot = 5984", "```", "and",
		"```ini", "[ssl]", "enable = true", "cert_file = missing.pem", "```",
		"```sh sometimes", "true", "```",
		"```sh where true", "false", "```",
		"```sh where false", "false", "```", // is not executed
		"<!-- run: false -->",
	}, "\n")
	p, err := parse("page.md", text)
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t, p, newShared(t))
	if problems := r.follow(); len(problems) != len(p.steps)-2 || len(r.omitted) != 1 {
		t.Errorf("%d problems of %d blocks:\n%s", len(problems), len(p.steps)-2, strings.Join(problems, "\n"))
	}
	if p, err := parse("page.md", "```text\na\n```\n"); err != nil || len(newReader(t, p, newShared(t)).follow()) != 0 {
		t.Error(err)
	}
}

// TestGoRun holds that `go run ./cmd/sectional`, for which the tests of pages take the built server, runs one.
func TestGoRun(t *testing.T) {
	root, err := process.Root()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", "./cmd/sectional", "version")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
