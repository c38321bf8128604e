package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// tally is what was counted, and where to say so. It belongs to one goroutine; what runs beside others has one of its own,
// which is merged.
type tally struct {
	out                     io.Writer
	env                     []string // of the programs that are run, "NAME=value", beside this program's own
	passed, failed, skipped int
	failures                []failure
	processors              time.Duration // that the programs took which were run
}

// failure is a check that failed.
type failure struct {
	name  string
	cause string // what it printed; "" where nobody knows
}

// add counts one more check of a name.
func (t *tally) add(name string, passed bool) {
	if passed {
		t.passed++
		return
	}
	t.fail(name, "")
}

// fail counts a check that failed, and keeps what it printed for the end.
func (t *tally) fail(name, cause string) {
	t.failed++
	t.failures = append(t.failures, failure{name, shortened(cause)})
}

// Of a cause that is longer, so much of the beginning and of the end is shown.
const (
	causeBegins = 3000
	causeEnds   = 5000
)

// shortened leaves the middle out of what is too long for the end of the run.
func shortened(cause string) string {
	if len(cause) <= causeBegins+causeEnds {
		return cause
	}
	return cause[:causeBegins] + "\n[…]\n" + cause[len(cause)-causeEnds:]
}

// explain gives failures of a step for which nobody knows a cause the end of what it printed.
func (t *tally) explain(step, said string) {
	if t.failed == 0 || slices.ContainsFunc(t.failures, func(f failure) bool { return f.cause != "" }) {
		return
	}
	if len(t.failures) == 0 {
		t.failures = []failure{{name: step}}
	}
	t.failures[0].cause = said[max(0, len(said)-causeEnds):]
}

// end prints what failed and why, and the closing line, so that whoever reads the end of a long run knows.
func (t *tally) end() {
	for _, f := range t.failures {
		if f.cause != "" {
			fmt.Fprintf(t.out, "== why %s failed\n%s\n", f.name, strings.TrimRight(f.cause, "\n"))
		}
	}
	for _, f := range t.failures {
		fmt.Fprintln(t.out, "failed:", f.name)
	}
	fmt.Fprintln(t.out, t.String())
}

// String is the closing line.
func (t *tally) String() string {
	line := fmt.Sprintf("%d passed, %d failed", t.passed, t.failed)
	if t.skipped > 0 {
		line += fmt.Sprintf(", %d skipped", t.skipped)
	}
	return line
}

// run runs a program and counts what it took of the processors.
func (t *tally) run(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	return t.wait(cmd)
}

// wait is run for a program that was started already.
func (t *tally) wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	t.processors += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return err
}

// command prepares a program whose messages go to where the tally's do.
func (t *tally) command(ctx context.Context, name string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Stdout, cmd.Stderr, cmd.Env = t.out, t.out, t.environment()
	return cmd
}

// output runs a program and returns what it prints.
func (t *tally) output(ctx context.Context, name string, arguments ...string) (string, error) {
	var text strings.Builder
	cmd := t.command(ctx, name, arguments...)
	cmd.Stdout = &text
	err := t.run(cmd)
	return text.String(), err
}

// environment is that of the programs that are run.
func (t *tally) environment() []string { return append(os.Environ(), t.env...) }

// with adds variables to the environment, "NAME=value".
func (t *tally) with(env ...string) { t.env = append(slices.Clip(t.env), env...) }

// step runs a step and says how long it took, and how much of the processors, which other programs on the machine
// change less.
func (t *tally) step(ctx context.Context, s step) {
	fmt.Fprintf(t.out, "== %s\n", s.name)
	start, said := time.Now(), &recorder{next: t.out}
	own := tally{out: said, env: t.env}
	if err := s.run(ctx, &own); err != nil {
		fmt.Fprintf(said, "%s: %v\n", s.name, err)
		if own.failed == 0 {
			own.add(s.name, false)
		}
	}
	own.explain(s.name, said.text.String())
	fmt.Fprintf(t.out, "== %s took %s, %s of processors\n", s.name, time.Since(start).Round(time.Second), own.processors.Round(time.Second))
	t.merge(&own)
}

// recorder passes on what is written, and keeps it. Several may write.
type recorder struct {
	mu   sync.Mutex
	next io.Writer
	text strings.Builder
}

// Write implements io.Writer.
func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text.Write(p)
	return r.next.Write(p)
}

// lanes runs the steps of each lane one after the other, and the lanes beside each other. The steps of the first print as
// they go, those of the others when they end.
func (t *tally) lanes(ctx context.Context, lanes ...[]step) {
	var adding sync.Mutex
	var ended sync.WaitGroup
	shown := &recorder{next: t.out}
	lanes = slices.DeleteFunc(slices.Clone(lanes), func(lane []step) bool { return len(lane) == 0 })
	for i, lane := range lanes {
		ended.Go(func() {
			for _, s := range lane {
				var held strings.Builder
				own := tally{out: &held, env: t.env}
				if i == 0 {
					own.out = shown
				}
				own.step(ctx, s)
				adding.Lock()
				t.merge(&own)
				_, _ = io.WriteString(shown, held.String()) // the program's own output: nobody is left to tell
				adding.Unlock()
			}
		})
	}
	ended.Wait()
}

// sideBySide runs parts, so many of them at once. Each counts and prints for itself, and is added when it has ended.
func (t *tally) sideBySide(atOnce int, parts []func(*tally) error) error {
	var adding sync.Mutex
	var ended sync.WaitGroup
	var failures error
	free := make(chan struct{}, atOnce)
	for _, part := range parts {
		free <- struct{}{}
		ended.Go(func() {
			var out strings.Builder
			own := tally{out: &out, env: t.env}
			err := part(&own)
			adding.Lock()
			defer adding.Unlock()
			t.merge(&own)
			_, shown := io.WriteString(t.out, out.String())
			failures = errors.Join(failures, err, shown)
			<-free
		})
	}
	ended.Wait()
	return failures
}

// merge adds what a part has counted.
func (t *tally) merge(part *tally) {
	t.passed += part.passed
	t.failed += part.failed
	t.skipped += part.skipped
	t.processors += part.processors
	t.failures = append(t.failures, part.failures...)
}
