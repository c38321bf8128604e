package packages

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"

	"github.com/sectional/sectional/internal/testkit/process"
)

// made is where goreleaser's hooks put what they make.
const made = "dist-extra/"

// binary is the program as a release has it, built once for all tests.
func binary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(os.TempDir(), fmt.Sprintf("sectional-release-%d", os.Getpid()))
	if _, err := os.Stat(path); err == nil {
		return path
	}
	b := load(t).Builds[0]
	build := exec.CommandContext(t.Context(), "go", append(append([]string{"build"}, b.Flags...), "-ldflags="+strings.Join(b.Ldflags, " "), "-o", path, b.Main)...)
	build.Dir, build.Env = top, append(append(os.Environ(), "GOFLAGS="), b.Env...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() { _ = os.Remove(path) }) // in the temporary directory, where a leftover does no harm
	return path
}

// command runs a command, which has to succeed, and returns what it prints.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// needs skips a test where a program is not there.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("NOT TESTED: there is no %s on this machine", p)
		}
	}
}

// packaged builds the package of a version as goreleaser does of its configuration, and returns its path.
func packaged(t *testing.T, format, version, program string) string {
	t.Helper()
	project := load(t).NFPMs[0]
	extra := filepath.Join(t.TempDir(), "extra") // what the hooks make
	command(t, program, "man", filepath.Join(extra, "man"))
	pages, err := filepath.Glob(filepath.Join(extra, "man", "*"))
	if err != nil || len(pages) < 10 {
		t.Fatalf("%v: %v", pages, err)
	}
	command(t, "gzip", append([]string{"-9n"}, pages...)...)
	if err := os.Mkdir(filepath.Join(extra, "completions"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if err := os.WriteFile(filepath.Join(extra, "completions", shell), []byte(command(t, program, "completion", shell)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	released := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	info := &nfpm.Info{
		Name: project.PackageName, Arch: "amd64", Platform: "linux", Version: version, Section: project.Section, Priority: project.Priority,
		Maintainer: project.Maintainer, Homepage: project.Homepage, Description: project.Description, Vendor: project.Vendor, License: project.License, MTime: released,
		Overridables: nfpm.Overridables{Contents: files.Contents{{Source: program, Destination: project.Bindir + "/sectional", FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: released}}}},
	}
	scripts := project.Scripts
	info.Scripts = nfpm.Scripts{PostInstall: filepath.Join(top, scripts.PostInstall), PreRemove: filepath.Join(top, scripts.PreRemove), PostRemove: filepath.Join(top, scripts.PostRemove)}
	for _, c := range project.Contents {
		one := &files.Content{Source: c.Source, Destination: c.Destination, Type: c.Type, Packager: c.Packager, FileInfo: &files.ContentFileInfo{Mode: c.FileInfo.Mode}}
		if rest, found := strings.CutPrefix(c.Source, made); found {
			one.Source = filepath.Join(extra, rest)
			if strings.HasSuffix(c.Source, "/") {
				one.Source += "/"
			}
		} else if c.Source != "" {
			one.Source = filepath.Join(top, c.Source)
		}
		info.Contents = append(info.Contents, one)
	}
	info = nfpm.WithDefaults(info)
	packager, err := nfpm.Get(format)
	if err != nil {
		t.Fatal(err)
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), packager.ConventionalFileName(info))
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := packager.Package(info, out); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDeb builds the package, looks at what is in it, installs it into a directory by dpkg, starts the program as the unit
// says, changes its configuration and installs a newer version, which keeps the change and the data.
func TestDeb(t *testing.T) {
	needs(t, "dpkg", "dpkg-deb", "gzip")
	deb := packaged(t, "deb", "0.1.0", binary(t))
	if bytes, err := os.Stat(deb); err != nil || bytes.Size() > 40e6 {
		t.Errorf("%v: %d bytes", err, bytes.Size())
	}
	list := command(t, "dpkg-deb", "--contents", deb)
	for _, want := range []string{
		`(?m)^-rwxr-xr-x root/root .* \./usr/bin/sectional$`,
		`(?m)^-rw-r--r-- root/root .* \./usr/lib/systemd/system/sectional\.service$`,
		`(?m)^-rw-r----- root/root .* \./etc/sectional/sectional\.ini$`,
		`(?m)^drwxr-x--- root/root .* \./etc/sectional/$`,
		`(?m)^-rw-r--r-- root/root .* \./usr/share/man/man1/sectional-serve\.1\.gz$`,
		`(?m)^-rw-r--r-- root/root .* \./usr/share/bash-completion/completions/sectional$`,
		`(?m)^-rw-r--r-- root/root .* \./usr/share/doc/sectional/THIRD_PARTY_LICENSES$`,
	} {
		if !regexp.MustCompile(want).MatchString(list) {
			t.Errorf("nothing in the package is %s:\n%s", want, list)
		}
	}
	if got := command(t, "dpkg-deb", "--info", deb, "conffiles"); got != "/etc/sectional/sectional.ini\n" {
		t.Errorf("files of configuration: %q", got)
	}
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can install it")
	}
	root := emptyRoot(t)
	install(t, root, deb)
	owner := user(t, root)
	for path, want := range map[string]string{"/var/lib/sectional": "drwx------ ID:ID", "/etc/sectional": "drwxr-x--- 0:ID", "/etc/sectional/sectional.ini": "-rw-r----- 0:ID"} {
		if got := described(t, root+path); got != strings.ReplaceAll(want, "ID", strconv.Itoa(owner)) {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	address := freeAddress(t)
	host, port, _ := net.SplitHostPort(address)
	changed := "[chttpd]\nbind_address = " + host + "\nport = " + port + "\n"
	if err := os.WriteFile(root+"/etc/sectional/sectional.ini", []byte(changed), 0o640); err != nil {
		t.Fatal(err)
	}
	serve(t, root, owner, address, true)
	install(t, root, packaged(t, "deb", "0.2.0", binary(t)))
	if got := command(t, "dpkg-query", "--admindir="+root+"/var/lib/dpkg", "--show", "sectional"); got != "sectional\t0.2.0\n" {
		t.Errorf("after an upgrade there is %q", got)
	}
	if text, err := os.ReadFile(root + "/etc/sectional/sectional.ini"); err != nil || string(text) != changed {
		t.Errorf("after an upgrade the configuration is %q, %v", text, err)
	}
	if got := user(t, root); got != owner {
		t.Errorf("after an upgrade the user is %d, and was %d", got, owner)
	}
	serve(t, root, owner, address, false)
	command(t, "dpkg", "--root="+root, "--force-script-chrootless", "--force-not-root", "--log=/dev/null", "--remove", "sectional")
	if _, err := os.Stat(root + "/usr/bin/sectional"); !os.IsNotExist(err) {
		t.Errorf("after removal: %v", err)
	}
	if _, err := os.Stat(root + "/var/lib/sectional/in-use"); err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	if entries, err := os.ReadDir(root + "/var/lib/sectional"); err != nil || len(entries) == 0 {
		t.Errorf("removal took the data: %v %v", entries, err)
	}
}

// emptyRoot is a directory into which dpkg installs.
func emptyRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for dir := root; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "etc"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{"var/lib/dpkg/status": "", "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n"} {
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func install(t *testing.T, root, deb string) {
	t.Helper()
	needs(t, "systemd-sysusers")
	command(t, "dpkg", "--root="+root, "--force-script-chrootless", "--force-architecture", "--force-confold", "--log=/dev/null", "--install", deb)
}

// user returns the number of the user that the package made, which is that of its group.
func user(t *testing.T, root string) int {
	t.Helper()
	text, err := os.ReadFile(root + "/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^sectional:[^:]*:(\d+):(\d+):[^:]*:/var/lib/sectional:.*nologin$`).FindStringSubmatch(string(text))
	if m == nil || m[1] != m[2] {
		t.Fatalf("the user is not there as it should be:\n%s", text)
	}
	id, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// described is a file's mode and its owners' numbers.
func described(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	s := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%s %d:%d", info.Mode(), s.Uid, s.Gid)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := process.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// unit returns the values of a key of the unit.
func unit(t *testing.T, key string) (values []string) {
	t.Helper()
	text, err := os.ReadFile(top + "/deploy/package/sectional.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^`+key+`=(.*)$`).FindAllStringSubmatch(string(text), -1) {
		values = append(values, m[1])
	}
	return values
}

// serve runs the unit's command in the root directory as its user, until the server answers, and ends it. The first start
// with some data tells the administrator's password, the others don't.
func serve(t *testing.T, root string, owner int, address string, first bool) {
	t.Helper()
	proc := filepath.Join(root, "proc")
	if err := os.MkdirAll(proc, 0o755); err != nil {
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
	alone := func(words ...string) *exec.Cmd {
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Path, cmd.Dir, cmd.Env = words[0], "/", []string{}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uint32(owner), Gid: uint32(owner)}}
		return cmd
	}
	var output process.Output
	server := alone(strings.Fields(unit(t, "ExecStart")[0])...)
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
	process.Within(t, time.Minute, "the server answers", func() bool { return alone("/usr/bin/sectional", "up", "http://"+address).Run() == nil })
	if strings.Contains(output.String(), "password") != first {
		t.Errorf("a password is to be told: %v\n%s", first, output.String())
	}
}

// TestDebsAreAlike: the same files make the same package, byte for byte.
func TestDebsAreAlike(t *testing.T) {
	needs(t, "gzip")
	small := filepath.Join(t.TempDir(), "sectional")
	stub := "#!/bin/sh\ncase $1 in man) mkdir -p \"$2\"; for i in 0 1 2 3 4 5 6 7 8 9; do echo $i > \"$2/p$i.1\"; done;; *) echo complete;; esac\n"
	if err := os.WriteFile(small, []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"deb", "rpm"} {
		var texts [2][]byte
		for i := range texts {
			text, err := os.ReadFile(packaged(t, format, "0.1.0", small))
			if err != nil {
				t.Fatal(err)
			}
			texts[i] = text
		}
		if format == "deb" && !bytes.Equal(texts[0], texts[1]) {
			t.Errorf("two packages of the same files differ")
		}
		if len(texts[0]) < 10_000 {
			t.Errorf("%s: %d bytes", format, len(texts[0]))
		}
	}
}

// TestUnit has systemd's own tools judge the unit.
func TestUnit(t *testing.T) {
	needs(t, "systemd-analyze")
	root := t.TempDir()
	for dst, src := range map[string]string{"usr/lib/systemd/system/sectional.service": top + "/deploy/package/sectional.service"} {
		text, err := os.ReadFile(src)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, dst)), 0o755); err != nil {
			t.Fatal(err)
		}
		// The program is not installed here.
		text = regexp.MustCompile(`(?m)^(ExecStart=)\S+|^Documentation=.*\n`).ReplaceAll(text, []byte("${1}"))
		text = bytes.Replace(text, []byte("ExecStart= serve"), []byte("ExecStart=/bin/true serve"), 1)
		if err := os.WriteFile(filepath.Join(root, dst), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(root, "usr/lib/systemd/system/sectional.service")
	if out := command(t, "systemd-analyze", "verify", "--man=no", path); strings.Contains(out, "sectional.service") {
		t.Errorf("systemd-analyze verify: %s", out)
	}
	// 2.0 and less is what systemd calls OK; the limit is in tenths.
	out := command(t, "systemd-analyze", "security", "--offline=true", "--threshold=15", path)
	if !strings.Contains(out, "Overall exposure level") {
		t.Error(out)
	}
	if data := unit(t, "StateDirectory"); !slices.Equal(data, []string{"sectional"}) || !slices.Equal(unit(t, "StateDirectoryMode"), []string{"0700"}) || !slices.Equal(unit(t, "User"), []string{"sectional"}) {
		t.Errorf("the data is in %s", data)
	}
}

// TestBillOfMaterials has CycloneDX's library read it.
func TestBillOfMaterials(t *testing.T) {
	run := exec.CommandContext(t.Context(), "go", "run", "./deploy/release", "sbom")
	run.Dir, run.Stderr = top, os.Stderr
	out, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	var bill cyclonedx.BOM
	decoder := cyclonedx.NewBOMDecoder(bytes.NewReader(out), cyclonedx.BOMFileFormatJSON)
	if err := decoder.Decode(&bill); err != nil {
		t.Fatal(err)
	}
	if bill.SpecVersion != cyclonedx.SpecVersion1_6 || bill.Metadata.Component.Name != "sectional" || bill.Components == nil || len(*bill.Components) < 80 {
		t.Errorf("%v %v", bill.SpecVersion, bill.Metadata)
	}
	refs := map[string]bool{"sectional": true}
	for _, c := range *bill.Components {
		if refs[c.BOMRef] {
			t.Errorf("%s is there twice", c.BOMRef)
		}
		refs[c.BOMRef] = true
		if c.Licenses == nil || len(*c.Licenses) == 0 {
			t.Errorf("%s has no licence", c.Name)
		}
	}
	if err := cyclonedx.NewBOMEncoder(io.Discard, cyclonedx.BOMFileFormatJSON).EncodeVersion(&bill, cyclonedx.SpecVersion1_6); err != nil {
		t.Error(err)
	}
}
