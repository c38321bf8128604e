package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Bouncer runs pgbouncer before a cluster for the length of a test, and returns where the cluster is through it. mode is
// its pool_mode. Where it is not installed the test is passed over.
func (c *Cluster) Bouncer(t testing.TB, mode string, settings ...string) (url string) {
	t.Helper()
	program := "/usr/sbin/pgbouncer"
	if _, err := os.Stat(program); err != nil {
		if program, err = exec.LookPath("pgbouncer"); err != nil {
			t.Skip("NOT TESTED: pgbouncer is not installed (apt-get install pgbouncer)")
		}
	}
	dir, err := os.MkdirTemp("", "sectional-pgb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // in the temporary directory, where a leftover does no harm
	c.writeBouncer(t, dir, mode, settings)
	var out []byte
	cmd := exec.Command(program, filepath.Join(dir, "ini"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.asUser}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended }) // it may have ended
	for url = URLAt(dir); ; {
		conn, err := pgx.Connect(t.Context(), url+"&default_query_exec_mode=exec")
		if err == nil {
			_ = conn.Close(t.Context()) // it was there
			return url
		}
		select {
		case <-ended:
			ended <- nil
			out, _ = os.ReadFile(log.Name()) // as much as there is
			t.Fatalf("pgbouncer ended: %v\n%s", err, out)
		default:
		}
	}
}

// writeBouncer writes pgbouncer's files.
func (c *Cluster) writeBouncer(t testing.TB, dir, mode string, settings []string) {
	ini := fmt.Sprintf("[databases]\n* = host=%s port=%d\n[pgbouncer]\nunix_socket_dir = %s\nlisten_port = 5432\nauth_type = trust\nauth_file = %s\n"+
		"pool_mode = %s\ndefault_pool_size = 60\nmax_client_conn = 500\n", c.dir, c.port(), dir, filepath.Join(dir, "users"), mode)
	for _, s := range settings {
		ini += s + "\n"
	}
	for name, text := range map[string]string{"ini": ini, "users": `"sectional" ""` + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if c.asUser == nil {
		return
	}
	if err := os.Chown(dir, int(c.asUser.Uid), int(c.asUser.Gid)); err != nil {
		t.Fatal(err)
	}
}
