// Package clients runs the tests of real clients, in other languages and in Go modules of their own, against the built
// server. Each of their tests is a subtest here, so that one run of Go's tests counts and explains everything. What they
// need on the machine is installed by test/install.sh. Begin reading at subtests.
package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sectional/sectional/internal/testkit/pgtest"
	"github.com/sectional/sectional/internal/testkit/process"
	"github.com/sectional/sectional/internal/testkit/testrun"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

// TestNode runs the clients in JavaScript.
func TestNode(t *testing.T) {
	t.Parallel()
	node(t, nil, "../node")
}

// TestBrowser runs the dashboard in Debian's Chromium.
func TestBrowser(t *testing.T) {
	t.Parallel()
	needs(t, "chromium")
	node(t, nil, "../browser")
}

// TestSlowBrowser repeats what people do with the dashboard where each request waits up to 800 ms, and what was asked for
// first may be answered last.
func TestSlowBrowser(t *testing.T) {
	testrun.Long(t)
	needs(t, "chromium")
	node(t, []string{"SLOWEST=800"}, "../browser", "everyday.test.js", "dashboard.test.js")
}

// TestDashboardFiles builds the dashboard anew, which has to come out as it is committed.
func TestDashboardFiles(t *testing.T) {
	testrun.Long(t)
	const sources = "../../dashboard"
	files := t.TempDir()
	for _, cmd := range []*exec.Cmd{
		command(t, nil, sources, "npm", "ci", "--no-audit", "--no-fund"),
		command(t, nil, sources, "npm", "run", "build", "--", "--outDir", files),
		command(t, nil, ".", "diff", "-r", files, "../../internal/dashboard/dist"),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
}

// TestPython runs boto3 and AWS's command line, as Debian has them.
func TestPython(t *testing.T) {
	t.Parallel()
	python(t, nil)
}

// TestAWS runs aws-sdk-go-v2.
func TestAWS(t *testing.T) {
	t.Parallel()
	goTests(t, nil, "../aws", "./...")
}

// TestDeploy runs what the directory deploy starts.
func TestDeploy(t *testing.T) {
	testrun.Long(t)
	needs(t, "haproxy")
	goTests(t, nil, "../deploy", "./...")
}

// TestPackages makes and checks the packages of a release.
func TestPackages(t *testing.T) {
	testrun.Long(t)
	needs(t, "rpm")
	goTests(t, nil, "../packages", "./...")
}

// overPostgres are the tests of layers above the engine that a short run repeats over PostgreSQL. A long one repeats all.
const overPostgres = "^(TestScripts|TestDocumentLife|TestAttachments|TestDropPartition|TestPurge|TestDropDatabase|TestAtomic|TestTransact.*|TestWatch.*|TestReplicas|TestDecisions|TestChangeLog|TestManyWritersFewDocuments|TestCollected.*|TestHistoriesOfSeveral|TestCrashOfSeveral|TestLongestKeys)$"

// TestOverPostgres repeats tests of the layers above the engine over PostgreSQL.
func TestOverPostgres(t *testing.T) {
	t.Parallel()
	env := []string{pgtest.URLVariable + "=" + postgres(t, "max_connections=500")}
	if testrun.IsLong() {
		goTests(t, env, "../..", "./internal/store", "./internal/couchapi", "./internal/dynamoapi/...", "./test/couch")
	} else {
		goTests(t, env, "../..", "-run="+overPostgres, "./internal/store", "./internal/couchapi", "./internal/dynamoapi")
	}
}

// TestThreeServers has the clients and the recorded scenarios ask three servers over PostgreSQL in the place of one
// (test/servers/three).
func TestThreeServers(t *testing.T) {
	testrun.Long(t)
	three := filepath.Join(t.TempDir(), "three")
	if out, err := command(t, nil, "../..", "go", "build", "-o", three, "./test/servers/three").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env := []string{"SECTIONAL_BINARY=" + three, "THREE_BINARY=" + process.Binary(), "THREE_POSTGRES=" + postgres(t, "max_connections=1000")}
	t.Run("node", func(t *testing.T) { node(t, env, "../node") })
	t.Run("couch", func(t *testing.T) { goTests(t, env, "../..", "-parallel=4", "./test/couch") })
	t.Run("aws", func(t *testing.T) { goTests(t, env, "../aws", "-parallel=1", "./...") })
	t.Run("python", func(t *testing.T) { python(t, env) })
}

// postgres starts a PostgreSQL server for the length of a test and returns its URL.
func postgres(t *testing.T, settings ...string) string {
	t.Helper()
	if pgtest.Installed() == "" {
		t.Skip("PostgreSQL is not installed")
	}
	c, err := pgtest.Start(pgtest.Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c.URL()
}

// needs skips a test whose programs or directories test/install.sh could not install.
func needs(t *testing.T, installed ...string) {
	t.Helper()
	for _, name := range installed {
		_, program := exec.LookPath(name)
		if _, directory := os.Stat(name); program != nil && directory != nil {
			t.Skipf("%s is not installed", name)
		}
	}
}

// node runs tests in JavaScript with further variables of the environment. One file follows the other: some start their
// server again on the port that it had, which another file's server could take.
func node(t *testing.T, env []string, at string, files ...string) {
	t.Helper()
	needs(t, at+"/node_modules")
	subtests(t, command(t, env, at, "node", append([]string{"--test", "--test-concurrency=1", "--test-reporter=../node/events.js"}, files...)...))
}

// python runs tests in Python. Each file has a process of its own: boto3 and AWS's command line bring different versions
// of a library, and leave sockets to the end of the process, of which Python would warn.
func python(t *testing.T, env []string) {
	t.Helper()
	const debian = "/usr/lib/python3/dist-packages/" // of its own interpreter alone
	needs(t, debian+"awscli", debian+"boto3")
	files, err := filepath.Glob("../python/test_*.py")
	if err != nil || len(files) == 0 {
		t.Fatal("no tests in Python: ", err)
	}
	for _, file := range files {
		module := strings.TrimSuffix(filepath.Base(file), ".py")
		subtests(t, command(t, env, "../python", "/usr/bin/python3", "-B", "-W", "ignore::ResourceWarning", "events.py", module))
	}
}

// goTests runs Go tests in another directory. They are not vetted: make test has done that.
func goTests(t *testing.T, env []string, at string, arguments ...string) {
	t.Helper()
	subtests(t, command(t, env, at, "go", append([]string{"test", "-json", "-count=1", "-vet=off", "-timeout=60m"}, arguments...)...))
}

// command prepares a program in a directory, with further variables of the environment.
func command(t *testing.T, env []string, at, name string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), name, arguments...)
	cmd.Dir, cmd.Env = at, append(os.Environ(), env...)
	return cmd
}

// event is one of those that `go test -json` prints (go doc test2json), as events.js and events.py do for Node and Python.
type event struct{ Action, Package, Test, Output string }

// subtests runs a program that prints events and makes a subtest of each test that it reports.
func subtests(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var messages bytes.Buffer
	cmd.Stderr = &messages
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	output, ended := map[event]string{}, 0
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			messages.Write(line)
			continue
		}
		of := event{Package: e.Package, Test: e.Test}
		switch {
		case e.Action == "output" || e.Action == "build-output":
			output[of] += e.Output
		case e.Test == "" && e.Action == "fail":
			t.Errorf("%s failed:\n%s", e.Package, output[of])
		case e.Test != "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip"):
			ended++
			t.Run(e.Test, func(t *testing.T) {
				switch e.Action {
				case "fail":
					t.Error(output[of])
				case "skip":
					t.Skip(output[of])
				}
			})
			delete(output, of)
		}
	}
	if err := cmd.Wait(); err != nil && !t.Failed() {
		t.Errorf("%s: %v\n%s", cmd, err, &messages)
	}
	if ended == 0 {
		t.Errorf("%s ran no test\n%s", cmd, &messages)
	}
}
