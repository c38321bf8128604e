package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sectional/sectional/internal/testrun"
)

func TestCount(t *testing.T) {
	events := `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"fine\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"b.go:1: wrong\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestC","Output":"not here\n"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"skip","Package":"p","Test":"FuzzD/seed#1"}
{"Action":"output","Package":"p","Test":"TestF","Output":"x_test.go:1: ` + testrun.Elsewhere + `\n"}
{"Action":"skip","Package":"p","Test":"TestF"}
{"Action":"output","Package":"p","Output":"FAIL p 0.1s\n"}
{"Action":"fail","Package":"p"}
{"Action":"build-output","ImportPath":"q","Output":"q.go:1: syntax error\n"}
{"Action":"output","Package":"q","Output":"FAIL q [build failed]\n"}
{"Action":"fail","Package":"q"}
{"Action":"output","Package":"r","Test":"TestE","Output":"panic: test timed out after 1m0s\n\trunning tests:\n\t\tTestE (38s)\n\ngoroutine 1\n"}
{"Action":"fail","Package":"r"}
`
	var got tally
	var out strings.Builder
	if err := count(strings.NewReader(events), &out, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("1 passed, 3 failed, 1 skipped", got.String()); diff != "" {
		t.Error(diff)
	}
	want := []failure{
		{"p TestB", "b.go:1: wrong\n"},
		{"q", "FAIL q [build failed]\n"},
		{"r, in TestE (38s)", "panic: test timed out after 1m0s\n\trunning tests:\n\t\tTestE (38s)\n\ngoroutine 1\n"},
	}
	if diff := cmp.Diff(want, got.failures, cmp.AllowUnexported(failure{})); diff != "" {
		t.Error(diff)
	}
	for _, part := range []string{"FAILED: p TestB\nb.go:1: wrong\n", "skipped: p TestC\nnot here\n", "FAIL p 0.1s\n", "FAIL q [build failed]\n"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q lacks %q", out.String(), part)
		}
	}
	if strings.Contains(out.String(), "fine") {
		t.Error("the output of a passed test is shown")
	}
}

func TestCountTAP(t *testing.T) {
	var got tally
	if err := countTAP("TAP version 13\n# tests 9\n# suites 0\n# pass 5\n# fail 2\n# cancelled 1\n# skipped 1\n# todo 0\n", &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("5 passed, 3 failed, 1 skipped", got.String()); diff != "" {
		t.Error(diff)
	}
	if err := countTAP("TAP version 13\n", &got); err == nil {
		t.Error("a report without counts is taken")
	}
}

func TestCountUnittest(t *testing.T) {
	for report, want := range map[string]tally{
		"test_a (x.X.test_a) ... ok\nRan 12 tests in 0.1s\n\nOK\n":                                                                 {passed: 12},
		"FAIL: test_a (x.X.test_a)\nERROR: test_b (x.X.test_b)\nRan 5 tests in 0.1s\n\nFAILED (failures=1, errors=1, skipped=1)\n": {passed: 2, failed: 2, skipped: 1, failures: []failure{{name: "test_a (x.X.test_a)"}, {name: "test_b (x.X.test_b)"}}},
		"ERROR: setUpClass (x.X)\nRan 0 tests in 0.1s\n\nFAILED (errors=1)\n":                                                      {failed: 1, failures: []failure{{name: "setUpClass (x.X)"}}},
	} {
		var got tally
		if err := countUnittest(report, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(tally{}, failure{})); diff != "" {
			t.Error(diff)
		}
	}
	if err := countUnittest("No module named x\n", &tally{}); err == nil {
		t.Error("a report without counts is taken")
	}
}

func TestFuzzTests(t *testing.T) {
	got := fuzzTests("./a/x_test.go:func FuzzOne(f *testing.F) {\n./a/y_test.go:func FuzzTwo(f *testing.F) {\n./b/c/z_test.go:func FuzzOne(f *testing.F) {\n")
	want := map[string][]string{"./a": {"FuzzOne", "FuzzTwo"}, "./b/c": {"FuzzOne"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestMore: a fuzz test gets more inputs until it has taken most of its time.
func TestMore(t *testing.T) {
	for _, c := range []struct {
		took time.Duration
		want int
	}{{0, 5000}, {50 * time.Millisecond, 5000}, {200 * time.Millisecond, 2500}, {500 * time.Millisecond, 1000}, {501 * time.Millisecond, 0}, {time.Hour, 0}} {
		if got := more(500, c.took, time.Second); got != c.want {
			t.Errorf("%d after %s, want %d", got, c.took, c.want)
		}
	}
}

// TestEnd: what failed, and why, is told at the end of the run, and the counts after it.
func TestEnd(t *testing.T) {
	var out strings.Builder
	total := tally{out: &out}
	total.lanes(t.Context(), []step{
		{"one", func(_ context.Context, t *tally) error {
			t.passed++
			t.fail("a", "wrong\n")
			return errors.New("exit status 1")
		}},
		{"two", func(_ context.Context, t *tally) error {
			fmt.Fprintln(t.out, "could not run")
			return errors.New("exit status 2")
		}},
		{"three", func(_ context.Context, t *tally) error {
			fmt.Fprintln(t.out, "x is wrong")
			t.failed++ // counted, without a name
			return nil
		}},
	})
	total.end()
	const want = "== why a failed\nwrong\n== why two failed\ncould not run\ntwo: exit status 2\n== why three failed\nx is wrong\nfailed: a\nfailed: two\nfailed: three\n1 passed, 3 failed\n"
	if !strings.HasSuffix(out.String(), want) {
		t.Error(cmp.Diff(want, out.String()))
	}
}

// TestShortened: of a long cause its beginning and its end are told.
func TestShortened(t *testing.T) {
	got := shortened("begins" + strings.Repeat("x", 2*causeBegins+causeEnds) + "ends")
	if !strings.HasPrefix(got, "begins") || !strings.HasSuffix(got, "ends") || len(got) > causeBegins+causeEnds+10 {
		t.Errorf("%d bytes: %.20s", len(got), got)
	}
}

// TestLanes: lanes run beside each other, and the environment of one step is not that of another.
func TestLanes(t *testing.T) {
	var out strings.Builder
	total := tally{out: &out}
	meet := make(chan int)
	one := func(send bool) []step {
		return []step{{"sets", func(_ context.Context, t *tally) error {
			t.with("SET=1")
			if send {
				meet <- 1
			} else {
				<-meet
			}
			t.passed++
			return nil
		}}, {"asks", func(ctx context.Context, t *tally) error {
			said, err := t.output(ctx, "sh", "-c", "echo $SET")
			t.add("unset", said == "\n")
			return err
		}}}
	}
	total.lanes(t.Context(), one(true), one(false))
	if diff := cmp.Diff("4 passed, 0 failed", total.String()); diff != "" {
		t.Error(diff, out.String())
	}
}

// TestLongTests: the tests of such a step are told to take all of their data.
func TestLongTests(t *testing.T) {
	t.Setenv("SECTIONAL_LONG", "") // the run that this test is part of may be long itself
	got := tally{out: io.Discard}
	if err := longTests("-run=^TestIsLong$", "./testdata/long")(t.Context(), &got); err != nil || got.passed != 1 || got.failed != 0 {
		t.Errorf("%v: %s", err, &got)
	}
}

// TestUnlike: packages whose test binaries would have the same name are built apart.
func TestUnlike(t *testing.T) {
	got := unlike([]string{"./a/x", "./a/y", "./b/x", "./c/x"})
	if diff := cmp.Diff([][]string{{"./a/x", "./a/y"}, {"./b/x"}, {"./c/x"}}, got); diff != "" {
		t.Error(diff)
	}
}

// TestSideBySide: parts that run at once, each of which waits for the other, are added up, with what they print.
func TestSideBySide(t *testing.T) {
	var out strings.Builder
	total := tally{out: &out, passed: 1}
	first, second := make(chan int), make(chan int)
	wrong := errors.New("wrong")
	err := total.sideBySide(2, []func(*tally) error{
		func(own *tally) error {
			first <- 1
			<-second
			own.add("a", true)
			_, err := io.WriteString(own.out, "a\n")
			return err
		},
		func(own *tally) error {
			<-first
			second <- 1
			own.add("b", false)
			return wrong
		},
	})
	if !errors.Is(err, wrong) || out.String() != "a\n" {
		t.Error(err, out.String())
	}
	if diff := cmp.Diff("2 passed, 1 failed", total.String()); diff != "" {
		t.Error(diff)
	}
}

// TestCheckTypes: what another system does not have is found.
func TestCheckTypes(t *testing.T) {
	t.Chdir(filepath.Join("testdata", "systems"))
	if err := checkTypes(t.Context(), "linux", "amd64", "."); err != nil {
		t.Error(err)
	}
	err := checkTypes(t.Context(), "windows", "arm64", ".")
	if err == nil || !strings.Contains(err.Error(), "windows/arm64: ") || !strings.Contains(err.Error(), "Stat_t") {
		t.Errorf("for windows: %v", err)
	}
}

// TestWholeProgram: a program that another system can't have fails, with what the compiler says; one that it can have is
// built with the flags of a release, of which .goreleaser.yaml decides.
func TestWholeProgram(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "    flags: [" + strings.Join(releaseFlags[:2], ", ") + "]\n    ldflags: [" + strings.TrimPrefix(releaseFlags[2], "-ldflags=") + "]\n"; !strings.Contains(string(text), want) {
		t.Errorf(".goreleaser.yaml lacks\n%s", want)
	}
	t.Chdir(filepath.Join("testdata", "systems"))
	var out strings.Builder
	own := tally{out: &out}
	path := filepath.Join(t.TempDir(), "program")
	if err := own.wholeProgram(t.Context(), "windows/arm64", path, "."); err == nil || own.failed != 1 || !strings.Contains(out.String(), "Stat_t") {
		t.Errorf("for windows: %v\n%s", err, out.String())
	}
	if err := own.wholeProgram(t.Context(), "linux/"+runtime.GOARCH, path, "."); err != nil || own.passed != 1 || !strings.Contains(out.String(), "linux/"+runtime.GOARCH+": ") {
		t.Errorf("for linux: %v\n%s", err, out.String())
	}
}
