/**
 * The scripts of steps and plugins of a soak. They write into append-only ledgers, which the daemon
 * does not know; the verdict compares its records with them.
 *
 * @module
 */

/**
 * A step: `step.sh MODE [SECS]`. Every process of the step holds its lock, so a second run that
 * begins while such a process is left writes `twin`; with `$SOAK_ALONE` the same holds for the
 * group of the step.
 */
export const STEP_SCRIPT = `#!/bin/sh
note() { printf '%s %s %s %s %s %s %s\\n' "$1" "$SVC_TASK_ID" "$SVC_STEP" "$SVC_ATTEMPT" $$ "$SVC_TRIGGER" "\${SOAK_KEY:--}" >>"$SOAK/ledger"; }
exec 9>>"$SOAK/locks/$SVC_TASK_ID.$SVC_STEP"
flock -n 9 || note twin
if [ -n "\${SOAK_ALONE:-}" ]; then
  exec 8>>"$SOAK/locks/$SVC_TRIGGER.\${SOAK_KEY:--}"
  flock -n 8 || note overlap
fi
note start
case $1 in
  quick) ;;
  slow) sleep "$2" ;;
  fail) note end; exit 3 ;;
  flaky) if [ "$SVC_ATTEMPT" -lt 2 ]; then note end; exit 4; fi ;;
  stubborn) trap '' TERM; sleep "$2" & wait; sleep "$2" ;;
  fork)
    sleep 60 &
    setsid sleep 60 >/dev/null 2>&1 8>&- 9>&- &
    ;;
  output) echo "soaked=$SVC_TASK_ID" >>"$SVC_OUTPUT" ;;
  loud) head -c 200000 /dev/zero | tr '\\0' 'x' ;;
  agent) cat >/dev/null; echo done ;;
  inbox) sleep "$2"; cat "$SVC_INBOX" ;;
  commit) echo "$SVC_TASK_ID" >"made.$SVC_TASK_ID" ;;
  *) exit 64 ;;
esac
note end
`;

/** Writes the id of the audit row of its run. */
const NOTE_RUN = (base: string) => `printf 'run %s %s\\n' "$SVC_RUN_ID" "$1" >>'${base}/plugins'\n`;

/** An interceptor: passes on `x-soak-pass: yes`, never ends on `slow`, rejects everything else. */
export function interceptorScript(base: string): string {
  return `#!/bin/sh
${NOTE_RUN(base)}case $WEBHOOK_HEADER_X_SOAK_PASS in
  yes) exit 0 ;;
  slow) sleep 60 ;;
esac
echo 'not today' >&2
exit 1
`;
}

/** A transformer: prints the body as it came, or no JSON on \`x-soak-turn: broken\`. */
export function transformerScript(base: string): string {
  return `#!/bin/sh
${NOTE_RUN(base)}if [ "$WEBHOOK_HEADER_X_SOAK_TURN" = broken ]; then echo nonsense; else cat; fi
`;
}

/** A cron plugin or a hook: only writes that it ran. */
export function quietScript(base: string): string {
  return `#!/bin/sh\n${NOTE_RUN(base)}`;
}
