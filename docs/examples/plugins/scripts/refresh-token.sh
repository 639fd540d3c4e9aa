#!/bin/sh
# Cron plugin: puts a new token into a SecretStore of its project. A real one would ask the platform
# for it; a run of a cron plugin may read and rotate the secrets of its project.
set -eu

old=$(svc describe secretstore/chat -o json | svc tool payload-extract --path access_token)
printf %s "renewed-$(printf %s "$old" | cksum | cut -d' ' -f1)-$(date +%s)" |
  svc tool secret-rotate chat access_token --value-file -
