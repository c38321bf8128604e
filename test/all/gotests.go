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
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sectional/sectional/internal/testrun"
)

// event is a line of `go test -json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// goTests is a step that runs Go tests with the given arguments and counts them one by one. They are not vetted: a step
// of its own has done that.
func goTests(arguments ...string) func(context.Context, *tally) error {
	return goTestsIn(".", arguments...)
}

// goTestsIn is goTests in another directory, that of a module of its own.
func goTestsIn(dir string, arguments ...string) func(context.Context, *tally) error {
	return func(ctx context.Context, t *tally) error {
		var said strings.Builder
		cmd := t.command(ctx, "go", append([]string{"test", "-json", "-count=1", "-vet=off", "-timeout=25m"}, arguments...)...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, nil, &said
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		counted := count(out, t.out, t)
		err = t.wait(cmd)
		_, shown := io.WriteString(t.out, said.String())
		return errors.Join(counted, err, shown)
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
		if slices.ContainsFunc(c.output[name], func(said string) bool { return strings.Contains(said, testrun.Elsewhere) }) {
			return // another step runs it, and counts it
		}
		c.tally.skipped++
		fmt.Fprintf(c.out, "skipped: %s\n%s", name, strings.Join(c.output[name], ""))
	case "fail":
		said := strings.Join(c.output[name], "")
		c.tally.fail(name, said)
		c.failed[e.Package]++
		fmt.Fprintf(c.out, "FAILED: %s\n%s", name, said)
	}
}

// packageEnd prints the package's own line. A package that failed without a failed test did not build, panicked or
// ran out of time, which counts as a failure of its own; then all its output is shown.
func (c *counting) packageEnd(e event, name string) {
	if e.Action == "fail" && c.failed[e.Package] == 0 {
		failure, all := e.Package, ""
		for running, text := range c.output {
			if strings.HasPrefix(running, e.Package+" ") {
				said := strings.Join(text, "")
				failure += outstanding(said)
				all += said
			}
		}
		fmt.Fprint(c.out, all)
		c.tally.fail(failure, all)
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

// fuzz is a step that has each fuzz test of the repository look for new inputs, beyond those that are kept, for about so
// long, on one processor each.
func fuzz(each time.Duration) func(context.Context, *tally) error {
	return func(ctx context.Context, t *tally) error {
		list, err := t.output(ctx, "grep", "-rE", "--include=*_test.go", "--exclude-dir=node_modules", `^func Fuzz`, ".")
		if err != nil {
			return fmt.Errorf("looking for fuzz tests: %w", err)
		}
		f := fuzzing{each: each, binary: map[string]string{}}
		dir, err := os.MkdirTemp("", "sectional-fuzz")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir) // in the temporary directory, where a leftover does no harm
		if f.cache, err = fuzzCache(ctx, t); err != nil {
			return err
		}
		written := fuzzTests(list)
		for i, directories := range unlike(slices.Sorted(maps.Keys(written))) {
			if err := f.build(ctx, t, filepath.Join(dir, strconv.Itoa(i)), directories); err != nil {
				return err
			}
		}
		return f.runAll(ctx, t, written)
	}
}

// fuzzing is one run of the fuzz tests.
type fuzzing struct {
	each   time.Duration
	cache  string            // where inputs are kept that were interesting
	binary map[string]string // of the package of each directory
}

// ours are the packages whose branches guide the search. Instrumenting the libraries beneath them too, as `go test
// -fuzz` does, would compile everything once more.
const ours = "github.com/sectional/sectional/..."

// build makes the test binaries of packages whose last names differ.
func (f *fuzzing) build(ctx context.Context, t *tally, into string, directories []string) error {
	for _, d := range directories {
		f.binary[d] = filepath.Join(into, filepath.Base(d)+".test")
	}
	arguments := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-gcflags=" + ours + "=-d=libfuzzer", "-o", into + "/"}
	return t.run(t.command(ctx, "go", append(arguments, directories...)...))
}

// unlike puts directories into groups in which no two end in the same name, as their test binaries would.
func unlike(directories []string) (groups [][]string) {
	seen := map[string]int{}
	for _, d := range directories {
		n := seen[filepath.Base(d)]
		seen[filepath.Base(d)]++
		if n == len(groups) {
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], d)
	}
	return groups
}

// fuzzCache returns the directory in which Go keeps inputs that were interesting.
func fuzzCache(ctx context.Context, t *tally) (string, error) {
	cache, err := t.output(ctx, "go", "env", "GOCACHE")
	return filepath.Join(strings.TrimSpace(cache), "fuzz"), err
}

// runAll runs the fuzz tests of each package, one on each processor.
func (f *fuzzing) runAll(ctx context.Context, t *tally, written map[string][]string) error {
	var parts []func(*tally) error
	for _, directory := range slices.Sorted(maps.Keys(written)) {
		for _, name := range written[directory] {
			parts = append(parts, func(own *tally) error {
				said, err := f.run(ctx, own, name, directory)
				if err != nil {
					own.fail(directory+" "+name, said)
					return err
				}
				own.add(directory+" "+name, true)
				return nil
			})
		}
	}
	return t.sideBySide(runtime.NumCPU(), parts)
}

// firstInputs is how many inputs a fuzz test is given at first.
const firstInputs = 500

// run runs one fuzz test, again and again, with more inputs, until a run has taken most of its time. It is given a number
// of inputs and not a time: Go takes the end of a time for a failure now and then, before version 1.27
// (https://go.dev/issue/75804).
func (f *fuzzing) run(ctx context.Context, t *tally, name, directory string) (said string, err error) {
	for inputs, all := firstInputs, 0; inputs > 0; {
		began := time.Now()
		if said, err = f.try(ctx, t, name, directory, inputs); err != nil {
			fmt.Fprintf(t.out, "%s %s\n%s", directory, name, said)
			return said, fmt.Errorf("%s of %s: %w", name, directory, err)
		}
		all += inputs
		if inputs = more(inputs, time.Since(began), f.each); inputs == 0 {
			fmt.Fprintf(t.out, "%s %s: %d inputs\n", directory, name, all)
		}
	}
	return said, nil
}

// try runs a fuzz test with a number of inputs.
func (f *fuzzing) try(ctx context.Context, t *tally, name, directory string, inputs int) (string, error) {
	cmd := t.command(ctx, f.binary[directory],
		"-test.run=^$", "-test.fuzz=^"+name+"$", "-test.fuzztime="+strconv.Itoa(inputs)+"x", "-test.fuzzminimizetime="+fuzzMinimize,
		"-test.parallel=1", "-test.fuzzcachedir="+filepath.Join(f.cache, path.Dir(ours), directory))
	var said strings.Builder
	cmd.Dir, cmd.Stdout, cmd.Stderr = directory, &said, &said
	err := t.run(cmd)
	if err == nil && !strings.Contains(said.String(), "fuzz: elapsed") {
		err = errors.New("it did not run") // it is not built, and the binary passes
	}
	return said.String(), err
}

// more returns how many inputs come after a run that took some of its time; 0: it took most of it.
func more(inputs int, took, each time.Duration) int {
	if took > each/2 {
		return 0
	}
	return inputs * int(min(each/max(took, 1), 10))
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
