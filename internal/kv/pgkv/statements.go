package pgkv

import (
	"fmt"
	"strings"
)

// statements are what the engine says, by the names under which each connection has them prepared.
type statements map[string]string

// The names of the statements.
const (
	stBegin     = "begin" // a snapshot: the next statement takes it
	stCommit    = "commit"
	stRollback  = "rollback"
	stExclusive = "alone" // nobody else writes until the transaction ends
	stGet       = "get"
	stGetMany   = "getmany"
	stForward   = "forward" // a page of a range
	stBackward  = "backward"
	stAscend    = "ascend" // the first pages of several ranges
	stDescend   = "descend"
	stBriefly   = "briefly" // others wait for what the transaction has locked
	stShare     = "share"   // rows that nobody may change any more
	stClaim     = "claim"   // rows that are about to change
	stUpdate    = "update"  // put where there is a row
	stPut       = "put"
	stDelete    = "delete"
	stLock      = "lock" // until unlocked, over the ends of transactions
	stUnlock    = "unlock"
	stAsync     = "async" // the transaction need not wait for the disk
	stNotify    = "tell"
	stDiscard   = "discard" // a part of a range; the last key of it
	stTime      = "time"
	stSize      = "size" // of the first rows of a range: how many there are, and their bytes
)

// newStatements returns the statements for a schema. Writes go through the keys in ascending
// order, so that of two transactions that write several keys in common one waits at the
// first of them.
// standing says how long, in milliseconds, a transaction may stand still, and held how long one that holds locks, or
// whose session does: others wait for those.
func newStatements(schema string, standing, held int64) statements {
	s := statements{
		stBegin:     "BEGIN ISOLATION LEVEL REPEATABLE READ",
		stCommit:    "COMMIT",
		stRollback:  "ROLLBACK",
		stExclusive: "LOCK TABLE {kv} IN SHARE ROW EXCLUSIVE MODE",
		stGet:       "SELECT value FROM {kv} WHERE key = $1",
		stGetMany:   "SELECT key, value FROM {kv} WHERE key = ANY($1)",
		stForward:   "SELECT key, value FROM {kv} WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3::int8",
		stBackward:  "SELECT key, value FROM {kv} WHERE key >= $1 AND key < $2 ORDER BY key DESC LIMIT $3::int8",
		stAscend:    several("ORDER BY key"),
		stDescend:   several("ORDER BY key DESC"),
		stBriefly:   fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = %d", held),
		stShare:     "SELECT FROM {kv} WHERE key = ANY($1) ORDER BY key FOR SHARE",
		stClaim:     "SELECT FROM {kv} WHERE key = ANY($1) ORDER BY key FOR NO KEY UPDATE",
		stPut: `INSERT INTO {kv} (key, value) SELECT * FROM unnest($1::bytea[], $2::bytea[])
			ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
		stUpdate: "UPDATE {kv} AS row SET value = v FROM unnest($1::bytea[], $2::bytea[]) AS new(k, v) WHERE row.key = k",
		stDelete: "DELETE FROM {kv} WHERE key = ANY($1)",
		stLock:   "SELECT pg_advisory_lock(h), " + idleIn(held) + " FROM unnest($1::int8[]) h",
		stUnlock: "SELECT pg_advisory_unlock_all(), " + idleIn(standing),
		stAsync:  "SET LOCAL synchronous_commit = off",
		stNotify: "SELECT pg_notify($1, m) FROM unnest($2::text[]) AS m",
		stDiscard: `WITH part AS (SELECT key FROM {kv} WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3::int8),
			gone AS (DELETE FROM {kv} AS row USING part WHERE row.key = part.key)
			SELECT key FROM part ORDER BY key DESC LIMIT 1`,
		stTime: "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8",
		stSize: `SELECT count(*), coalesce(sum(size), 0)::int8
			FROM (SELECT key, 40 + 2 * length(key) + pg_column_size(value) AS size
				FROM {kv} WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3::int8) part`,
	}
	for name, sql := range s {
		s[name] = strings.ReplaceAll(sql, "{kv}", schema+".kv")
	}
	return s
}

// several reads a page of each of several ranges: which of them a row is of, key and value. The rows of each come in
// its order, since nothing can be put together but by going through the ranges one after the other.
func several(order string) string {
	return `SELECT n, row.key, row.value FROM unnest($1::bytea[], $2::bytea[], $3::int8[]) WITH ORDINALITY AS page(low, high, most, n)
		CROSS JOIN LATERAL (SELECT key, value FROM {kv} WHERE key >= low AND key < high ` + order + ` LIMIT most) AS row`
}

// idleIn sets how long a transaction of the session may wait for its client.
func idleIn(milliseconds int64) string {
	return fmt.Sprintf("set_config('idle_in_transaction_session_timeout', '%d', false)", milliseconds)
}

// patient has the server end connections to machines that do not answer any more, which would be kept for hours.
const patient = `
SET tcp_keepalives_idle = 10;
SET tcp_keepalives_interval = 2;
SET tcp_keepalives_count = 4;
SET tcp_user_timeout = 15000;
`

// settings are made on each connection. Plans are made once, and go by the index whatever the
// statistics say: a plan that was made while the table was small would be kept. A
// transaction whose process has stopped, and one whose client is gone, do not keep
// what they hold.
const settings = patient + `
SET synchronous_commit = %[1]s;
SET idle_in_transaction_session_timeout = %[2]d;
SET client_connection_check_interval = 10000;
SET statement_timeout = 0;
SET lock_timeout = 0;
SET default_transaction_read_only = off;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET jit = off`
