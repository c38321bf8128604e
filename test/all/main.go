// Command all runs every check and test of the repository and ends with one line of counts. It owns the order of the
// steps and the counting; it knows nothing of what is tested. Each step runs even if one before it failed, so that
// one run shows everything. With --long it runs what takes too long for every change instead: everything under the
// race detector, tests over all of their data, and half a minute of each fuzz test. Begin reading at main.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// step is one part of the run. It adds to the tally what it has counted; an error is a failure that no test stands
// for, such as a tool that could not run.
type step struct {
	name string
	run  func(context.Context, *tally) error
}

// tally is what was counted.
type tally struct {
	passed, failed, skipped int
	names                   []string // of what failed
}

// add counts one more check of a name.
func (t *tally) add(name string, passed bool) {
	if passed {
		t.passed++
		return
	}
	t.failed++
	t.names = append(t.names, name)
}

// String is the closing line.
func (t tally) String() string {
	line := fmt.Sprintf("%d passed, %d failed", t.passed, t.failed)
	if t.skipped > 0 {
		line += fmt.Sprintf(", %d skipped", t.skipped)
	}
	return line
}

func main() {
	everything := flag.Bool("long", false, "run what takes too long for every change")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var total tally
	todo := steps()
	if *everything {
		todo = longSteps()
	}
	for _, s := range todo {
		fmt.Printf("== %s\n", s.name)
		start, before := time.Now(), total.failed
		if err := s.run(ctx, &total); err != nil {
			fmt.Printf("%s: %v\n", s.name, err)
			if total.failed == before {
				total.add(s.name, false)
			}
		}
		fmt.Printf("== %s took %s\n", s.name, time.Since(start).Round(time.Second))
	}
	for _, name := range total.names {
		fmt.Println("failed:", name)
	}
	fmt.Println(total)
	if total.failed > 0 || total.passed == 0 {
		os.Exit(1)
	}
}

// packages are those whose tests run in this process's own time; the others start the built server.
var packages = []string{"./cmd/...", "./internal/...", "./test/all", "./test/couch", "./test/process"}

// concurrent are the packages in which goroutines meet. The others' tests hold nothing that the race detector could
// find, or ask the server for what is tested below.
var concurrent = []string{
	"./cmd/...", "./internal/admission/...", "./internal/auth/...", "./internal/changes/...", "./internal/config/...", "./internal/couchapi/...",
	"./internal/index/...", "./internal/jobs", "./internal/keyspace", "./internal/kv/...", "./internal/outgoing/...", "./internal/peruser/...", "./internal/replicate/...",
	"./internal/script", "./internal/selector", "./internal/server/...", "./internal/snapshot/...", "./internal/store/...", "./internal/subscribe/...", "./internal/web",
}

func steps() []step {
	return []step{
		{"format", format},
		{"vet", tool("go", "vet", "./...")},
		{"staticcheck", tool("go", "tool", "staticcheck", "./...")},
		{"packages and recorded scenarios", goTests(packages...)},
		{"concurrent packages under the race detector", raceTests(append([]string{"-short"}, concurrent...))},
		{"the built server, and the benchmark", goTests("-p", "1", "./test/system", "./bench/...")},
		{"clients in Node", node},
		{"the commands of the documentation", goTests("./test/docs")},
		{"fuzzing, a second each", fuzz("1s")},
	}
}

// longSteps run for an hour or two.
func longSteps() []step {
	return []step{
		{"everything under the race detector", raceTests(packages)},
		{"all random histories and requests under the race detector", long(raceTests([]string{"-run=Suite$|Alike$|^TestAgainstModel$|IsBruteForce$", "./internal/index/...", "./internal/query"}))},
		{"all cities", longTests("-run=^TestCities$", "./internal/index/geo")},
		{"fuzzing, half a minute each", fuzz("30s")},
	}
}

// longTests runs tests over all of their data, of which they otherwise take a part.
func longTests(arguments ...string) func(context.Context, *tally) error {
	return long(goTests(arguments...))
}

// long is a step whose tests take all of their data and play all of their rounds.
func long(run func(context.Context, *tally) error) func(context.Context, *tally) error {
	return func(ctx context.Context, t *tally) error {
		if err := os.Setenv("SECTIONAL_LONG", "1"); err != nil {
			return err
		}
		return errors.Join(run(ctx, t), os.Unsetenv("SECTIONAL_LONG"))
	}
}

// raceTests runs tests under the race detector, which makes everything some five times slower: random histories and
// injected faults are fewer there with -short among the arguments.
func raceTests(arguments []string) func(context.Context, *tally) error {
	return func(ctx context.Context, t *tally) error {
		if !hasCompiler() {
			fmt.Println("left out: the race detector needs a C compiler")
			return nil
		}
		return goTests(append([]string{"-race"}, arguments...)...)(ctx, t)
	}
}

// hasCompiler reports whether this machine can build with cgo, as the race
// detector has to be.
func hasCompiler() bool {
	out, err := exec.Command("go", "env", "CGO_ENABLED").Output()
	return err == nil && strings.TrimSpace(string(out)) == "1"
}

// tool is a step that passes when the command does.
func tool(name string, arguments ...string) func(context.Context, *tally) error {
	return func(ctx context.Context, t *tally) error {
		err := command(ctx, os.Stdout, name, arguments...).Run()
		t.add(name+" "+strings.Join(arguments, " "), err == nil)
		return err
	}
}

// command prepares a program whose messages go to this program's own.
func command(ctx context.Context, out io.Writer, name string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	return cmd
}

// format passes when gofmt has nothing to change.
func format(ctx context.Context, t *tally) error {
	var out strings.Builder
	err := command(ctx, &out, "gofmt", "-l", "bench", "cmd", "internal", "test").Run()
	if err == nil && out.Len() > 0 {
		err = fmt.Errorf("not formatted:\n%s", out.String())
	}
	t.add("gofmt", err == nil)
	return err
}

// node installs the clients from the lock file and runs their tests against the built server.
func node(ctx context.Context, t *tally) error {
	dir, err := os.MkdirTemp("", "sectional-node")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // in the temporary directory, where a leftover does no harm
	binary, counts := filepath.Join(dir, "sectional"), filepath.Join(dir, "tests.tap")
	if err := command(ctx, os.Stdout, "go", "build", "-o", binary, "./cmd/sectional").Run(); err != nil {
		return err
	}
	install := command(ctx, os.Stdout, "npm", "ci", "--no-audit", "--no-fund")
	install.Dir = filepath.Join("test", "node")
	if err := install.Run(); err != nil {
		return fmt.Errorf("npm ci: %w", err)
	}
	// One file after the other: some start their server again on the port that it had, which another file's could take.
	tests := command(ctx, os.Stdout, "node", "--test", "--test-concurrency=1",
		"--test-reporter=spec", "--test-reporter-destination=stdout",
		"--test-reporter=tap", "--test-reporter-destination="+counts)
	tests.Dir = install.Dir
	tests.Env = append(os.Environ(), "SECTIONAL_BINARY="+binary)
	failure := tests.Run()
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
