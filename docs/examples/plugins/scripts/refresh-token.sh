#!/bin/sh
# Cron plugin: puts a new token into a SecretStore of its project. A real one would ask the platform
# for it; a run of a cron plugin may read and rotate the secrets of its project.
set -eu

store=$(svc describe secretstore/chat -o json) || { echo "there is no SecretStore chat" >&2; exit 1; }
# The first time there is no token yet.
old=$(printf %s "$store" | svc tool payload-extract --path access_token) || old=none
printf %s "renewed-$(printf %s "$old" | cksum | cut -d' ' -f1)-$(date +%s)" |
  svc tool secret-rotate chat access_token --create --value-file -
