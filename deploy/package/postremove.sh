#!/bin/sh
# After the files are gone: on removal (of dpkg "remove", of rpm 0) systemd forgets the unit.
set -e
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
	case "$1" in
	remove | 0) systemctl daemon-reload || true ;;
	esac
fi
