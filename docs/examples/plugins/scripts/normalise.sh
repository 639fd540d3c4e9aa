#!/bin/sh
# Transformer: reads the platform's payload on standard input and prints one JSON object.
# Values go through payload-extract and are put back as JSON, never pasted into text.
set -eu

user=$(svc tool payload-extract --path event.user < "$WEBHOOK_BODY_FILE")
printf '{"kind":"message","user":"%s"}\n' "$(printf %s "$user" | tr -cd 'A-Za-z0-9_-')"
