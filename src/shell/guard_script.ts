/**
 * The shell script of the guard (`guard.ts`). It reads lines, answers each with `ok`, and ends marked
 * processes when the lines stop.
 *
 * @module
 */

import { SIGNAL_MARKED } from "./marked_script.ts";

/** The times of the guard. */
export interface GuardTimes {
  /** Age of the last beat at which the guard acts. */
  readonly silenceMs: number;
  /** Time of a process between TERM and KILL. */
  readonly graceMs: number;
}

/**
 * Number of ticks within `silenceMs` at which the guard checks the age of the last beat. It acts when the
 * beat is too old at two ticks in a row: after a machine was busy or asleep, a beat may be on its way.
 */
const TICKS = 16;

/** Rounds without a process, over a second: the daemon may have been starting one when it ended. */
const QUIET_ROUNDS = 10;
/** Most rounds, against a process that no signal ends because the kernel holds it. */
const MAX_ROUNDS = 100;

/**
 * The lines: `watch MARK` adds a mark, `release MARK` removes it. `beat AGE`: so many milliseconds ago
 * the daemon had the right to go on for `silenceMs`. `done`: the lines will end, and this is no reason to
 * act.
 *
 * The time is that of `/proc/uptime`, in hundredths of a second. It includes the time in which the machine
 * slept, in which the right to go on ran out, too.
 *
 * A shell cannot read with a timeout. So one process passes the lines on, another one writes a `tick`
 * between them, and a third one reads both. From the moment the guard acts, it ends marked processes at
 * every tick until there is a beat. Signals for all shells of a user do not end the guard, and neither
 * does an answer without a reader.
 */
export function guardScript({ silenceMs, graceMs }: GuardTimes): string {
  const silence = Math.ceil(silenceMs / 10);
  const grace = Math.ceil(graceMs / 10);
  const pause = (silenceMs / TICKS / 1000).toFixed(3);
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
