package pgkv

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/pgtest"
)

// pair starts a cluster and its synchronous standby.
func pair(t *testing.T) (primary, standby *pgtest.Cluster) {
	t.Helper()
	pgtest.Need(t)
	primary, err := pgtest.Start(pgtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stop := func(c *pgtest.Cluster) {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { stop(primary) })
	if standby, err = primary.Standby(pgtest.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(standby) })
	return primary, standby
}

// cancelWaits cancels the statements of those who wait for the standby, as soon as somebody does.
const cancelWaits = `DO $$ BEGIN LOOP
	PERFORM pg_stat_clear_snapshot();
	PERFORM pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep';
	EXIT WHEN FOUND;
END LOOP; END $$`

// TestCancelledWait: what PostgreSQL has committed without its standby is not acknowledged, since the standby may be all
// that is left. What was acknowledged before is there.
func TestCancelledWait(t *testing.T) {
	primary, standby := pair(t)
	e := open(t, Options{URL: pgtest.URLOf("", primary, standby), Schema: "pair", RetryFor: time.Minute, Connections: 8})
	defer e.Close()
	increment := func() error {
		return e.Update(context.Background(), func(tx kv.Txn) error { return add(tx, []byte("n")) })
	}
	if err := increment(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Halt(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	go func() { told <- increment() }()
	if err := primary.Admin(t.Context(), cancelWaits); err != nil {
		t.Fatal(err)
	}
	if err := <-told; !dberr.Is(err, dberr.UnknownOutcome) {
		t.Errorf("of a commit that no standby has was told: %v", err)
	}
	if err := primary.Halt(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if err := standby.Restart(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := settle(t, e, []byte("n")); n != 1 {
		t.Errorf("%d increments are there, want 1", n)
	}
	if err := increment(); err != nil {
		t.Error(err)
	}
}

// TestPromotion has writers count while the primary crashes and its standby takes its place.
func TestPromotion(t *testing.T) {
	primary, standby := pair(t)
	e := open(t, Options{URL: pgtest.URLOf("", primary, standby), Schema: "pair", RetryFor: time.Minute, Connections: 12})
	defer e.Close()
	n := &tally{}
	n.run(t, e, 4, 16, func(writer, round int) {
		if writer == 0 && round == 8 {
			if err := errors.Join(primary.Halt(syscall.SIGQUIT), standby.Promote(context.Background())); err != nil {
				t.Error(err)
			}
		}
	})
	if n.refused.Load() > 0 {
		t.Errorf("%d writes were refused though a server was there in time", n.refused.Load())
	}
}

// TestAbsentStandby: commits that wait for a standby that is not there keep no more of PostgreSQL's connections than the
// engine has for writes, however many are tried, and also if their backends come to wait for it only after they have
// been given up; what has no connection is refused, and when the standby need not be waited for any more all goes on.
func TestAbsentStandby(t *testing.T) {
	pgtest.Need(t)
	c, err := pgtest.Start(pgtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	e := open(t, Options{URL: c.URL(), Schema: "absent", RetryFor: 100 * time.Millisecond, Timeout: 500 * time.Millisecond, Connections: 9})
	defer e.Close()
	put := func(value string, keys ...int) error {
		return e.Update(context.Background(), func(tx kv.Txn) (err error) {
			for _, n := range keys {
				err = errors.Join(err, tx.Put(fmt.Appendf(nil, "k%d", n), []byte(value)))
			}
			return err
		})
	}
	for put("old", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9) != nil {
	}
	if err := c.WaitFor(t.Context(), "absent"); err != nil {
		t.Fatal(err)
	}
	side, err := pgx.Connect(t.Context(), c.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer side.Close(context.Background())
	count := func(where string) (n int) {
		if err := side.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sectional' AND "+where).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	onSide := func(sql string) {
		if _, err := side.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	onSide("BEGIN")
	onSide("SELECT FROM absent.kv FOR UPDATE") // so that no commit gets as far as to the standby
	told := map[dberr.Kind]int{}
	try := func() { told[dberr.KindOf(put("new", told[dberr.UnknownOutcome]))]++ }
	for told[dberr.UnknownOutcome] < e.o.writers() { // on a slow machine some don't get as far as to a commit
		try()
	}
	for range 5 {
		try()
	}
	onSide("ROLLBACK")
	for count("wait_event_type = 'Lock'") > 0 {
	}
	if n := count("wait_event = 'SyncRep'"); n == 0 || n > e.o.writers() {
		t.Errorf("%d backends wait for the standby, of %d connections; told was %v", n, e.o.writers(), told)
	}
	if told[dberr.Unavailable] == 0 || len(told) != 2 {
		t.Errorf("told was %v", told)
	}
	for {
		var value []byte
		err := e.View(t.Context(), func(s kv.Snapshot) (err error) {
			value, err = s.Get([]byte("k0"))
			return err
		})
		if dberr.Is(err, dberr.Unavailable) {
			continue
		}
		if err != nil || string(value) != "old" {
			t.Errorf("of what no standby has is read: %q, %v", value, err)
		}
		break
	}
	if e.Away() {
		t.Error("a server that answers reads is told to be away")
	}
	if err := c.WaitFor(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	for put("new", 0) != nil {
	}
}
