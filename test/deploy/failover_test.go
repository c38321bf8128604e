package deploy

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/testkit/process"
)

// TestFailover does what docs/guides/servers.md says when the primary is lost, with the scripts that the containers run:
// the standby is promoted, the servers find it, what was acknowledged is there, and the old primary comes back as standby.
func TestFailover(t *testing.T) {
	s := launch(t)
	c := s.client("")
	c.must(t, 201, "PUT", "/shop?partitioned=true", "")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l := s.begin(ctx, "")
	l.more(t, 50)
	s.primary.halt(t)
	s.standby.mustDo(t, "SELECT pg_promote()")
	// Until it has a standby itself it waits for none.
	s.standby.mustDo(t, "ALTER SYSTEM SET synchronous_standby_names = ''")
	s.standby.mustDo(t, "SELECT pg_reload_conf()")
	l.more(t, 50)
	stop()
	l.group.Wait()
	for id := range l.stored {
		c.must(t, 200, "GET", "/shop/"+id, "")
	}
	t.Logf("%d documents, %d requests failed by the failover", len(l.stored), len(l.failed))

	s.comesBack(t)
	s.standby.mustDo(t, `ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 ("postgres-a", "postgres-b")'`)
	s.standby.mustDo(t, "SELECT pg_reload_conf()")
	process.Within(t, time.Minute, "commits wait for the new standby", func() bool {
		state, err := s.standby.ask(t.Context(), "SELECT coalesce(string_agg(application_name || ' ' || sync_state, ','), '') FROM pg_stat_replication")
		return err == nil && state == "postgres-a sync"
	})
	c.must(t, 201, "PUT", "/shop/p0:after", "{}")
	s.check(t)
}

// comesBack has the old primary begin as standby, which takes an empty volume.
func (s *site) comesBack(t *testing.T) {
	t.Helper()
	s.primary.start(t, "PRIMARY=127.0.0.1", "PGPORT="+s.standby.port)
	if err := s.primary.cmd.Wait(); err == nil || !strings.Contains(s.primary.output.String(), "remove its volume") {
		t.Errorf("a former primary starts as standby: %v", err)
	}
	if err := os.RemoveAll(s.primary.dir + "/cluster"); err != nil {
		t.Fatal(err)
	}
	s.primary.start(t, "PRIMARY=127.0.0.1", "PGPORT="+s.standby.port)
	process.Within(t, time.Minute, "the old primary follows", func() bool {
		n, err := s.standby.ask(t.Context(), "SELECT count(*)::text FROM pg_stat_replication WHERE state = 'streaming' AND application_name = 'postgres-a'")
		return err == nil && n == "1"
	})
}
