package pgkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/testkit/kvtest"
	"github.com/sectional/sectional/internal/testkit/pgtest"
)

// tally is what writers of counters were told, over all of them.
type tally struct{ stored, unknown, landed, refused atomic.Int64 }

// count has a writer add to a counter of its own rounds times, and to one that all share, and holds what it
// is told against what is there: an acknowledged write is, a refused one is not, and of one with an
// unknown outcome a write of the same row tells for good.
func (n *tally) count(t *testing.T, e kv.Engine, writer, rounds int, each func(round int)) {
	key := fmt.Appendf(nil, "w%d", writer)
	want := 0
	for round := range rounds {
		each(round)
		err := e.Update(context.Background(), func(tx kv.Txn) error {
			if err := add(tx, key); err != nil {
				return err
			}
			return add(tx, []byte("all"))
		}, []byte("all"))
		switch {
		case err == nil:
			n.stored.Add(1)
			want++
		case dberr.Is(err, dberr.UnknownOutcome):
			n.unknown.Add(1)
			if settled := settle(t, e, key); settled == want+1 {
				n.landed.Add(1)
				want++
			}
		case dberr.Is(err, dberr.Unavailable):
			n.refused.Add(1)
		default:
			t.Errorf("Update: %v", err)
		}
		if got := settle(t, e, key); got != want {
			t.Fatalf("writer %d has %d after round %d, want %d", writer, got, round, want)
		}
	}
}

// add adds one to a counter.
func add(tx kv.Txn, key []byte) error {
	n, err := number(tx.GetForUpdate(key))
	if err != nil {
		return err
	}
	return tx.Put(key, strconv.AppendInt(nil, int64(n)+1, 10))
}

// number reads a counter, 0 if it is absent.
func number(value []byte, err error) (int, error) {
	if dberr.Is(err, dberr.NotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(value))
}

// settle returns a counter, which it writes as it is: what comes late conflicts with that. It asks until
// it is told.
func settle(t *testing.T, e kv.Engine, key []byte) (n int) {
	for {
		err := e.Update(context.Background(), func(tx kv.Txn) (err error) {
			if n, err = number(tx.GetForUpdate(key)); err != nil {
				return err
			}
			return tx.Put(key, strconv.AppendInt(nil, int64(n), 10))
		})
		if err == nil {
			return n
		}
		if !dberr.Is(err, dberr.UnknownOutcome) && !dberr.Is(err, dberr.Unavailable) {
			t.Fatalf("Update: %v", err)
		}
	}
}

// run has writers count, and then holds the shared counter against what they were told.
func (n *tally) run(t *testing.T, e kv.Engine, writers, rounds int, each func(writer, round int)) {
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() { n.count(t, e, w, rounds, func(round int) { each(w, round) }) })
	}
	wg.Wait()
	if all := settle(t, e, []byte("all")); int64(all) != n.stored.Load()+n.landed.Load() {
		t.Errorf("the shared counter is %d after %d writes, and %d of %d whose outcome was not known", all, n.stored.Load(), n.landed.Load(), n.unknown.Load())
	}
	t.Logf("%d stored, %d unknown of which %d landed, %d refused", n.stored.Load(), n.unknown.Load(), n.landed.Load(), n.refused.Load())
}

// commits reports whether a piece of what a client sends has a commit.
func commits(sent []byte) bool { return bytes.Contains(sent, []byte("\x00"+stCommit+"\x00")) }

// TestCutConnections loses connections before, while and after commits are on their way.
func TestCutConnections(t *testing.T) {
	c := postgres.Cluster(t)
	var mu sync.Mutex
	r := kvtest.NewRand(1)
	cut := true
	var cuts [4]int
	p, err := pgtest.NewProxy(c, func(sent []byte) pgtest.Verdict {
		mu.Lock()
		defer mu.Unlock()
		verdict := pgtest.Pass
		if cut && commits(sent) && r.Chance(6) {
			verdict = pgtest.Verdict(1 + r.IntN(3))
		} else if cut && r.Chance(40) {
			verdict = pgtest.Drop
		}
		cuts[verdict]++
		return verdict
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	e := open(t, Options{URL: p.URL(), Connections: 12})
	defer e.Close()
	n := &tally{}
	n.run(t, e, 4, 40, func(int, int) {})
	mu.Lock()
	cut = false
	mu.Unlock()
	if n.unknown.Load() == 0 || n.landed.Load() == 0 || n.landed.Load() == n.unknown.Load() {
		t.Errorf("of %d unknown outcomes %d landed: the test shows too little", n.unknown.Load(), n.landed.Load())
	}
	for verdict, times := range cuts {
		if times == 0 {
			t.Errorf("nothing had verdict %d", verdict)
		}
	}
}

// TestTerminatedSessions ends random sessions on the server.
func TestTerminatedSessions(t *testing.T) {
	c := postgres.Cluster(t)
	e := open(t, Options{Connections: 12})
	defer e.Close()
	n := &tally{}
	n.run(t, e, 4, 40, func(writer, round int) {
		if writer > 0 || round%4 > 0 {
			return
		}
		if err := c.Admin(context.Background(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE application_name = 'sectional' AND query LIKE '%'||$1||'.kv%' ORDER BY md5(pid::text || $2) LIMIT 2`, e.o.Schema, strconv.Itoa(round)); err != nil {
			t.Error(err)
		}
	})
}

// TestServerCrashes ends the PostgreSQL server as a crash does, while there are writes, and starts it again.
func TestServerCrashes(t *testing.T) {
	pgtest.Need(t)
	c, err := pgtest.Start(pgtest.Options{Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	e := open(t, Options{URL: c.URL(), Schema: "crashes", RetryFor: time.Minute, Connections: 12})
	defer e.Close()
	n := &tally{}
	n.run(t, e, 4, 20, func(writer, round int) {
		if writer == 0 && round%10 == 5 {
			if err := c.Restart(syscall.SIGQUIT); err != nil {
				t.Error(err)
			}
		}
	})
	if n.refused.Load() > 0 {
		t.Errorf("%d writes were refused though the server came back in time", n.refused.Load())
	}
}

// TestServerAway: calls wait for a server that is away, for a while, and then say so. The log tells of it once, and when
// it is back.
func TestServerAway(t *testing.T) {
	pgtest.Need(t)
	c, err := pgtest.Start(pgtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	var log bytes.Buffer
	e := open(t, Options{URL: c.URL(), Schema: "away", RetryFor: 50 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	defer e.Close()
	put := func(tx kv.Txn) error { return add(tx, []byte("n")) }
	if err := e.Update(context.Background(), put); err != nil {
		t.Fatal(err)
	}
	if err := c.Halt(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	look := func(s kv.Snapshot) error { _, err := s.Get([]byte("n")); return err }
	if err := e.View(context.Background(), look); !dberr.Is(err, dberr.Unavailable) {
		t.Errorf("View: %v", err)
	}
	if err := e.Update(context.Background(), put); !dberr.Is(err, dberr.Unavailable) {
		t.Errorf("Update: %v", err)
	}
	if err := e.Discard(context.Background(), kv.Range{}); !dberr.Is(err, dberr.Unavailable) {
		t.Errorf("Discard: %v", err)
	}
	if !e.Away() {
		t.Error("it is not told that the server is away")
	}
	if err := c.Restart(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	for e.Away() { // it has it asked
		runtime.Gosched()
	}
	if err := e.Update(context.Background(), put); err != nil {
		t.Errorf("after it came back: %v", err)
	}
	if n := settle(t, e, []byte("n")); n != 2 {
		t.Errorf("%d writes are there, want 2", n)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(log.String(), "\n"); len(lines) != 4 || !strings.Contains(lines[1], "does not answer") || !strings.Contains(lines[2], "answers again") {
		t.Errorf("the log says:\n%s", log.String())
	}
}

// TestStandsStill: who stands still with a lock, as a process that was stopped does, keeps others waiting for a moment
// only, and goes on from the beginning, whether it was to read next or to commit.
func TestStandsStill(t *testing.T) {
	head := []byte("head")
	for _, reads := range []bool{true, false} {
		still := open(t, Options{MaxBlocking: 100 * time.Millisecond})
		other := open(t, Options{Schema: still.o.Schema})
		runs := 0
		err := still.Update(t.Context(), func(tx kv.Txn) error {
			n, err := tx.GetForUpdate(head)
			if err != nil && !errors.Is(err, kv.ErrNotFound) {
				return err
			}
			if runs++; runs == 1 {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				if err := other.Update(ctx, func(tx kv.Txn) error { return tx.Put(head, []byte("other")) }, head); err != nil {
					t.Errorf("who waits for the lock: %v", err)
				}
			}
			if reads {
				if _, err := tx.Get([]byte("more")); err != nil && !errors.Is(err, kv.ErrNotFound) {
					return err
				}
			}
			return tx.Put(head, append(n, " still"...))
		}, head)
		if err != nil && !dberr.Is(err, dberr.UnknownOutcome) || err == nil && runs != 2 {
			t.Errorf("reads %t: %v after %d runs", reads, err, runs)
		}
		err = other.View(t.Context(), func(v kv.Snapshot) error {
			n, err := v.Get(head)
			if want := "other still"; string(n) != want && runs == 2 {
				t.Errorf("reads %t: %q, want %q", reads, n, want)
			}
			return err
		})
		if err = errors.Join(err, still.Close(), other.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestStandsStillAlone: so does who has lost so often that it keeps out all others.
func TestStandsStillAlone(t *testing.T) {
	key := []byte("key")
	still := open(t, Options{MaxBlocking: 100 * time.Millisecond})
	defer still.Close()
	other := open(t, Options{Schema: still.o.Schema})
	defer other.Close()
	runs := 0
	err := still.Update(t.Context(), func(tx kv.Txn) error {
		if _, err := tx.GetForUpdate(key); err != nil && !errors.Is(err, kv.ErrNotFound) {
			return err
		}
		if runs++; runs <= sharedAttempts+1 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			if err := other.Update(ctx, func(tx kv.Txn) error { return tx.Put(key, fmt.Append(nil, runs)) }); err != nil {
				t.Errorf("another, in run %d: %v", runs, err)
			}
		}
		return tx.Put(key, []byte("still"))
	})
	if err != nil && !dberr.Is(err, dberr.UnknownOutcome) || err == nil && runs != sharedAttempts+2 {
		t.Errorf("%v after %d runs", err, runs)
	}
}
