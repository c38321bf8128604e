package deploy

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sectional/sectional/internal/testkit/pgtest"
	"github.com/sectional/sectional/internal/testkit/process"
)

// postgresSetting returns a number of postgresql.conf.
func postgresSetting(t *testing.T, name string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(files, "postgres", "postgresql.conf"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^` + name + ` = (\d+)$`).FindStringSubmatch(string(text))
	if found == nil {
		t.Fatalf("postgresql.conf has no %s", name)
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// database is one of the PostgreSQL servers of compose.yaml as a process.
type database struct {
	name, dir, port string
	as              *syscall.Credential
	environment     []string
	cmd             *exec.Cmd
	output          process.Output
}

// newDatabase makes what a container of the name would have: a directory, the variables, and the files that are mounted.
func newDatabase(t *testing.T, name string) *database {
	t.Helper()
	dir, err := os.MkdirTemp("", "sectional-"+name)
	if err != nil {
		t.Fatal(err)
	}
	d := &database{name: name, dir: dir}
	t.Cleanup(func() {
		d.halt(t)
		if t.Failed() {
			t.Logf("%s printed:\n%s", name, d.output.String())
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	_, d.port, _ = net.SplitHostPort(freeAddress(t))
	service := mustCompose(t).Services[name]
	for key, value := range service.Environment {
		if value != nil && key != "PGDATA" {
			d.environment = append(d.environment, key+"="+*value)
		}
	}
	d.environment = append(d.environment, "PGDATA="+filepath.Join(dir, "cluster"), "PGPORT="+d.port, "PGHOST="+dir, "HOME="+dir,
		"START=", "PATH="+pgtest.Installed()+":/usr/bin:/bin")
	for _, v := range service.Volumes {
		if v.Source != "" && filepath.IsAbs(v.Source) {
			d.copyIn(t, v.Source)
		}
	}
	d.become(t)
	return d
}

// copyIn puts a file into the directory, where the server's user may read it.
func (d *database) copyIn(t *testing.T, source string) {
	t.Helper()
	text, err := os.ReadFile(source)
	if err == nil {
		err = os.WriteFile(filepath.Join(d.dir, filepath.Base(source)), text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// become makes the directory that of a user who may run PostgreSQL, which refuses to be root's, and to be of a user
// that it can't look up.
func (d *database) become(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid) // numbers, on systems that have root
		gid, _ := strconv.Atoi(u.Gid)
		d.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(d.dir, uid, gid); err != nil {
			t.Fatal(err)
		}
		if d.command("whoami").Run() == nil {
			return
		}
	}
	t.Fatal("there is no user to run PostgreSQL as")
}

// command prepares a program with the container's variables.
func (d *database) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = d.dir, d.environment
	cmd.Stdout, cmd.Stderr = &d.output, &d.output
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: d.as, Setpgid: true}
	return cmd
}

func (d *database) do(t *testing.T, name string, args ...string) {
	t.Helper()
	if err := d.command(name, args...).Run(); err != nil {
		t.Fatalf("%s: %s: %v\n%s", d.name, name, err, d.output.String())
	}
}

// initialize does what the image's entrypoint does at the first start: a cluster, and the script while nobody else is let in.
func (d *database) initialize(t *testing.T) {
	t.Helper()
	bin := pgtest.Installed()
	d.do(t, filepath.Join(bin, "initdb"), "--username=postgres", "--auth-local=trust", "--auth-host=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync", "--data-checksums")
	d.do(t, "/bin/sh", "-c", `echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"`)
	d.do(t, filepath.Join(bin, "pg_ctl"), "--wait", "--silent", "--log="+filepath.Join(d.dir, "log"), "--options=-c config_file="+filepath.Join(d.dir, "postgresql.conf")+" -c listen_addresses='' -k "+d.dir, "start")
	d.do(t, filepath.Join(d.dir, "first-start.sh"))
	d.do(t, filepath.Join(bin, "pg_ctl"), "--wait", "--silent", "--mode=fast", "stop")
}

// start runs node.sh with the arguments of compose.yaml. What differs from a container: the port, the socket, the path
// of the configuration, and the time of a test that is saved at the disk. more are further variables.
func (d *database) start(t *testing.T, more ...string) {
	t.Helper()
	args := []string{}
	for _, a := range mustCompose(t).Services[d.name].Command {
		args = append(args, strings.Replace(a, "/etc/sectional/", d.dir+"/", 1))
	}
	args = append(args, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="+d.dir, "-c", "port="+d.port, "-c", "fsync=off")
	d.cmd = d.command(filepath.Join(d.dir, "node.sh"), args...)
	d.cmd.Env = append(d.cmd.Env, more...)
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// url names the server to the superuser, at its socket.
func (d *database) url() string {
	return "postgres://postgres@/sectional?host=" + d.dir + "&port=" + d.port
}

// ask returns what a query answers, as text.
func (d *database) ask(ctx context.Context, sql string) (answer string, err error) {
	conn, err := pgx.Connect(ctx, d.url())
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	err = conn.QueryRow(ctx, sql).Scan(&answer)
	return answer, err
}

func (d *database) mustDo(t *testing.T, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.url())
	if err == nil {
		defer conn.Close(context.WithoutCancel(t.Context()))
		_, err = conn.Exec(t.Context(), sql)
	}
	if err != nil {
		t.Fatalf("%s: %s: %v", d.name, sql, err)
	}
}

// halt ends the server as a crash does.
func (d *database) halt(t *testing.T) {
	if d.cmd == nil || d.cmd.ProcessState != nil {
		return
	}
	if err := syscall.Kill(-d.cmd.Process.Pid, syscall.SIGQUIT); err != nil {
		t.Error(err)
	}
	_ = d.cmd.Wait() // how it ends is in its log
}

// pair starts the primary and the standby, and returns when commits wait for the standby.
func pair(t *testing.T) (primary, standby *database) {
	t.Helper()
	pgtest.Need(t)
	primary, standby = newDatabase(t, "postgres-a"), newDatabase(t, "postgres-b")
	primary.initialize(t)
	primary.start(t)
	standby.follow(t, primary)
	return primary, standby
}

// follow starts a server as the standby of another, and returns when commits there wait for it.
func (d *database) follow(t *testing.T, primary *database) {
	t.Helper()
	d.start(t, "PRIMARY=127.0.0.1", "PGPORT="+primary.port)
	process.Within(t, time.Minute, "the standby is synchronous", func() bool {
		state, err := primary.ask(t.Context(), "SELECT coalesce(string_agg(application_name || ' ' || sync_state, ','), '') FROM pg_stat_replication")
		return err == nil && state == d.name+" sync"
	})
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := process.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// shared is the URL that the servers are given, with the addresses that the two have here.
func shared(command []string, primary, standby *database) string {
	for _, a := range command {
		if url, ok := strings.CutPrefix(a, "--postgres="); ok {
			hosts := fmt.Sprintf("127.0.0.1:%s,127.0.0.1:%s/", primary.port, standby.port)
			return strings.Replace(url, "postgres-a,postgres-b/", hosts, 1)
		}
	}
	return ""
}
