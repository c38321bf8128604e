#!/bin/sh
# After the files are there: the user, its directories, and systemd's knowledge of the unit. DPKG_ROOT is set when the
# package is installed into another root directory than that of this machine.
set -e
root="${DPKG_ROOT:-}"

if command -v systemd-sysusers >/dev/null 2>&1; then
	systemd-sysusers --root="${root:-/}" "${root}/usr/lib/sysusers.d/sectional.conf"
elif [ -z "$root" ] && ! getent passwd sectional >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/sectional --no-create-home --shell /usr/sbin/nologin sectional
fi

# By number, because the names of another root directory are not known here.
owner="$(awk -F: '$1 == "sectional" { print $3 ":" $4; exit }' "${root}/etc/passwd")"
install -d -m 0700 "${root}/var/lib/sectional"
chown "$owner" "${root}/var/lib/sectional"
chown "0:${owner#*:}" "${root}/etc/sectional" "${root}/etc/sectional/sectional.ini"
chmod 0750 "${root}/etc/sectional"
chmod 0640 "${root}/etc/sectional/sectional.ini"

# An upgrade goes on with the new program; a first installation starts nothing before it is configured.
if [ -z "$root" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
	systemctl try-restart sectional.service || true
fi
