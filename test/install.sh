#!/bin/sh
# Installs what tests use: packages of Node, and Debian packages where one is missing and this process may install it. What is
# still missing is named, and the tests that need it are skipped.
set -eu
missing=
for pair in postgresql:/usr/lib/postgresql pgbouncer:pgbouncer iproute2:ip chromium:chromium haproxy:haproxy rpm:rpm awscli:/usr/lib/python3/dist-packages/awscli python3-boto3:/usr/lib/python3/dist-packages/boto3; do
  program=${pair#*:}
  command -v "$program" > /dev/null || [ -e "$program" ] || missing="$missing ${pair%%:*}"
done
for clients in node browser; do
  (cd "$(dirname "$0")/$clients" && npm ci --no-audit --no-fund --prefer-offline --loglevel=error)
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086
  apt-get -qq update && apt-get -qq install --yes --no-install-recommends $missing > /dev/null && exit 0
fi
echo "not installed, so that some tests are skipped:$missing"
