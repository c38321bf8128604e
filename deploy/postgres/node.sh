#!/bin/sh
# Starts a PostgreSQL server as the primary or as its standby, with the arguments that are postgres's. PRIMARY names
# the primary, NODE this server. A standby that has no data copies the primary's.
set -eu
start=${START-docker-entrypoint.sh}
if [ "$PRIMARY" = "$NODE" ]; then
  exec $start "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # A copy that was interrupted is begun again.
  rm -rf "$PGDATA.copy"
  until PGPASSWORD=$REPLICATOR_PASSWORD pg_basebackup --pgdata="$PGDATA.copy" --checkpoint=fast --wal-method=stream \
    --write-recovery-conf --dbname="host=$PRIMARY port=${PGPORT-5432} user=replicator application_name=$NODE"; do
    echo "waiting for the primary $PRIMARY"
    rm -rf "$PGDATA.copy"
    sleep 1
  done
  mv "$PGDATA.copy" "$PGDATA"
elif [ ! -e "$PGDATA/standby.signal" ]; then
  echo "$PGDATA was a primary's. As a standby of $PRIMARY it has to begin anew: remove its volume." >&2
  exit 1
fi
exec $start "$@"
