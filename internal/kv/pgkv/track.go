package pgkv

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/kv"
)

// While a copy is made PostgreSQL itself notes which keys are written, by triggers, whichever
// server writes, also one of an older version, or one that starts in the middle. When no copy is made there are no triggers. Those
// that a copier has left that was killed note nothing: they look for the lock that its session
// held. Notes lie in a table that a crash of PostgreSQL empties, which ends the session as well.
//
// The fence is a lock on the table, in the transaction that in the end marks the source as moved:
// if that commits, nobody has written since the lock was there. It goes with the session.
// What has moved as a whole gets a trigger, in the same transaction, that refuses all writes.

const (
	// trackingLock is held by who tracks, and notingLock as long as triggers are to note what is written.
	trackingLock = "tracking"
	notingLock   = "noting"

	// lockFor is how long is waited for a lock on the table, behind which writers wait.
	lockFor = 2 * time.Second
	// dropFor is that for who removes triggers, behind whom readers wait as well.
	dropFor = 100 * time.Millisecond
	// lockTries is how often it is tried.
	lockTries = 20
	// claimTries is how often it is tried to be the one who tracks, and claimPause the time in between.
	claimTries = 20
	claimPause = 50 * time.Millisecond
	// fencedFor is how long a fence stands by itself.
	fencedFor = 10 * time.Second
	// trackedFor is how long a copier may ask for nothing until it is taken for lost.
	trackedFor = 10 * time.Minute
	// mostNotes is how many notes are taken at once; behind a fence it is all.
	mostNotes = 50_000
)

// refusedCode is the SQLSTATE of what the trigger of a store that has moved refuses.
const refusedCode = "SM001"

// noting makes what notes keys: the table is locked so that whoever writes afterwards finds all of it.
const noting = `
BEGIN;
SET LOCAL lock_timeout = %[2]d;
LOCK TABLE %[1]s.kv IN SHARE ROW EXCLUSIVE MODE;
CREATE UNLOGGED TABLE IF NOT EXISTS %[1]s.written (key bytea NOT NULL);
TRUNCATE %[1]s.written;
CREATE OR REPLACE FUNCTION %[1]s.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $note$
BEGIN
	IF NOT pg_try_advisory_xact_lock_shared(%[3]d) THEN
		INSERT INTO %[1]s.written SELECT key FROM changed WHERE key >= '\x%[4]s'::bytea AND key < '\x%[5]s'::bytea;
	END IF;
	RETURN NULL;
END $note$;
CREATE OR REPLACE TRIGGER sectional_insert AFTER INSERT ON %[1]s.kv REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION %[1]s.note();
CREATE OR REPLACE TRIGGER sectional_update AFTER UPDATE ON %[1]s.kv REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION %[1]s.note();
CREATE OR REPLACE TRIGGER sectional_delete AFTER DELETE ON %[1]s.kv REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION %[1]s.note();
SELECT pg_advisory_lock(%[3]d);
COMMIT;`

// notingNot removes it.
const notingNot = `
BEGIN;
SET LOCAL lock_timeout = %[2]d;
DROP TRIGGER IF EXISTS sectional_insert ON %[1]s.kv;
DROP TRIGGER IF EXISTS sectional_update ON %[1]s.kv;
DROP TRIGGER IF EXISTS sectional_delete ON %[1]s.kv;
DROP FUNCTION IF EXISTS %[1]s.note;
DROP TABLE IF EXISTS %[1]s.written;
COMMIT;`

// fencing keeps writers out, and those who lock rows in order to write, before the snapshot is taken.
const fencing = `
BEGIN ISOLATION LEVEL REPEATABLE READ;
SET LOCAL lock_timeout = %[2]d;
SET LOCAL idle_in_transaction_session_timeout = %[3]d;
LOCK TABLE %[1]s.kv IN EXCLUSIVE MODE;`

// refusing has writers be refused from the commit on. The rest of this transaction is not.
const refusing = `
SET LOCAL sectional.leaving = 'on';
CREATE OR REPLACE FUNCTION %[1]s.moved() RETURNS trigger LANGUAGE plpgsql AS $moved$
BEGIN
	RAISE EXCEPTION USING ERRCODE = '` + refusedCode + `', MESSAGE = TG_ARGV[0];
END $moved$;
CREATE OR REPLACE TRIGGER sectional_moved BEFORE INSERT OR UPDATE OR DELETE ON %[1]s.kv FOR EACH STATEMENT
	WHEN (current_setting('sectional.leaving', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION %[1]s.moved('%[2]s');`

// refusingNot removes it.
const refusingNot = `
BEGIN;
SET LOCAL lock_timeout = %[2]d;
DROP TRIGGER IF EXISTS sectional_moved ON %[1]s.kv;
DROP FUNCTION IF EXISTS %[1]s.moved;
COMMIT;`

// stillNoting counts the triggers of noting.
const stillNoting = `SELECT count(*) FROM pg_trigger WHERE tgrelid = to_regclass($1) AND tgname IN ('sectional_insert', 'sectional_update', 'sectional_delete')`

var (
	errTracked   = dberr.New(dberr.Conflict, "", "A copy is being made already.")
	errTrackLost = "The connection to PostgreSQL by which it was noted what is written was lost; start the copy again."
)

// advisory is the number of a lock of this schema.
func (e *Engine) advisory(name string) int64 {
	sum := sha256.Sum256([]byte(name + "\x00" + e.o.Schema))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// tracking implements kv.Tracking.
type tracking struct {
	e    *Engine
	conn *pgx.Conn // holds the locks

	mu    sync.Mutex
	fence *session // whose transaction has the lock on the table; nil: there is no fence
}

// Track implements kv.Tracker, for all processes that write.
func (e *Engine) Track(ctx context.Context, r kv.Range) (kv.Tracking, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*e.o.Timeout) // of many trips, which wait for locks
	defer cancel()
	conn, err := e.beside(ctx)
	if err != nil {
		return nil, dberr.Wrap("pgkv.Track", e.told(err))
	}
	if err := e.track(ctx, conn, longKeys.Range(r)); err != nil {
		end(conn)
		return nil, dberr.Wrap("pgkv.Track", e.told(err))
	}
	return &tracking{e: e, conn: conn}, nil
}

func (e *Engine) track(ctx context.Context, conn *pgx.Conn, r kv.Range) error {
	if err := e.claimTracking(ctx, conn, claimTries); err != nil {
		return err
	}
	start, end := bounds(r)
	const settings = `SET synchronous_commit = local; SET idle_session_timeout = %d; SET client_min_messages = warning`
	sql := fmt.Sprintf(noting, e.o.Schema, lockFor.Milliseconds(), e.advisory(notingLock), hex.EncodeToString(start), hex.EncodeToString(end))
	if err := run(ctx, conn, fmt.Sprintf(settings, trackedFor.Milliseconds())); err != nil {
		return err
	}
	return retryLocked(ctx, conn, sql)
}

// claimTracking makes sure that there is one who tracks, or removes what one has left. It tries again if it has to wait
// for one whose connection has just ended.
func (e *Engine) claimTracking(ctx context.Context, conn *pgx.Conn, tries int) error {
	for n := 1; ; n++ {
		var ours bool
		err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", e.advisory(trackingLock)).Scan(&ours)
		if err != nil || ours {
			return err
		}
		if n == tries {
			return errTracked
		}
		kv.Pause(ctx, claimPause)
	}
}

// run runs statements.
func run(ctx context.Context, conn *pgx.Conn, sql string) error {
	_, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	return err
}

// retryLocked runs a transaction that waits for a lock for a short time, until it gets that.
func retryLocked(ctx context.Context, conn *pgx.Conn, sql string) (err error) {
	for n := range lockTries {
		if err = run(ctx, conn, sql); !noLock(err) {
			break
		}
		if err := run(ctx, conn, "ROLLBACK"); err != nil {
			return err
		}
		kv.Pause(ctx, time.Duration(n)*10*time.Millisecond)
	}
	if noLock(err) {
		return dberr.New(dberr.Unavailable, "", "PostgreSQL did not give a lock on its table within %v; something has written to it for longer.", lockFor)
	}
	return err
}

// noLock reports whether an error is that of a lock that did not come in time.
func noLock(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.Code == "55P03" || refused.Code == "40P01")
}

// Written implements kv.Tracking.
func (t *tracking) Written(ctx context.Context) (keys [][]byte, discarded []kv.Range, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.e.o.Timeout)
	defer cancel()
	t.mu.Lock()
	most := fmt.Sprint(mostNotes)
	if t.fence != nil {
		most = "ALL"
	}
	t.mu.Unlock()
	rows, err := t.conn.Query(ctx, fmt.Sprintf(`WITH taken AS (DELETE FROM %[1]s.written WHERE ctid = ANY(ARRAY(SELECT ctid FROM %[1]s.written LIMIT %[2]s)) RETURNING key)
		SELECT DISTINCT key FROM taken`, t.e.o.Schema, most))
	if err != nil {
		return nil, nil, t.lost(err)
	}
	var key []byte
	_, err = pgx.ForEachRow(rows, []any{&key}, func() error {
		if len(key) > storedKey { // the rest of it lies in its row
			discarded = append(discarded, kv.Prefix(key[:storedKey:storedKey]))
		} else {
			keys = append(keys, key)
		}
		key = nil
		return nil
	})
	return keys, discarded, t.lost(err)
}

func (t *tracking) lost(err error) error {
	if err == nil {
		return nil
	}
	if transient(err) {
		err = awayBy(err)
	}
	return &dberr.Error{Op: "pgkv.Written", Kind: dberr.Unavailable, Reason: errTrackLost, Cause: err}
}

var errFenceFell = dberr.New(dberr.Unavailable, "", "Writers are not kept out any more; start the copy again.")

// Fence implements kv.Tracking, for all of the table. Errors: context.DeadlineExceeded among the causes also if those who
// write at present did not come to an end.
func (t *tracking) Fence(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fence != nil { // any statement makes the time begin anew
		err := run(ctx, t.fence.conn.Conn(), "SELECT")
		if err == nil {
			return nil
		}
		t.fence.destroy()
		t.fence = nil
		return errors.Join(errFenceFell, err, context.DeadlineExceeded)
	}
	s, err := t.e.connect(ctx, t.e.writes)
	if err != nil {
		return err
	}
	s.open = true
	err = run(ctx, s.conn.Conn(), fmt.Sprintf(fencing, t.e.o.Schema, lockFor.Milliseconds(), fencedFor.Milliseconds()))
	if err != nil {
		s.destroy()
		if noLock(err) {
			return errors.Join(t.e.told(err), context.DeadlineExceeded)
		}
		return t.e.told(err)
	}
	t.fence = s
	return nil
}

// Lower implements kv.Tracking.
func (t *tracking) Lower(context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fence != nil {
		t.fence.end(t.e.o.Timeout)
		t.fence = nil
	}
	return nil
}

// Through implements kv.Tracking. Behind the fence it is the transaction that has the lock.
func (t *tracking) Through(ctx context.Context, fn func(kv.Txn) error, refusal error) error {
	if err := t.e.enter(ctx); err != nil {
		return err
	}
	defer t.e.open.RUnlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fence == nil {
		return errFenceFell
	}
	tx := &txn{reader: reader{e: t.e, ctx: ctx, pool: t.e.writes, begun: t.e.o.Now(), s: t.fence, taken: true}}
	t.fence = nil
	defer tx.end()
	err := fn(longKeys.Txn(tx))
	if err == nil {
		err = tx.lost
	}
	if err == nil && refusal != nil {
		text := dberr.Wrap("", refusal).(*dberr.Error).Reason
		within, cancel := context.WithTimeout(ctx, t.e.o.Timeout)
		defer cancel()
		err = run(within, tx.s.conn.Conn(), fmt.Sprintf(refusing, t.e.o.Schema, strings.ReplaceAll(text, "'", "''")))
	}
	if err == nil {
		err = tx.commit()
	}
	if err == errConflict {
		err = dberr.New(dberr.Unavailable, "", "Something was written behind the fence; start the copy again.")
	}
	return t.e.told(err)
}

// End implements kv.Tracking.
func (t *tracking) End() error {
	err := t.Lower(context.Background())
	end(t.conn)
	ctx, cancel := context.WithTimeout(context.Background(), t.e.o.Timeout)
	defer cancel()
	t.e.untrack(ctx, claimTries)
	return err
}

// untrack removes what notes keys, unless somebody tracks. What can't be removed at present
// is removed by the next who opens the database; it notes nothing.
func (e *Engine) untrack(ctx context.Context, tries int) {
	conn, err := e.beside(ctx)
	if err != nil {
		return
	}
	defer end(conn)
	err = e.claimTracking(ctx, conn, tries)
	if err == nil {
		err = retryLocked(ctx, conn, "SET client_min_messages = warning;"+fmt.Sprintf(notingNot, e.o.Schema, dropFor.Milliseconds()))
	}
	if err != nil && err != errTracked {
		e.o.Logger.Info("what a copy has left in the PostgreSQL server can't be removed now", "err", err)
	}
}

// untrackLeft removes what a copier has left that was killed.
func (e *Engine) untrackLeft(ctx context.Context, conn *pgx.Conn) error {
	var n int
	err := conn.QueryRow(ctx, stillNoting, e.o.Schema+".kv").Scan(&n)
	if err == nil && n > 0 {
		e.untrack(ctx, 1)
	}
	return err
}

// Admit has writers no more be refused whom a Tracking's refusal keeps out.
func (e *Engine) Admit(ctx context.Context) error {
	conn, err := e.beside(ctx)
	if err == nil {
		defer end(conn)
		err = retryLocked(ctx, conn, "SET client_min_messages = warning;"+fmt.Sprintf(refusingNot, e.o.Schema, dropFor.Milliseconds()))
	}
	if err == nil {
		e.refused.Store(false)
	}
	return dberr.Wrap("pgkv.Admit", e.told(err))
}

// Refused reports whether the last write was refused because the data has moved away.
func (e *Engine) Refused() bool { return e.refused.Load() }
