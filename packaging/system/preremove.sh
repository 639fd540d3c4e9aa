#!/bin/sh
# Runs before the files go. dpkg hands over "remove", rpm 0; anything else is an upgrade.
set -e
case "$1" in
  remove | 0) ;;
  *) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then systemctl stop svcd.service; fi
# Also where no systemd runs, as in a container: a link to a unit that is gone would be left.
if command -v systemctl >/dev/null; then systemctl --quiet disable svcd.service; fi
