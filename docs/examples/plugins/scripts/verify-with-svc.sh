#!/bin/sh
# Interceptor: the same check by svc itself, which compares in constant time and needs no openssl.
set -eu

exec svc tool webhook-verify-hmac --scheme slack --secret-ref chat --key signing_secret \
  --body-file "$WEBHOOK_BODY_FILE" \
  --timestamp "${WEBHOOK_HEADER_X_CHAT_TIMESTAMP:?the timestamp is missing}" \
  --signature "${WEBHOOK_HEADER_X_CHAT_SIGNATURE:?the signature is missing}"
