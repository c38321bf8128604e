package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Standby makes a copy of a running cluster, which follows it from then on, and has its commits wait until they are on
// the disk of the copy too. o is for the copy; a copy that is promoted waits for nobody.
func (c *Cluster) Standby(o Options) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "sectional-pg")
	if err != nil {
		return nil, err
	}
	s := &Cluster{dir: dir, bin: c.bin, o: o, asUser: c.asUser}
	if s.asUser != nil {
		err = os.Chown(dir, int(s.asUser.Uid), int(s.asUser.Gid))
	}
	if err == nil {
		err = s.Follow(c)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// Follow makes a cluster, which has stopped or was never started, another's standby, as Standby does: at its place, and
// without anything that it has stored.
func (c *Cluster) Follow(primary *Cluster) error {
	name := fmt.Sprintf("standby%d", primary.schemas.Add(1))
	c.primary = fmt.Sprintf("host=%s port=%d user=postgres application_name=%s", primary.dir, primary.port(), name)
	if err := os.RemoveAll(c.data()); err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(c.bin, "pg_basebackup"), "--no-sync", "-c", "fast", "-X", "stream", "-D", c.data(), "-d", c.primary)
	cmd.Dir, cmd.SysProcAttr = c.dir, &syscall.SysProcAttr{Credential: c.asUser}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: pg_basebackup: %w\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(c.data(), "standby.signal"), nil, 0o644); err != nil {
		return err
	}
	if err := c.Restart(syscall.SIGQUIT); err != nil {
		return err
	}
	return primary.joined(name)
}

// joined has commits wait for a standby, and returns when that follows.
func (c *Cluster) joined(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.WaitFor(ctx, name); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, c.admin())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for synchronous := false; !synchronous; {
		err := conn.QueryRow(ctx, "SELECT count(*) > 0 FROM pg_stat_replication WHERE application_name = $1 AND sync_state = 'sync' AND state = 'streaming'", name).Scan(&synchronous)
		if err != nil {
			return fmt.Errorf("pgtest: waiting for the standby: %w", err)
		}
	}
	return nil
}

// WaitFor has commits wait for standbys, as synchronous_standby_names says; "" for none.
func (c *Cluster) WaitFor(ctx context.Context, names string) error {
	if err := c.Admin(ctx, "ALTER SYSTEM SET synchronous_standby_names = '"+names+"'"); err != nil {
		return err
	}
	return c.Admin(ctx, "SELECT pg_reload_conf()")
}

// Promote makes a standby a server that takes writes, and returns when it does.
func (c *Cluster) Promote(ctx context.Context) error {
	return c.Admin(ctx, "SELECT pg_promote(true, 60)")
}

// URLOf is the URL of that of several clusters that takes writes: by their sockets, or at an address at which they listen.
func URLOf(address string, clusters ...*Cluster) string {
	var hosts, ports []string
	for _, c := range clusters {
		hosts, ports = append(hosts, cmp.Or(address, c.dir)), append(ports, strconv.Itoa(c.port()))
	}
	return URLAt(strings.Join(hosts, ",")) + "&port=" + strings.Join(ports, ",") + "&target_session_attrs=read-write"
}
