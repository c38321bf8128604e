package pgkv

import (
	"context"
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5"

	"github.com/sectional/sectional/internal/dberr"
)

// format is the version of the table's form, in the table "format".
const format = 1

// createLock is the advisory lock of whoever creates the tables.
const createLock = 0x5ec710a1

// create makes the tables. bytea is compared as unsigned bytes, as the contract wants
// it. Rows are changed in place where their page has room (a fillfactor of 85 leaves
// some): the value is in no index, so that a change of a counter touches no index.
// Rows over 4 KB are compressed and then moved aside; most documents are below and are read
// with their key. The table is cleaned when a fiftieth of it is dead, because rows that
// are written again and again (heads of databases) lie among those that never are.
const create = `
CREATE SCHEMA IF NOT EXISTS %[1]s;
CREATE TABLE %[1]s.kv (
	key   bytea NOT NULL,
	value bytea NOT NULL,
	PRIMARY KEY (key)
) WITH (fillfactor = 85, toast_tuple_target = 4096,
	autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.2);
CREATE TABLE %[1]s.format (version integer NOT NULL);
INSERT INTO %[1]s.format VALUES (%[2]d);`

// compress asks for the faster compression, which a server may lack.
const compress = `ALTER TABLE %[1]s.kv ALTER COLUMN value SET COMPRESSION lz4`

// prepareSchema makes sure that the tables are there and of a form that is understood,
// and that the server keeps what it acknowledges.
func (e *Engine) prepareSchema(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := e.connectPatiently(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := e.checkServer(ctx, conn); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", createLock); err != nil {
			return err
		}
		return e.createTables(ctx, tx)
	})
}

func (e *Engine) createTables(ctx context.Context, tx pgx.Tx) error {
	name := e.o.Schema
	var there bool
	if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", name+".format").Scan(&there); err != nil {
		return err
	}
	if there {
		return e.checkFormat(ctx, tx)
	}
	sql := fmt.Sprintf(create, name, format)
	if _, err := tx.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	faster, err := tx.Begin(ctx) // a savepoint: to fail here is no failure
	if err != nil {
		return err
	}
	if _, err := faster.Exec(ctx, fmt.Sprintf(compress, name)); err != nil {
		return faster.Rollback(ctx)
	}
	return faster.Commit(ctx)
}

func (e *Engine) checkFormat(ctx context.Context, tx pgx.Tx) error {
	var version int
	if err := tx.QueryRow(ctx, "SELECT version FROM "+e.o.Schema+".format").Scan(&version); err != nil {
		return err
	}
	if version != format {
		return dberr.New(dberr.Invalid, "", "The tables in schema %s are of form %d; this version knows form %d.", e.o.Schema, version, format)
	}
	return nil
}

// checkServer refuses servers that lose what they acknowledge, and settings of ours that would.
func (e *Engine) checkServer(ctx context.Context, conn *pgx.Conn) error {
	switch e.o.Commit {
	case "on", "remote_apply", "remote_write":
	default:
		return dberr.New(dberr.Invalid, "", "Commits can be on, remote_apply or remote_write, not %q: an acknowledged write must be on disk.", e.o.Commit)
	}
	var fsync string
	if err := conn.QueryRow(ctx, "SHOW fsync").Scan(&fsync); err != nil {
		return err
	}
	switch {
	case fsync != "on" && !e.o.Unsafe:
		return dberr.New(dberr.Invalid, "", "The PostgreSQL server has fsync off: it would lose acknowledged writes.")
	case fsync != "on":
		e.o.Logger.Error("THE POSTGRESQL SERVER HAS fsync OFF: a crash of its machine loses acknowledged writes. The environment says that this is a test.")
	}
	return e.checkSessions(ctx, conn)
}

// schemaName is what a schema may be called, so that it needs no quotes.
var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)
