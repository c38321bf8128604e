#!/bin/sh
# Before the files go: on removal (of dpkg "remove", of rpm 0) the service ends; an upgrade restarts it afterwards.
set -e
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
	case "$1" in
	remove | 0) systemctl disable --now sectional.service || true ;;
	esac
fi
