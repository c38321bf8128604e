package docs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/pgtest"
	"github.com/sectional/sectional/internal/testkit/process"
)

// blockTimeout is how long a block may take.
const blockTimeout = 2 * time.Minute

// password is what the administrator of a page's server has, unless the server makes one up.
const password = "rather-long-password"

// curlScript is the curl of the pages: it is silent but for errors, fails when it is answered with one, and leaves word
// of that, so that it counts in a pipe too.
const curlScript = `#!/bin/sh
%q --silent --show-error --fail-with-body --max-time 60 "$@"
code=$?
[ $code = 0 ] || echo "curl $* ended with $code" >>"$DOCS_STATE/failed"
exit $code
`

// sectionalScript is the server of the pages: "serve" goes to the background when it answers and the demo is there.
const sectionalScript = `#!/bin/sh
[ "$1" = serve ] || exec %[1]q "$@"
[ "$2" != --help ] || exec %[1]q "$@"
address= demo= before=
for a in "$@"; do
	[ "$before" != --listen ] || address=$a
	case $a in
	--listen=*) address=${a#--listen=} ;;
	--demo) demo=3 ;;
	esac
	before=$a
done
[ -n "$address" ] || { address=$DOCS_ADDRESS; set -- "$@" --listen "$address"; }
[ -z "$demo" ] || set -- "$@" --demo-size 60
stop "$address"
log=$DOCS_STATE/$address.log
%[1]q "$@" >"$log" 2>&1 &
pid=$!
echo $pid >"$DOCS_STATE/$address.pid"
while ! [ "$(%[2]q -s -o "$DOCS_STATE/up" -w '%%{http_code}' "http://$address/_up")" = 200 ] || [ "$(grep -c 'curl -u' "$log")" -lt ${demo:-0} ]; do
	kill -0 $pid 2>"$DOCS_STATE/gone" || { wait $pid; code=$?; cat "$log"; exit $code; }
	sleep 0.05
done
cat "$log"
`

// stopScript ends a server as Ctrl-C does, that of port 5984 if no address is given, and waits until it is gone.
const stopScript = `#!/bin/sh
file=$DOCS_STATE/${1:-$DOCS_ADDRESS}.pid
[ -e "$file" ] || exit 0
pid=$(cat "$file")
rm "$file"
kill -INT $pid 2>"$DOCS_STATE/gone" || exit 0
while kill -0 $pid 2>"$DOCS_STATE/gone"; do sleep 0.02; done
`

// reader is somebody who follows a page.
type reader struct {
	t        *testing.T
	page     page
	with     shared
	work     string            // where the commands run
	state    string            // what the scripts leave for each other
	address  map[string]string // of 127.0.0.1:5984 and so on, where they are really
	password string
	postgres string // where postgresURL is really
	env      []string
	problems []string // what is not as the page says
	omitted  []string // what is not executed here, and why
}

// newReader prepares a directory, the commands, and the server that the page wants.
func newReader(t *testing.T, p page, with shared) *reader {
	t.Helper()
	r := &reader{t: t, page: p, with: with, work: t.TempDir(), state: t.TempDir(), address: map[string]string{}}
	bin := t.TempDir()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"curl":      fmt.Sprintf(curlScript, curl),
		"sectional": fmt.Sprintf(sectionalScript, process.Binary(), curl),
		"stop":      stopScript,
	} {
		if err := writeProgram(filepath.Join(bin, name), script); err != nil {
			t.Fatal(err)
		}
	}
	path := strings.Join([]string{bin, filepath.Join(r.work, "node_modules", ".bin"), os.Getenv("PATH")}, string(os.PathListSeparator))
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "COUCHDB_") && !strings.HasPrefix(v, "SECTIONAL_") && !strings.HasPrefix(v, "PATH=") {
			r.env = append(r.env, v)
		}
	}
	r.env = append(r.env, "PATH="+path, "DOCS_STATE="+r.state, "DOCS_ADDRESS="+r.localAddress("127.0.0.1:5984"))
	t.Cleanup(r.end)
	if p.usesNode() {
		modules, err := with.modules()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(modules, filepath.Join(r.work, "node_modules")); err != nil {
			t.Fatal(err)
		}
	}
	if p.executes() {
		r.begin()
	}
	return r
}

// writeProgram writes a file that is executed. Another goroutine that starts a process meanwhile would
// hand it the file, open for writing, and as long as somebody has it so it is too busy to be executed.
func writeProgram(path, text string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, []byte(text), 0o755)
}

// begin starts the server that the page takes as given.
func (r *reader) begin() {
	r.t.Helper()
	switch r.page.needs {
	case "shell":
		return
	case "postgres":
		r.startPostgres()
		return
	case "demo":
		data, err := r.with.demo()
		if err != nil {
			r.t.Fatal(err)
		}
		if out, err := exec.Command("cp", "-r", data, filepath.Join(r.work, "data")).CombinedOutput(); err != nil {
			r.t.Fatalf("%v %s", err, out)
		}
	case "server":
	default:
		r.t.Fatalf("%s begins with no <!-- test: server -->, or demo, or shell; see the package's comment", r.page.name)
	}
	r.password = password
	r.env = append(r.env, "COUCHDB_USER=admin", "COUCHDB_PASSWORD="+password)
	if out, err := r.shell("sectional serve"); err != nil {
		r.t.Fatalf("%v\n%s", err, out)
	}
}

// postgresURL is the PostgreSQL server of the pages.
const postgresURL = "postgres://sectional:SECRET@db.example/sectional"

// startPostgres starts the PostgreSQL server that the page takes as given, with an empty
// database. Where none is installed the page is passed over.
func (r *reader) startPostgres() {
	r.t.Helper()
	pgtest.Need(r.t)
	cluster, err := pgtest.Start(pgtest.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			r.t.Error(err)
		}
	})
	r.postgres, r.password = cluster.URL(), password
	r.env = append(r.env, "SECTIONAL_TEST_FSYNC_OFF=1")
}

// end ends all servers of the page.
func (r *reader) end() {
	files, err := filepath.Glob(filepath.Join(r.state, "*.pid"))
	if err != nil {
		r.t.Error(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			r.t.Error(err)
			continue
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			// One that has ended already is no error: the page may have wanted it to.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if log, err := os.ReadFile(strings.TrimSuffix(file, ".pid") + ".log"); err == nil && r.t.Failed() {
			r.t.Logf("the server printed:\n%s", log)
		}
	}
}

// local finds addresses of this machine in pages, and ports in configurations.
var local = regexp.MustCompile(`(?:127\.0\.0\.1|localhost):(59\d\d|6984|8000)|(?m:^(port = )(59\d\d|6984|8000)$)`)

// localAddress returns the address that stands for one of a page, which is a free one.
func (r *reader) localAddress(address string) string {
	if r.address[address] == "" {
		free, err := process.FreeAddress()
		if err != nil {
			r.t.Fatal(err)
		}
		r.address[address] = free
	}
	return r.address[address]
}

// here replaces what is otherwise on this machine: ports and the password.
func (r *reader) here(text string) string {
	text = local.ReplaceAllStringFunc(text, func(found string) string {
		if port, ok := strings.CutPrefix(found, "port = "); ok {
			_, free, _ := strings.Cut(r.localAddress("127.0.0.1:"+port), ":")
			return "port = " + free
		}
		_, port, _ := strings.Cut(found, ":")
		return r.localAddress("127.0.0.1:" + port)
	})
	r.findPassword()
	if r.postgres != "" {
		text = strings.ReplaceAll(text, postgresURL, r.postgres)
	}
	return regexp.MustCompile(`\bPASSWORD\b`).ReplaceAllLiteralString(text, r.password)
}

// findPassword looks for one that a server has made up.
func (r *reader) findPassword() {
	if r.password != "" {
		return
	}
	log, err := os.ReadFile(filepath.Join(r.state, r.localAddress("127.0.0.1:5984")+".log"))
	if err != nil {
		return // no server was started so far
	}
	if m := regexp.MustCompile(`(?mi)password:?\s+(\S+)\s*$`).FindSubmatch(log); m != nil {
		r.password = string(m[1])
	}
}

// shell runs commands as the reader's shell does, with the variables of those before, and returns what they print.
func (r *reader) shell(text string) (string, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), blockTimeout)
	defer cancel()
	variables := filepath.Join(r.state, "variables")
	script := fmt.Sprintf("[ ! -e %[1]q ] || . %[1]q\nset -ea\n%[2]s\nset +ea\nexport -p >%[1]q\n", variables, text)
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir, cmd.Env = r.work, r.env
	// What hangs ends with all that it has started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out, errors process.Output
	cmd.Stdout, cmd.Stderr = &out, &errors
	// Servers in the background hold these files no longer than they need to redirect their own: not for long, and on a
	// busy machine not by the clock.
	cmd.WaitDelay = blockTimeout
	err := cmd.Run()
	if said := errors.String(); said != "" {
		r.t.Logf("%s", said)
	}
	return out.String(), err
}

// follow executes the page's blocks in their order, and reports what is not as the page says.
func (r *reader) follow() []string {
	for _, b := range r.page.steps {
		if b.file != "" {
			r.write(b)
			continue
		}
		switch b.language {
		case "sh":
			r.execute(b)
		case "run":
			if out, err := r.shell(r.here(b.text)); err != nil {
				r.problem(b, "%v\n%s", err, out)
			}
		default:
			if err := r.check(b); err != nil {
				r.problem(b, "%v\n%s", err, b.text)
			}
		}
	}
	return r.problems
}

// problem notes that a block is not as it should be.
func (r *reader) problem(b block, format string, arguments ...any) {
	r.problems = append(r.problems, fmt.Sprintf("%s:%d: ", r.page.name, b.line)+fmt.Sprintf(format, arguments...))
}

// write saves a file that the page shows.
func (r *reader) write(b block) {
	path := filepath.Join(r.work, b.file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(r.here(b.text)), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// execute runs a block of commands and looks at what came of it.
func (r *reader) execute(b block) {
	if strings.HasPrefix(b.option, "skip ") {
		return
	}
	if test, ok := strings.CutPrefix(b.option, "where "); ok {
		if out, err := r.shell(test); err != nil {
			r.omitted = append(r.omitted, fmt.Sprintf("%s:%d: %s: %v\n%s", r.page.name, b.line, test, err, out))
			return
		}
		b.option = ""
	}
	failed := filepath.Join(r.state, "failed")
	if err := os.RemoveAll(failed); err != nil {
		r.t.Fatal(err)
	}
	text := r.here(strings.ReplaceAll(b.text, "go run ./cmd/sectional ", "sectional "))
	out, err := r.shell(text)
	if word, missing := os.ReadFile(failed); err == nil && missing == nil {
		err = errors.New(strings.TrimSpace(string(word)))
	}
	if err == nil && strings.Contains(text, "serve --demo") {
		r.try(b, out)
	}
	switch {
	case b.option != "" && b.option != "fails":
		r.problem(b, "the test knows no %q", b.option)
	case (err != nil) != (b.option == "fails"):
		r.problem(b, "%s%v\n%s", text, err, out)
	case b.shown && !matches(r.here(b.output), out):
		r.problem(b, "%sprints\n%s\nnot\n%s", text, out, r.here(b.output))
	case !b.shown && showsNothing.MatchString(out):
		r.problem(b, "%sshows nothing: %s", text, out)
	}
}

// try sends the requests that the server suggests. One of them asks for a ranking, which comes a few seconds after the
// documents.
func (r *reader) try(b block, suggested string) {
	for line := range strings.Lines(suggested) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "curl ") {
			continue
		}
		out, err := r.shell(line)
		for end := time.Now().Add(blockTimeout); err == nil && showsNothing.MatchString(out) && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			out, err = r.shell(line)
		}
		if err != nil || showsNothing.MatchString(out) {
			r.problem(b, "%s: %v\n%s", line, err, out)
		}
	}
}

// showsNothing finds answers of which a reader learns nothing.
var showsNothing = regexp.MustCompile(`"(rows|docs|results)":\s*\[\s*\]`)

// check looks at a block that is shown and not executed.
func (r *reader) check(b block) error {
	switch b.language {
	case "json":
		if _, ok := values(strict(b.text)); !ok {
			return errors.New("not JSON")
		}
	case "js":
		name := filepath.Join(r.state, fmt.Sprintf("line%d.mjs", b.line))
		if err := os.WriteFile(name, []byte(b.text), 0o644); err != nil {
			return err
		}
		if out, err := exec.Command("node", "--check", name).CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
	case "ini":
		return r.configure(b)
	}
	return nil
}

// configure starts a server with the settings that a page shows.
func (r *reader) configure(b block) error {
	dir := r.t.TempDir()
	file := filepath.Join(dir, "local.ini")
	if err := os.WriteFile(file, []byte(r.here(b.text)), 0o600); err != nil {
		return err
	}
	s, err := process.Launch(r.t.Context(), process.Options{Binary: process.Binary(), Dir: filepath.Join(dir, "data"), Args: []string{"--config", file}})
	if err != nil {
		return err
	}
	if err := s.Stop(); err != nil {
		return err
	}
	if said := s.Output(); regexp.MustCompile(`(?i)\bwarn|\bunknown\b`).MatchString(said) {
		return fmt.Errorf("the server warns:\n%s", said)
	}
	return nil
}
