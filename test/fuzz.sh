#!/bin/sh
# Runs each fuzz test of the repository for a time, such as 1m: sh test/fuzz.sh TIME
set -eu
grep -rE --include='*_test.go' --exclude-dir=node_modules '^func Fuzz' . | sed -E 's|^(.*)/[^/]*:func (Fuzz[A-Za-z0-9_]*)\(.*|\1 \2|' | sort | while read -r package name; do
  echo "== $name of $package"
  go test -vet=off -run='^$' -fuzz="^$name\$" -fuzztime="$1" -fuzzminimizetime=100x "$package" || exit 1
done
