/**
 * The shell script of the guard, for `guard.ts`: it reads lines, answers each with `ok`, and ends
 * marked processes when the lines stop.
 *
 * @module
 */

import { SIGNAL_MARKED } from "./marked_script.ts";

/** When the guard acts, and how. */
export interface GuardTimes {
  /** How old the last beat may get. */
  readonly silenceMs: number;
  /** Time of a process between TERM and KILL. */
  readonly graceMs: number;
}

/**
 * How often within `silenceMs` the guard looks how old the last beat is. It acts when it has seen
 * twice that the beat is too old: on a machine that was busy or asleep, one may be on its way.
 */
const LOOKS = 16;

/** Rounds against processes that were being started when the daemon ended: seen for a second. */
const QUIET_ROUNDS = 10;
/** Rounds against one that no signal ends: the kernel holds it. */
const MAX_ROUNDS = 100;

/**
 * `watch MARK` and `release MARK`: what to end, and what no longer. `beat AGE`: so many milliseconds
 * ago the daemon could go on for `silenceMs`. `done`: the end of the lines that is to come means
 * nothing. The time is that of `/proc/uptime`, in hundredths of a second: a machine that slept has
 * not kept its promises either.
 *
 * A shell cannot read with a timeout, so one of the processes passes the lines on, another one
 * writes a `tick` between them, and a third one reads both. It goes on to end what is there, and what
 * comes, at every tick until there is a beat. Signals that are meant for every shell of a user do not
 * end it, nor does an answer that nobody reads any more.
 */
export function guardScript({ silenceMs, graceMs }: GuardTimes): string {
  const silence = Math.ceil(silenceMs / 10);
  const grace = Math.ceil(graceMs / 10);
  const pause = (silenceMs / LOOKS / 1000).toFixed(3);
  return `
trap '' HUP INT TERM PIPE
if [ ! -r /proc/uptime ]; then # nothing could be found
  while read -r line; do echo ok; done
  exit
fi
${SIGNAL_MARKED}
tell_time() { read -r uptime _ < /proc/uptime; now=\${uptime%.*}\${uptime#*.}; }
tell_time
last=$now watched=' ' leave= late=

end_watched() { # TERM, then KILL until none is found
  found=
  [ "$watched" != ' ' ] || return
  list=$(printf '%s\\n' $watched)
  signal_marked 'TERM CONT' "$list" /proc/[0-9]*/environ
  [ -n "$found" ] || return
  tell_time; deadline=$((now + ${grace}))
  while [ "$now" -lt "$deadline" ] && grep -qszxF -- "$list" /proc/[0-9]*/environ; do
    sleep 0.05; tell_time
  done
  round=0 left=yes
  while [ -n "$left" ] && [ "$((round += 1))" -le 20 ]; do
    found=; signal_marked KILL "$list" /proc/[0-9]*/environ; left=$found
  done
  found=yes
}

end_all() {
  rounds=0 quiet=0
  while [ "$quiet" -lt ${QUIET_ROUNDS} ] && [ "$((rounds += 1))" -le ${MAX_ROUNDS} ]; do
    end_watched
    if [ -n "$found" ]; then quiet=0; else quiet=$((quiet + 1)); fi
    sleep 0.1
  done
}

tick() {
  trap 'kill -s KILL "$!"; exit' USR1
  trap 'echo lost' EXIT
  while :; do sleep ${pause} & wait "$!"; tell_time; echo "tick $now" || exit; done
}

{
  tick </dev/null &
  ticker=$!
  while read -r line; do echo "$line" || break; done
  echo end
  kill -s USR1 "$ticker"
} | while read -r op value; do
  case "$op" in
    watch) case "$watched" in *" $value "*) ;; *) watched="$watched$value " ;; esac ;;
    release) case "$watched" in
        *" $value "*) watched="\${watched%%" $value "*} \${watched#*" $value "}" ;;
      esac ;;
    beat)
      tell_time; now=$((now - value / 10))
      [ "$now" -le "$last" ] || last=$now ;;
    done) leave=yes ;;
    tick)
      if [ "$((value - last))" -lt ${silence} ]; then late=; continue; fi
      [ -z "$late" ] || end_watched
      late=yes; continue ;;
    end) [ -n "$leave" ] || end_all; exit ;;
    lost) exit 1 ;; # the daemon starts another one
  esac
  echo ok
done`;
}
