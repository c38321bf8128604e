package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// event is a line of `go test -json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// goTests is a step that runs Go tests with the given arguments and counts them one by one.
func goTests(arguments ...string) func(context.Context, *tally) error {
	return func(ctx context.Context, t *tally) error {
		cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-count=1", "-timeout=25m"}, arguments...)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		counted := count(out, os.Stdout, t)
		return errors.Join(counted, cmd.Wait())
	}
}

// count reads the events of a run, adds up its tests and prints what failed, with a line for each package.
func count(events io.Reader, out io.Writer, t *tally) error {
	c := counting{out: out, tally: t, output: map[string][]string{}, failed: map[string]int{}}
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			// What is no event was printed past the test framework; it is worth seeing.
			fmt.Fprintln(out, lines.Text())
			continue
		}
		c.take(e)
	}
	return lines.Err()
}

// counting holds what the events have said so far.
type counting struct {
	out    io.Writer
	tally  *tally
	output map[string][]string // what each running test has printed
	failed map[string]int      // failed tests of each package
}

func (c *counting) take(e event) {
	name := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		c.output[name] = append(c.output[name], e.Output)
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	if e.Test == "" {
		c.packageEnd(e, name)
	} else {
		c.testEnd(e, name)
	}
	delete(c.output, name)
}

func (c *counting) testEnd(e event, name string) {
	switch e.Action {
	case "pass":
		c.tally.passed++
	case "skip":
		if strings.HasPrefix(e.Test, "Fuzz") {
			return // an input that the fuzz test has no use for
		}
		c.tally.skipped++
		fmt.Fprintf(c.out, "skipped: %s\n%s", name, strings.Join(c.output[name], ""))
	case "fail":
		c.tally.add(name, false)
		c.failed[e.Package]++
		fmt.Fprintf(c.out, "FAILED: %s\n%s", name, strings.Join(c.output[name], ""))
	}
}

// packageEnd prints the package's own line. A package that failed without a failed test did not build, panicked or
// ran out of time, which counts as a failure of its own; then all its output is shown.
func (c *counting) packageEnd(e event, name string) {
	if e.Action == "fail" && c.failed[e.Package] == 0 {
		failure := e.Package
		for running, text := range c.output {
			if strings.HasPrefix(running, e.Package+" ") {
				said := strings.Join(text, "")
				failure += outstanding(said)
				fmt.Fprint(c.out, said)
			}
		}
		c.tally.add(failure, false)
		return
	}
	if lines := c.output[name]; len(lines) > 0 {
		fmt.Fprint(c.out, lines[len(lines)-1])
	}
}

// outstanding returns what a package that ran out of time says about the tests that were running; "" for any other text.
func outstanding(said string) (tests string) {
	_, running, _ := strings.Cut(said, "running tests:\n")
	for line := range strings.Lines(running) {
		if !strings.HasPrefix(line, "\t") {
			break
		}
		tests += ", in " + strings.TrimSpace(line)
	}
	return tests
}

// fuzzMinimize is how often an input that is new is tried in shorter forms. By default that goes on for a minute, in
// which nothing else is tried: a fuzz test with large inputs would do nothing else.
const fuzzMinimize = "100x"

// fuzz is a step that has each fuzz test of the repository look for new inputs, beyond those that are kept, for so long.
func fuzz(each string) func(context.Context, *tally) error {
	return func(ctx context.Context, t *tally) error {
		var list strings.Builder
		if err := command(ctx, &list, "grep", "-rE", "--include=*_test.go", "--exclude-dir=node_modules", `^func Fuzz`, ".").Run(); err != nil {
			return fmt.Errorf("looking for fuzz tests: %w", err)
		}
		written := fuzzTests(list.String())
		var failures error
		for _, directory := range slices.Sorted(maps.Keys(written)) {
			for _, name := range written[directory] {
				err := runFuzz(ctx, name, directory, each)
				t.add(directory+" "+name, err == nil)
				failures = errors.Join(failures, err)
			}
		}
		return failures
	}
}

// runFuzz runs one fuzz test, again if it fails by the end of its time alone.
func runFuzz(ctx context.Context, name, directory, each string) error {
	for attempt := 1; ; attempt++ {
		var said strings.Builder
		err := command(ctx, io.MultiWriter(os.Stdout, &said),
			"go", "test", "-run=^$", "-fuzz=^"+name+"$", "-fuzztime="+each, "-fuzzminimizetime="+fuzzMinimize, directory).Run()
		switch {
		case err == nil && !strings.Contains(said.String(), "fuzz: elapsed"):
			return fmt.Errorf("%s of %s did not run", name, directory) // it is not built, and go test passes
		case err == nil || attempt == 3 || !outOfTime(said.String()):
			return err
		}
	}
}

// outOfTime reports whether a run failed by the end of its time alone. Go takes that for a failure now and then, before
// version 1.27 (https://go.dev/issue/75804); an input that fails is named.
func outOfTime(said string) bool {
	_, failure, _ := strings.Cut(said, "--- FAIL: ")
	lines := strings.SplitN(failure, "\n", 3)
	return len(lines) > 2 && strings.TrimSpace(lines[1]) == "context deadline exceeded" && !strings.Contains(failure, "Failing input")
}

// fuzzTests returns the names of the fuzz tests of each package, of lines as grep prints them.
func fuzzTests(found string) map[string][]string {
	written := map[string][]string{}
	for line := range strings.Lines(found) {
		file, code, _ := strings.Cut(line, ":")
		name, _, _ := strings.Cut(strings.TrimPrefix(code, "func "), "(")
		directory := "./" + filepath.Dir(file)
		written[directory] = append(written[directory], name)
	}
	return written
}
