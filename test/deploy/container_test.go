package deploy

import (
	"debug/elf"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// instruction is a line of the container file.
type instruction struct{ name, rest string }

// instructions returns those of the last stage, whose base is nothing, and those before.
func instructions(t *testing.T) (build, final []instruction) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(files, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		if name == "FROM" {
			build, final = append(build, final...), nil
		}
		final = append(final, instruction{name, rest})
	}
	return build, final
}

// only returns the text of the one instruction of a name.
func only(t *testing.T, of []instruction, name string) string {
	t.Helper()
	found := ""
	for _, i := range of {
		if i.name == name && found != "" {
			t.Errorf("two times %s", name)
		}
		if i.name == name {
			found = i.rest
		}
	}
	if found == "" {
		t.Errorf("no %s", name)
	}
	return found
}

// words reads the JSON form of a command.
func words(t *testing.T, text string) (list []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text[strings.Index(text, "["):]), &list); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return list
}

// TestContainer builds the server with the container file's own command, and runs it as the container would: with
// nothing else in its root directory, as a user without a name, with that directory only for reading.
func TestContainer(t *testing.T) {
	build, final := instructions(t)
	if final[0].rest != "scratch" {
		t.Errorf("the base is %s", final[0].rest)
	}
	if owner := only(t, final, "USER"); owner != "65532:65532" {
		t.Errorf("it runs as %s", owner)
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "sectional")
	made := false
	for _, i := range build {
		if command, found := strings.CutSuffix(i.rest, " -o /out/sectional ./cmd/sectional"); i.name == "RUN" && found {
			made = true
			cmd := exec.Command("/bin/sh", "-c", command+" -o "+binary+" ./cmd/sectional")
			cmd.Dir = "../.."
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
	}
	if !made {
		t.Fatal("nothing builds the server")
	}
	program, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Error("the server needs libraries, and there are none")
	}
	// Beside the program the image has certificates, a quarter of a megabyte at most.
	about, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	if about.Size()+250_000 > 60_000_000 {
		t.Errorf("the image has more than 60 MB: the program alone has %d bytes", about.Size())
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can run it in a directory of its own")
	}
	runAlone(t, binary, words(t, only(t, final, "ENTRYPOINT")), words(t, only(t, final, "CMD")), words(t, only(t, final, "HEALTHCHECK")))
}

// runAlone runs the server in an empty root directory, until its health check finds it well.
func runAlone(t *testing.T, binary string, entry, arguments, check []string) {
	t.Helper()
	root := t.TempDir()
	for dir := root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(root, "data"), 65532, 65532); err != nil {
		t.Fatal(err)
	}
	copyFile(t, binary, filepath.Join(root, entry[0]))
	proc := filepath.Join(root, "proc") // every container has it
	if err := os.Mkdir(proc, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("proc", proc, "proc", 0, ""); err != nil {
		t.Skipf("NOT TESTED: /proc can't be mounted here: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(proc, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	address := freeAddress(t)
	for i, a := range arguments {
		arguments[i] = regexp.MustCompile(`^--listen=.*`).ReplaceAllString(a, "--listen="+address)
	}
	alone := func(args []string) *exec.Cmd {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Path, cmd.Dir, cmd.Env = args[0], "/", []string{"COUCHDB_USER=admin", "COUCHDB_PASSWORD=pass"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		return cmd
	}
	var output process.Output
	server := alone(append(entry, arguments...))
	server.Stdout, server.Stderr = &output, &output
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Signal(syscall.SIGTERM) // Wait tells
		if err := server.Wait(); err != nil || t.Failed() {
			t.Errorf("%v\n%s", err, output.String())
		}
	}()
	process.Within(t, time.Minute, "the health check passes", func() bool {
		return alone(append(check, "http://"+address)).Run() == nil
	})
	newClient("http://"+address, "").must(t, 201, "PUT", "/db", "")
	newClient("http://"+address, "").must(t, 201, "PUT", "/db/_design/d", `{"validate_doc_update":"function(doc){if(doc.bad)throw({forbidden:'bad'})}"}`)
	newClient("http://"+address, "").must(t, 201, "PUT", "/db/doc", "{}")
	newClient("http://"+address, "").must(t, 403, "PUT", "/db/other", `{"bad":true}`)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	source, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(target, source)
	}
	if err == nil {
		err = target.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestContextOfContainer: what the container file copies is not left out of its context, and little else is in it.
func TestContextOfContainer(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(files, "Dockerfile.dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(text))
	for _, needed := range []string{"!go.mod", "!go.sum", "!cmd", "!internal", "!docs"} {
		if lines[0] != "**" || !slices.Contains(lines, needed) {
			t.Errorf("%v lacks %s", lines, needed)
		}
	}
	list := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{end}}{{end}}", "./cmd/sectional")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		if rest := strings.TrimPrefix(path, "github.com/sectional/sectional/"); !strings.HasPrefix(rest, "cmd/") && !strings.HasPrefix(rest, "internal/") && rest != "docs" {
			t.Errorf("the server needs %s, which is not in the context", rest)
		}
	}
}
