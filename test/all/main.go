// Command all runs every check and test of the repository and ends with one line of counts. It owns the order of the
// steps and the counting; it knows nothing of what is tested. Each step runs even if one before it failed, so that
// one run shows everything. With --long it runs what takes too long for every change instead: everything under the
// race detector, tests over all of their data, the program for each system, and a minute of each fuzz test. Begin
// reading at main.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
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

func main() {
	everything := flag.Bool("long", false, "run what takes too long for every change")
	only := flag.String("only", "", "run the steps alone whose names hold this text")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	total := tally{out: os.Stdout}
	lanes := [][]step{working(), waiting()}
	if *everything {
		lanes = [][]step{longSteps()}
	}
	wanted := func(all []step) (some []step) {
		for _, s := range all {
			if strings.Contains(s.name, *only) {
				some = append(some, s)
			}
		}
		return some
	}
	total.lanes(ctx, []step{{"PostgreSQL", postgres}})
	for i := range lanes {
		lanes[i] = wanted(lanes[i])
	}
	total.lanes(ctx, lanes...)
	total.end()
	if total.failed > 0 || total.passed == 0 {
		os.Exit(1)
	}
}

// packages are those whose tests run in this process's own time; the others start the built server.
var packages = []string{"./cmd/...", "./deploy/release", "./internal/...", "./test/all", "./test/couch", "./test/process"}

// shared are the packages whose state many requests share: engines, the store, queues, caches, the frame of requests. Those
// of others hold little that the race detector could find beyond these; the long run has all of them.
var shared = []string{
	"./internal/auth", "./internal/certificates", "./internal/changes", "./internal/config", "./internal/index", "./internal/jobs", "./internal/kv",
	"./internal/kv/pebblekv", "./internal/kv/pgkv", "./internal/peers", "./internal/replicate/schedule", "./internal/slots",
	"./internal/store", "./internal/subscribe", "./internal/web", "./internal/worktime",
}

// working are the steps that keep the processors busy.
func working() []step {
	return []step{
		{"format", format},
		{"vet", tool("go", "vet", "./...")},
		{"staticcheck", tool("go", "tool", "staticcheck", "./...")},
		{"compiling for other systems", otherSystems},
		{"known faults of dependencies", vulnerabilities},
		{"packages and recorded scenarios", goTests(packages...)},
		{"what goroutines share under the race detector", raceTests(append([]string{"-short"}, shared...))},
		{"fuzzing, a moment each", fuzz(time.Second / 4)},
	}
}

// waiting are the steps that start servers and wait for them, beside the others.
func waiting() []step {
	return []step{
		{"what starts the built server", withServer(startsServer)},
		{"clients and recorded scenarios over three servers", overThree(threeClients)},
		{"a part of the packages over PostgreSQL", overPostgres(goTests("-run=^(TestScripts|TestDocumentLife|TestAttachments|TestDropPartition|TestPurge|TestDropDatabase|TestAtomic|TestTransact.*|TestWatch.*|TestReplicas|TestDecisions|TestChangeLog|TestMany.*|TestCollected.*|TestHistoriesOfSeveral|TestCrashOfSeveral)$", "./internal/store", "./internal/couchapi"))},
		{"the longest keys over PostgreSQL", overPostgres(goTests("-run=^TestLongestKeys$", "./internal/dynamoapi"))},
	}
}

// startsServer runs what starts the built server and often waits for it: the longest part beside the others, which run
// one after the other.
func startsServer(ctx context.Context, dir string, t *tally) error {
	client := func(run func(context.Context, string, *tally) error) func(context.Context, *tally) error {
		return func(ctx context.Context, t *tally) error { return run(ctx, dir, t) }
	}
	var parts []func(*tally) error
	for _, s := range []step{
		{"the built server, and the benchmark", goTests("-p", "1", "./test/system", "./test/servers", "./bench/...")},
		{"clients in Node", client(node)},
		{"clients in Go", client(goClients)},
		{"clients in Python", client(python)},
		{"the dashboard in a browser", client(browser)},
		{"what deploy starts", client(deployed)},
		{"packages of a release", client(released)},
		{"the commands of the documentation", goTests("./test/docs")},
	} {
		parts = append(parts, func(own *tally) error {
			own.step(ctx, s)
			return nil
		})
	}
	return t.sideBySide(2, parts)
}

// ofSeveral are the random tests in which several stores share an engine.
const ofSeveral = "^(TestHistories|TestCrash|TestTranscripts|TestTenantEndpoint)OfSeveral$|^TestSeveralServersComeToTheSame$"

// longSteps run for an hour or two.
func longSteps() []step {
	return []step{
		{"programs for all systems", wholePrograms},
		{"stores, APIs and recorded scenarios over PostgreSQL", overPostgres(goTests("./internal/store", "./internal/couchapi", "./internal/dynamoapi/...", "./test/couch"))},
		{"random histories and crashes of several stores", longTests("-run="+ofSeveral, "./internal/store", "./internal/replicate", "./test/couch")},
		{"those over PostgreSQL", overPostgres(longTests("-run="+ofSeveral, "./internal/store"))},
		{"the dashboard over a slow line", withServer(slowLine)},
		{"three servers, for longer", longTests("./test/servers")},
		{"everything under the race detector", raceTests(packages)},
		{"all random histories and requests under the race detector", long(raceTests([]string{"-run=Suite$|Alike$|^TestAgainstModel$|IsBruteForce$", "./internal/index/...", "./internal/query"}))},
		{"all cities, and each failure of a disk", longTests("-run=^TestCities$|^TestDiskFailures$", "./internal/index/geo", "./internal/store")},
		{"fuzzing, a minute each", fuzz(time.Minute)},
	}
}

// longTests runs tests over all of their data, of which they otherwise take a part.
func longTests(arguments ...string) func(context.Context, *tally) error {
	return long(goTests(arguments...))
}

// long is a step whose tests take all of their data and play all of their rounds.
func long(run func(context.Context, *tally) error) func(context.Context, *tally) error {
	return func(ctx context.Context, t *tally) error {
		t.with("SECTIONAL_LONG=1")
		return run(ctx, t)
	}
}

// raceTests runs tests under the race detector, which makes everything some five times slower: with -short among the
// arguments random histories and injected faults are fewer, and what one caller does alone is left out.
func raceTests(arguments []string) func(context.Context, *tally) error {
	return func(ctx context.Context, t *tally) error {
		if !hasCompiler() {
			fmt.Fprintln(t.out, "left out: the race detector needs a C compiler")
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
		err := t.run(t.command(ctx, name, arguments...))
		t.add(name+" "+strings.Join(arguments, " "), err == nil)
		return err
	}
}

// format passes when gofmt has nothing to change.
func format(ctx context.Context, t *tally) error {
	out, err := t.output(ctx, "gofmt", "-l", "bench", "cmd", "deploy", "embed", "internal", "test")
	if err == nil && out != "" {
		err = fmt.Errorf("not formatted:\n%s", out)
	}
	t.add("gofmt", err == nil)
	return err
}
