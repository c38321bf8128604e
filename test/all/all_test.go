package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	if diff := cmp.Diff([]string{"p TestB", "q", "r, in TestE (38s)"}, got.names); diff != "" {
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

func TestFuzzTests(t *testing.T) {
	got := fuzzTests("./a/x_test.go:func FuzzOne(f *testing.F) {\n./a/y_test.go:func FuzzTwo(f *testing.F) {\n./b/c/z_test.go:func FuzzOne(f *testing.F) {\n")
	want := map[string][]string{"./a": {"FuzzOne", "FuzzTwo"}, "./b/c": {"FuzzOne"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOutOfTime(t *testing.T) {
	const elapsed = "fuzz: elapsed: 4s, execs: 93606 (30696/sec), new interesting: 8 (total: 129)\n"
	for said, want := range map[string]bool{
		elapsed + "PASS\nok \tp\t4.1s\n": false,
		elapsed + "--- FAIL: FuzzX (4.13s)\n    context deadline exceeded\nFAIL\nexit status 1\n":                                                                  true,
		elapsed + "--- FAIL: FuzzX (0.05s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:5: wrong\n\n    Failing input written to testdata/fuzz/FuzzX/1\nFAIL\n": false,
		elapsed + "--- FAIL: FuzzX (4.13s)\n    context deadline exceeded\n    Failing input written to testdata/fuzz/FuzzX/1\nFAIL\n":                             false,
	} {
		if got := outOfTime(said); got != want {
			t.Errorf("%v for %q", got, said)
		}
	}
}

// TestLongTests: the tests of such a step are told to take all of their data, those of
// others are not.
func TestLongTests(t *testing.T) {
	t.Setenv("SECTIONAL_LONG", "")
	var got tally
	if err := longTests("-run=^TestIsLong$", "./testdata/long")(t.Context(), &got); err != nil || got.passed != 1 || got.failed != 0 {
		t.Errorf("%v: %s", err, got)
	}
	if v, set := os.LookupEnv("SECTIONAL_LONG"); set {
		t.Errorf("%q is left", v)
	}
}
