package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// released runs the tests of what a release is made of, a module of their own, with rpm, which is installed where it is
// missing and this process may.
func released(ctx context.Context, _ string, t *tally) error {
	if !hasProgram("rpm") && os.Geteuid() == 0 && hasProgram("apt-get") {
		if err := aptInstall(ctx, t, "rpm"); err != nil {
			fmt.Fprintln(t.out, err) // the tests say what is not tested
		}
	}
	return goTestsIn(filepath.Join("test", "packages"), "./...")(ctx, t)
}

// deployed runs the tests of the directory deploy, a module of their own, with HAProxy, which is installed where it is
// missing and this process may.
func deployed(ctx context.Context, _ string, t *tally) error {
	if !hasProgram("haproxy") && os.Geteuid() == 0 && hasProgram("apt-get") {
		if err := aptInstall(ctx, t, "haproxy"); err != nil {
			fmt.Fprintln(t.out, err) // the tests say what is not tested
		}
	}
	return goTestsIn(filepath.Join("test", "deploy"), "./...")(ctx, t)
}

// vulnerabilities is a step that looks for known faults of what the program is made of, where their list can be reached.
func vulnerabilities(ctx context.Context, t *tally) error {
	const list = "https://vuln.go.dev"
	from := cmp.Or(os.Getenv("GOVULNDB"), list)
	if err := reachable(ctx, from); err != nil {
		t.skipped++
		fmt.Fprintf(t.out, "skipped: NOT LOOKED FOR: known faults of dependencies, because their list %s can't be reached: %v\n", from, err)
		return nil
	}
	err := t.run(t.command(ctx, "go", "tool", "-modfile="+filepath.Join("test", "packages", "go.mod"), "govulncheck", "./..."))
	t.add("govulncheck", err == nil)
	return err
}

// reachable reports why a list of faults can't be read; one in a directory is always there.
func reachable(ctx context.Context, list string) error {
	if strings.HasPrefix(list, "file://") {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, list+"/index/db.json", http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", answer.Status)
	}
	return nil
}
