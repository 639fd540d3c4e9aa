#!/bin/sh
# Runs when the files are there. dpkg hands over "configure" and the version of before, if there was one;
# rpm how many versions there are now.
#
# A first installation starts nothing: the package is the command line, too, and whoever tries that out
# on data of their own would find the port taken. An upgrade restarts what runs.
set -e
case "$1 ${2:-}" in
  "configure " | "1 ") upgrade= ;;
  "configure "* | [2-9]*) upgrade=1 ;;
  *) exit 0 ;; # dpkg takes something back
esac

if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers svc.conf
elif ! getent passwd svc >/dev/null; then
  useradd --system --user-group --comment "svc daemon" --home-dir /var/lib/svc --no-create-home \
    --shell /usr/sbin/nologin svc
fi
# As systemd makes it, so that svc init can be run before the daemon.
[ -d /var/lib/svc ] || install -d -o svc -g svc -m 0700 /var/lib/svc

if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
fi
if [ -z "$upgrade" ]; then
  echo 'svc: installed, but not started. As a service: "systemctl enable --now svcd". By hand: "svc init", "svc daemon".'
elif [ -d /run/systemd/system ]; then
  # On Debian it asks whether this machine lets packages restart services.
  restart=systemctl
  if command -v deb-systemd-invoke >/dev/null; then restart=deb-systemd-invoke; fi
  $restart try-restart svcd.service || echo 'svc: the daemon was not restarted: see "journalctl -u svcd"' >&2
fi
