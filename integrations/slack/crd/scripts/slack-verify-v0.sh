#!/bin/sh
# Interceptor: lets a request of Slack pass (exit 0) when its v0 signature is right and fresh. What is
# written to standard error goes to the delivery's record, never to the sender.
set -eu

timestamp=${WEBHOOK_HEADER_X_SLACK_REQUEST_TIMESTAMP:?the timestamp is missing}
signature=${WEBHOOK_HEADER_X_SLACK_SIGNATURE:?the signature is missing}

# Digits only: what looks like an option, an octal number or 1.7e9 has no business in arithmetic.
case $timestamp in
  *[!0-9]* | 0* | ?????????????*) echo "the timestamp is no time" >&2; exit 1 ;;
esac
# Who captured a request may not send it again later. Both sides: a time to come is no better.
age=$(($(date +%s) - timestamp))
if [ "$age" -gt 300 ] || [ "$age" -lt -300 ]; then
  echo "the timestamp is $age seconds off" >&2
  exit 1
fi
case $signature in
  v0=*) digest=${signature#v0=} ;;
  *) echo "the signature has another form" >&2; exit 1 ;;
esac

# The run token of a plugin may read the SecretStores of its trigger's project.
secret=$(svc describe secretstore/slack -o json | svc tool payload-extract --path signing_secret)

# Signed is "v0:TIMESTAMP:BODY", the exact bytes of the body: they come from the file, and printf does
# not touch them as echo would. svc compares in constant time, refuses an empty secret, and gets it as
# a variable, because arguments can be seen by every user of the machine.
{ printf 'v0:%s:' "$timestamp" && cat "$WEBHOOK_BODY_FILE"; } |
  SIGNING_SECRET=$secret svc tool webhook-verify-hmac \
    --secret-env SIGNING_SECRET --body-file - --signature "$digest" >/dev/null
