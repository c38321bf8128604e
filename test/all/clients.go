package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// withServer is a step of clients in other languages or modules: it builds the server and tells them its path by the
// environment. dir is for files of theirs.
func withServer(run func(ctx context.Context, dir string, t *tally) error) func(context.Context, *tally) error {
	return func(ctx context.Context, t *tally) error {
		dir, err := os.MkdirTemp("", "sectional-clients")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir) // in the temporary directory, where a leftover does no harm
		binary := filepath.Join(dir, "sectional")
		if err := t.run(t.command(ctx, "go", "build", "-o", binary, "./cmd/sectional")); err != nil {
			return err
		}
		t.with("SECTIONAL_BINARY=" + binary)
		return run(ctx, dir, t)
	}
}

// goClients runs the tests of aws-sdk-go-v2, a module of their own.
func goClients(ctx context.Context, _ string, t *tally) error {
	return goTestsIn(filepath.Join("test", "aws"), "./...")(ctx, t)
}

// nodeClients and browserTests are where tests in JavaScript are, each with packages of its own.
var (
	nodeClients  = filepath.Join("test", "node")
	browserTests = filepath.Join("test", "browser")
)

// node installs the clients from the lock file and runs their tests against the built server.
func node(ctx context.Context, dir string, t *tally) error {
	if err := installNode(ctx, t); err != nil {
		return err
	}
	return nodeTests(ctx, dir, t)
}

func installNode(ctx context.Context, t *tally) error { return npmInstall(ctx, nodeClients, t) }

// nodeTests runs the clients' tests with some arguments of node's runner, such as files.
func nodeTests(ctx context.Context, dir string, t *tally, arguments ...string) error {
	return npmTests(ctx, nodeClients, dir, t, arguments...)
}

// browser runs the dashboard's tests in Debian's Chromium, which is installed where that is possible and needed, and
// builds the dashboard anew, which has to come out as it is committed.
func browser(ctx context.Context, dir string, t *tally) error {
	built := rebuildDashboard(ctx, dir, t)
	t.add("the dashboard's files are what its sources build to", built == nil)
	return errors.Join(built, inBrowser(ctx, dir, t))
}

// slowLine has what people do with the dashboard take place where each request waits up to 800 ms, and what was
// asked for first may come last.
func slowLine(ctx context.Context, dir string, t *tally) error {
	t.with("SLOWEST=800")
	return inBrowser(ctx, dir, t, "everyday.test.js", "dashboard.test.js")
}

// inBrowser runs all of the browser's tests, or those of some files.
func inBrowser(ctx context.Context, dir string, t *tally, files ...string) error {
	if err := installDebian(ctx, t, "chromium", "chromium", "--version"); err != nil {
		t.skipped++
		fmt.Fprintf(t.out, "skipped: the dashboard is not looked at, for want of Debian's chromium: %v\n", err)
		return nil
	}
	if err := npmInstall(ctx, browserTests, t); err != nil {
		return err
	}
	return npmTests(ctx, browserTests, dir, t, files...)
}

func rebuildDashboard(ctx context.Context, dir string, t *tally) error {
	const sources = "dashboard"
	if err := npmInstall(ctx, sources, t); err != nil {
		return err
	}
	files := filepath.Join(dir, "dist")
	build := t.command(ctx, "npm", "run", "build", "--", "--outDir", files)
	build.Dir = sources
	if err := t.run(build); err != nil {
		return fmt.Errorf("building the dashboard: %w", err)
	}
	return t.run(t.command(ctx, "diff", "-r", files, filepath.Join("internal", "dashboard", "dist")))
}

// npmInstall installs the packages of a lock file.
func npmInstall(ctx context.Context, at string, t *tally) error {
	install := t.command(ctx, "npm", "ci", "--no-audit", "--no-fund")
	install.Dir = at
	if err := t.run(install); err != nil {
		return fmt.Errorf("npm ci in %s: %w", at, err)
	}
	return nil
}

// npmTests runs the tests that are somewhere, with some arguments of node's runner.
func npmTests(ctx context.Context, at, dir string, t *tally, arguments ...string) error {
	counts := filepath.Join(dir, filepath.Base(at)+".tap")
	// One file after the other: some start their server again on the port that it had, which another file's could take.
	tests := t.command(ctx, "node", append([]string{"--test", "--test-concurrency=1",
		"--test-reporter=spec", "--test-reporter-destination=stdout",
		"--test-reporter=tap", "--test-reporter-destination=" + counts}, arguments...)...)
	tests.Dir = at
	failure := t.run(tests)
	report, err := os.ReadFile(counts)
	if err != nil {
		return err
	}
	if err := countTAP(string(report), t); err != nil {
		return err
	}
	return failure
}

// countTAP adds the counts that node's runner prints at its report's end. Cancelled tests have failed.
func countTAP(report string, t *tally) error {
	found := 0
	for line := range strings.Lines(report) {
		var n int
		for word, count := range map[string]*int{"pass": &t.passed, "fail": &t.failed, "cancelled": &t.failed, "skipped": &t.skipped} {
			if _, err := fmt.Sscanf(line, "# "+word+" %d", &n); err == nil {
				*count += n
				found++
			}
		}
	}
	if found != 4 {
		return fmt.Errorf("node's report has %d of 4 counts", found)
	}
	return nil
}

// Python and its clients are Debian's: the interpreter that finds them, and the packages.
const (
	debianPython   = "/usr/bin/python3"
	debianPackages = "python3-boto3 awscli"
)

// python runs the tests of boto3 and of AWS's command line, which are installed where that is possible and needed. Each
// file has a process of its own, as the two bring different versions of a library.
func python(ctx context.Context, _ string, t *tally) error {
	if err := installDebian(ctx, t, debianPackages, debianPython, "-c", "import boto3, awscli"); err != nil {
		t.skipped++
		fmt.Fprintf(t.out, "skipped: boto3 and AWS's command line are not tested, for want of the packages %s: %v\n", debianPackages, err)
		return nil
	}
	files, err := filepath.Glob(filepath.Join("test", "python", "test_*.py"))
	if err != nil {
		return err
	}
	reports, runs := make([]bytes.Buffer, len(files)), make([]*exec.Cmd, len(files))
	for i, file := range files {
		module := strings.TrimSuffix(filepath.Base(file), ".py")
		// The libraries leave sockets to the end of the process, of which Python would warn.
		runs[i] = t.command(ctx, debianPython, "-B", "-W", "ignore::ResourceWarning", "-m", "unittest", "-v", module)
		runs[i].Dir, runs[i].Stdout, runs[i].Stderr = filepath.Dir(file), &reports[i], &reports[i]
		err = errors.Join(err, runs[i].Start())
	}
	for i, run := range runs {
		if run.Process == nil {
			continue
		}
		failure := t.wait(run)
		fmt.Fprint(t.out, reports[i].String())
		err = errors.Join(err, failure, countUnittest(reports[i].String(), t))
	}
	return err
}

// installDebian installs Debian's packages unless a command shows that they are there.
func installDebian(ctx context.Context, t *tally, packages string, shows ...string) error {
	there := func() error {
		out, err := exec.CommandContext(ctx, shows[0], shows[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if there() == nil {
		return nil
	}
	if os.Geteuid() != 0 {
		return errors.New("only root can install them")
	}
	if err := aptInstall(ctx, t, strings.Fields(packages)...); err != nil {
		return err
	}
	return there()
}

// installing is held by who installs packages: the parts of a step do so beside each other, and apt takes one at a time.
var installing sync.Mutex

func aptInstall(ctx context.Context, t *tally, packages ...string) error {
	installing.Lock()
	defer installing.Unlock()
	for _, arguments := range [][]string{{"-qq", "update"}, append([]string{"-qq", "install", "--yes", "--no-install-recommends"}, packages...)} {
		apt := t.command(ctx, "apt-get", arguments...)
		apt.Env = append(apt.Env, "DEBIAN_FRONTEND=noninteractive")
		if err := t.run(apt); err != nil {
			return fmt.Errorf("apt-get %s: %w", arguments, err)
		}
	}
	return nil
}

var (
	unittestRan  = regexp.MustCompile(`(?m)^Ran (\d+) tests? in `)
	unittestBad  = regexp.MustCompile(`(?m)^(?:FAIL|ERROR): (.*)$`)
	unittestSkip = regexp.MustCompile(`(?m)^(?:OK|FAILED) \(.*skipped=(\d+)`)
)

// countUnittest adds the counts that Python's unittest prints at its end, and the names of what failed.
func countUnittest(report string, t *tally) error {
	ran := unittestRan.FindStringSubmatch(report)
	if ran == nil {
		return errors.New("unittest's report has no count")
	}
	n, err := strconv.Atoi(ran[1])
	if err != nil {
		return err
	}
	for _, bad := range unittestBad.FindAllStringSubmatch(report, -1) {
		t.add(bad[1], false)
		n--
	}
	if skip := unittestSkip.FindStringSubmatch(report); skip != nil {
		skipped, err := strconv.Atoi(skip[1])
		if err != nil {
			return err
		}
		t.skipped += skipped
		n -= skipped
	}
	t.passed += max(0, n) // what could not begin has failed, and did not run
	return nil
}
