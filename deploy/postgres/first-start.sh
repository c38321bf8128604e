#!/bin/sh
# Run once, in the new cluster of the first primary: roles, the database, and that commits wait for the other server. That
# comes last, for it is not there yet; it counts from the next start. The standby has it too, for when it is the primary.
set -eu
psql -v ON_ERROR_STOP=1 --no-psqlrc --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
\getenv sectional SECTIONAL_PASSWORD
\getenv replicator REPLICATOR_PASSWORD
CREATE ROLE sectional LOGIN PASSWORD :'sectional';
CREATE DATABASE sectional OWNER sectional;
CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'replicator';
ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 ("postgres-a", "postgres-b")';
SQL
echo 'host replication replicator all scram-sha-256' >> "$PGDATA/pg_hba.conf"
