// Package pgtest owns PostgreSQL servers that tests and measurements start for themselves: a
// cluster in a temporary directory, reached by a Unix socket, that ends with the process.
//
// Begin reading at Shared, which most tests use, and at Start.
package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Options say what sort of cluster is wanted.
type Options struct {
	Durable  bool     // it writes to the disk what it acknowledges; a crash of the machine is all that differs
	Settings []string // "name=value", as in postgresql.conf
	// Addresses are those of this machine at which the server listens too, for anybody; a Unix socket is always there.
	Addresses []string
	Port      int    // of the addresses and the socket; 0: 5432
	Log       string // the directory of its write-ahead log, which must not be there; "": with the data
}

// Cluster is a running PostgreSQL server with a database of a role that is no superuser.
type Cluster struct {
	dir    string
	bin    string
	o      Options
	asUser *syscall.Credential
	cmd    *exec.Cmd
	exited chan struct{}
	// primary is whom a standby follows; "" for none.
	primary string

	schemas atomic.Int64
}

// Installed returns the directory of the programs of the newest PostgreSQL on this machine, "" for
// none.
func Installed() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // the pattern is well-formed
	best, version := "", -1
	for _, path := range found {
		dir := filepath.Dir(path)
		if n, err := strconv.Atoi(filepath.Base(filepath.Dir(dir))); err == nil && n > version {
			best, version = dir, n
		}
	}
	if best == "" {
		if path, err := exec.LookPath("postgres"); err == nil {
			return filepath.Dir(path)
		}
	}
	return best
}

// Start makes a cluster and starts it. Errors tell what initdb or the server said.
func Start(o Options) (*Cluster, error) {
	c := &Cluster{o: o, bin: Installed()}
	if c.bin == "" {
		return nil, fmt.Errorf("pgtest: PostgreSQL is not installed")
	}
	dir, err := os.MkdirTemp("", "sectional-pg")
	if err != nil {
		return nil, err
	}
	c.dir = dir
	if err := c.make(); err != nil {
		_ = os.RemoveAll(dir) // the error that matters is the first
		return nil, err
	}
	return c, nil
}

func (c *Cluster) make() error {
	if err := errors.Join(c.initialize(), c.admit()); err != nil {
		return err
	}
	if err := c.Restart(syscall.SIGQUIT); err != nil {
		return err
	}
	return c.createRole()
}

// initialize makes the files of a cluster, as somebody who may run the server: it refuses to
// be root's, and to be of a user that it can't look up.
func (c *Cluster) initialize() (err error) {
	if os.Geteuid() != 0 {
		return c.initdb()
	}
	err = fmt.Errorf("pgtest: no user to run PostgreSQL as")
	for _, name := range []string{"postgres", "nobody"} {
		u, unknown := user.Lookup(name)
		if unknown != nil {
			continue
		}
		if err = c.become(u); err == nil {
			err = c.initdb()
		}
		if err == nil {
			return nil
		}
	}
	return err
}

// become makes the directory a user's, whom the server will run as.
func (c *Cluster) become(u *user.User) error {
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}
	c.asUser = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(c.dir, int(uid), int(gid))
}

func (c *Cluster) initdb() error {
	args := []string{"--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale", "-D", c.data()}
	if c.o.Log != "" {
		args = append(args, "-X", c.o.Log)
	}
	cmd := exec.Command(filepath.Join(c.bin, "initdb"), args...)
	cmd.Dir, cmd.SysProcAttr = c.dir, &syscall.SysProcAttr{Credential: c.asUser}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: initdb: %w\n%s", err, out)
	}
	return nil
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *Cluster) port() int { return cmp.Or(c.o.Port, 5432) }

// admit lets everybody in who reaches one of the addresses.
func (c *Cluster) admit() error {
	if len(c.o.Addresses) == 0 {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(c.data(), "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("host all all all trust\n")
	return errors.Join(err, f.Close())
}

// Restart stops the server by a signal, if it runs, and starts it again: SIGQUIT stops it as
// a crash would, SIGINT in good order.
func (c *Cluster) Restart(signal syscall.Signal) error {
	if err := c.Halt(signal); err != nil {
		return err
	}
	args := []string{"-D", c.data(), "-k", c.dir, "-p", strconv.Itoa(c.port()), "-c", "listen_addresses=" + strings.Join(c.o.Addresses, ","),
		"-c", "max_connections=200", "-c", "logging_collector=off"}
	if !c.o.Durable {
		args = append(args, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	if c.primary != "" {
		args = append(args, "-c", "primary_conninfo="+c.primary, "-c", "wal_retrieve_retry_interval=100ms")
	}
	for _, setting := range c.o.Settings {
		args = append(args, "-c", setting)
	}
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	c.cmd = exec.Command(filepath.Join(c.bin, "postgres"), args...)
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = c.dir, log, log
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.asUser, Pdeathsig: syscall.SIGQUIT, Setpgid: true}
	if err := c.run(); err != nil {
		return err
	}
	return c.await()
}

// run starts the server from a thread that lives as long as the process: the server ends
// with the thread that started it.
func (c *Cluster) run() error {
	started := make(chan error)
	exited := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			_ = c.cmd.Wait() // how it ends is in its log
		}
		close(exited)
	}()
	c.exited = exited
	return <-started
}

// await waits until the server answers.
func (c *Cluster) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, c.admin())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-c.exited:
			log, _ := os.ReadFile(filepath.Join(c.dir, "log")) // as much as there is
			return fmt.Errorf("pgtest: the server ended:\n%s", log)
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Halt stops the server by a signal and waits until it has ended.
func (c *Cluster) Halt(signal syscall.Signal) error {
	if c.cmd == nil {
		return nil
	}
	select {
	case <-c.exited:
		return nil
	default:
	}
	if err := c.cmd.Process.Signal(signal); err != nil {
		return err
	}
	<-c.exited
	return nil
}

// Stop ends the server and removes what it has stored.
func (c *Cluster) Stop() error {
	if err := c.Halt(syscall.SIGQUIT); err != nil {
		return err
	}
	return os.RemoveAll(c.dir)
}

// createRole makes the role and the database that URL names.
func (c *Cluster) createRole() error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, c.admin())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, sql := range []string{"CREATE ROLE sectional LOGIN CREATEDB", "CREATE DATABASE sectional OWNER sectional"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// PID returns the number of the server's process, the parent of those of its connections.
func (c *Cluster) PID() int { return c.cmd.Process.Pid }

// Socket returns the path of the server's socket.
func (c *Cluster) Socket() string {
	return filepath.Join(c.dir, fmt.Sprintf(".s.PGSQL.%d", c.port()))
}

// URL returns where the server is, for the role that is no superuser.
func (c *Cluster) URL() string {
	if c.o.Port == 0 {
		return URLAt(c.dir)
	}
	return fmt.Sprintf("%s&port=%d", URLAt(c.dir), c.o.Port)
}

// URLAt is URL for a directory in which another process has put its socket.
func URLAt(dir string) string { return "postgres://sectional@/sectional?host=" + dir }

// admin is URL for the superuser.
func (c *Cluster) admin() string {
	return strings.Replace(strings.Replace(c.URL(), "sectional@", "postgres@", 1), "/sectional?", "/postgres?", 1)
}

// Admin runs a statement as the superuser, in the database of the tests.
func (c *Cluster) Admin(ctx context.Context, sql string, args ...any) error {
	conn, err := pgx.Connect(ctx, strings.Replace(c.URL(), "sectional@", "postgres@", 1))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, sql, args...)
	return err
}

// Database makes a database that nobody else has, and returns its URL. options are those of CREATE DATABASE.
func (c *Cluster) Database(ctx context.Context, options ...string) (url string, err error) {
	name := fmt.Sprintf("own%d", c.schemas.Add(1))
	return strings.Replace(c.URL(), "@/sectional?", "@/"+name+"?", 1), c.Admin(ctx, strings.Join(append([]string{"CREATE DATABASE", name, "OWNER sectional"}, options...), " "))
}

// Schema returns the name of a schema that nobody else has.
func (c *Cluster) Schema() string { return fmt.Sprintf("test%d", c.schemas.Add(1)) }

// Run runs one of PostgreSQL's programs on the database of the tests, and returns what it prints.
func (c *Cluster) Run(ctx context.Context, program string, arguments ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, program), append(arguments, "-h", c.dir, "-p", strconv.Itoa(c.port()), "-U", "sectional", "sectional")...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("pgtest: %s: %w\n%s", program, err, out)
	}
	return out, nil
}
