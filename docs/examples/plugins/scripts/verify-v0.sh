#!/bin/sh
# Interceptor: a v0 signature checked by hand. Exit 0 lets the request pass.
# printf %s, never echo: dash's echo rewrites the \n inside JSON and breaks the signature.
set -eu

secret=$(svc describe secretstore/chat -o json | svc tool payload-extract --path signing_secret)
# An empty secret would make a signature that anyone can compute.
[ -n "$secret" ] || { echo "the secret is empty" >&2; exit 1; }

timestamp=${WEBHOOK_HEADER_X_CHAT_TIMESTAMP:?the timestamp is missing}
signature=${WEBHOOK_HEADER_X_CHAT_SIGNATURE:?the signature is missing}
case $timestamp in *[!0-9]* | "") echo "the timestamp is no number" >&2; exit 1 ;; esac
age=$(($(date +%s) - timestamp))
[ "$age" -le 300 ] && [ "$age" -ge -300 ] || { echo "the timestamp is $age s off" >&2; exit 1; }

expected=$({ printf 'v0:%s:' "$timestamp"; cat "$WEBHOOK_BODY_FILE"; } |
  openssl dgst -sha256 -hmac "$secret" | sed 's/.*= *//')
[ "$signature" = "v0=$expected" ] || { echo "the signature does not match" >&2; exit 1; }
