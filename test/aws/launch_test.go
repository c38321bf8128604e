package aws

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// The server's own packages for that are not used: what they import, this module would depend on.

// User and password of the administrator.
const (
	user     = "adm"
	password = "pass"
)

// root is the top of the repository.
var root = filepath.Join("..", "..")

// binary is the server, that of the environment or one that TestMain builds.
var binary = os.Getenv("SECTIONAL_BINARY")

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run runs the tests, with a server that is built if there is none.
func run(m *testing.M) (code int, err error) {
	if binary != "" {
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "sectional-aws")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir) // in the temporary directory, where a leftover does no harm
	binary = filepath.Join(dir, "sectional")
	build := exec.Command("go", "build", "-o", binary, "./cmd/sectional")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("building the server: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// launched is a process of the server.
type launched struct {
	base string // of CouchDB's API

	mu     sync.Mutex
	output strings.Builder
}

// Write implements io.Writer, for what the process prints.
func (l *launched) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.output.Write(p)
}

// printed is what the process has printed so far.
func (l *launched) printed() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.output.String()
}

// launch runs a server for the length of a test and returns when it answers. What it printed is in the log if the test fails.
func launch(t *testing.T, arguments ...string) *launched {
	t.Helper()
	l := &launched{}
	cmd := exec.Command(binary, append([]string{"serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0"}, arguments...)...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "COUCHDB_") && !strings.HasPrefix(v, "SECTIONAL_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "COUCHDB_USER="+user, "COUCHDB_PASSWORD="+password)
	cmd.Stdout, cmd.Stderr = l, l
	ok(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		if cmd.Process.Kill() == nil {
			<-ended // it was killed, as it says
		}
		if t.Failed() {
			t.Logf("the server printed:\n%s", l.printed())
		}
	})
	listens := regexp.MustCompile(`Sectional \S+ listens on (\S+)`)
	until(t, "the server answers", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("the server ended: %v", err)
		default:
		}
		found := listens.FindStringSubmatch(l.printed())
		if found == nil {
			return false
		}
		l.base = found[1]
		answer, err := http.Get(l.base + "/_up")
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
	return l
}
