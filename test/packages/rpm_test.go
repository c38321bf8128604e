package packages

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestRPM looks at what is in the package for Red Hat, installs it by rpm with its scripts, starts the program as the unit
// says, changes its configuration, installs a newer version and removes it: data and configuration stay.
func TestRPM(t *testing.T) {
	needs(t, "rpm")
	old := packaged(t, "rpm", "0.1.0", binary(t))
	list := command(t, "rpm", "-qp", "--nosignature", "--qf", `[%{FILEMODES:perms} %{FILEUSERNAME}:%{FILEGROUPNAME} %{FILEFLAGS:fflags} %{FILENAMES}\n]`, old)
	for _, want := range []string{
		`(?m)^-rwxr-xr-x root:root\s+/usr/bin/sectional$`,
		`(?m)^-rw-r----- root:root cn /etc/sectional/sectional\.ini$`,
		`(?m)^-rw-r--r-- root:root\s+/usr/lib/systemd/system/sectional\.service$`,
		`(?m)^-rw-r--r-- root:root\s+/usr/share/zsh/site-functions/_sectional$`,
	} {
		if !regexp.MustCompile(want).MatchString(list) {
			t.Errorf("nothing in the package is %s:\n%s", want, list)
		}
	}
	if said := command(t, "rpm", "--checksig", old); !strings.Contains(said, "digests OK") {
		t.Errorf("rpm --checksig: %s", said)
	}
	if scripts := command(t, "rpm", "-qp", "--nosignature", "--scripts", old); !strings.Contains(scripts, "postinstall scriptlet (using /bin/sh)") || !strings.Contains(scripts, "preuninstall scriptlet (using /bin/sh)") {
		t.Errorf("scripts: %s", scripts)
	}
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can install it")
	}
	root := overThisRoot(t)
	// The database of rpm is empty on a machine that has no other packages of it: what these need is there all the same.
	rpm := func(args ...string) string {
		t.Helper()
		return command(t, "rpm", append([]string{"--root", root, "--nodeps", "--nosignature"}, args...)...)
	}
	asked := fakeSystemd(t, root)
	rpm("--install", old)
	wantAsked := func(what, want string) {
		t.Helper()
		if got := asked(); got != want {
			t.Errorf("%s asks systemd for %q, want %q", what, got, want)
		}
	}
	wantAsked("installing", "daemon-reload\ntry-restart sectional.service\n")
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
	rpm("--upgrade", packaged(t, "rpm", "0.2.0", binary(t)))
	wantAsked("upgrading", "daemon-reload\ntry-restart sectional.service\n")
	if got := command(t, "rpm", "--root", root, "--query", "sectional"); !strings.HasPrefix(got, "sectional-0.2.0-") {
		t.Errorf("after an upgrade there is %s", got)
	}
	if text, err := os.ReadFile(root + "/etc/sectional/sectional.ini"); err != nil || string(text) != changed {
		t.Errorf("after an upgrade the configuration is %q, %v", text, err)
	}
	if got := described(t, root+"/etc/sectional/sectional.ini"); got != "-rw-r----- 0:"+strconv.Itoa(owner) || user(t, root) != owner {
		t.Errorf("after an upgrade the configuration is %s", got)
	}
	serve(t, root, owner, address, false)
	rpm("--erase", "sectional")
	wantAsked("removing", "disable --now sectional.service\ndaemon-reload\n")
	if _, err := os.Stat(root + "/usr/bin/sectional"); !os.IsNotExist(err) {
		t.Errorf("after removal: %v", err)
	}
	if entries, err := os.ReadDir(root + "/var/lib/sectional"); err != nil || len(entries) == 0 {
		t.Errorf("removal took the data: %v %v", entries, err)
	}
	if text, err := os.ReadFile(root + "/etc/sectional/sectional.ini.rpmsave"); err != nil || string(text) != changed {
		t.Errorf("after removal the changed configuration is %q, %v", text, err)
	}
}

// fakeSystemd has scripts in a root directory believe that systemd runs there; asked returns what they have asked it for since
// the last call.
func fakeSystemd(t *testing.T, root string) (asked func() string) {
	t.Helper()
	if err := os.MkdirAll(root+"/run/systemd/system", 0o755); err != nil {
		t.Fatal(err)
	}
	program, said := root+"/usr/bin/systemctl", root+"/run/systemctl.log"
	if err := os.Remove(program); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\" >> /run/systemctl.log\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return func() string {
		text, err := os.ReadFile(said)
		if err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
		_ = os.Remove(said) // there may be none
		return string(text)
	}
}

// overThisRoot is a root directory that has what this machine's has, so that a package's scripts can run there; what is
// written there is gone with the test. It is written to memory, because a layer must not lie in the one below it.
func overThisRoot(t *testing.T) string {
	t.Helper()
	memory := t.TempDir()
	mount := func(source, target, kind, data string) {
		t.Helper()
		if err := syscall.Mount(source, target, kind, 0, data); err != nil {
			t.Skipf("NOT TESTED: no %s can be mounted here: %v", kind, err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(target, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	mount("tmpfs", memory, "tmpfs", "mode=0755,size=512m")
	at := func(name string) string { return filepath.Join(memory, name) }
	for _, dir := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for dir := filepath.Dir(memory); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mount("overlay", at("root"), "overlay", "lowerdir=/,upperdir="+at("upper")+",workdir="+at("work"))
	return at("root")
}
