#!/bin/sh
# Runs when the files are gone. dpkg hands over "remove", later "purge"; rpm 0; anything else is an upgrade.
set -e
case "$1" in
  remove | purge | 0) ;;
  *) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
if [ "$1" != remove ] && [ -d /var/lib/svc ]; then
  echo 'svc: its data and its user are kept. To remove them: "rm -r /var/lib/svc", "userdel svc"'
fi
