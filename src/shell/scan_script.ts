/**
 * The shell script that scans processes for `process_groups.ts`. It answers each line with `yes` or `no`.
 *
 * @module
 */

import { SIGNAL_MARKED } from "./marked_script.ts";

/** How often processes without an environment are examined again; each time takes 30 ms. */
const LOOKS = 15;

/**
 * `living GROUP` answers whether a group that a signal has found has a process that is no zombie. (A
 * zombie waits for process 1 and does nothing.) The answer is `no` only when all processes of the group
 * are visible and dead: a group without visible processes is alive as long as a signal finds it.
 *
 * A process may have any name, even `) Z 1 1` or a line break. So only the text after the last `)` of
 * its `stat` counts, and `stat` is read as a whole. A process whose first thread is dead, which `stat`
 * describes, may live on in its other threads; `stat` has their number, too.
 *
 * `marked NAME=value` kills every process with this variable in its environment, and its whole group
 * (`marked_script.ts`). The answer says whether there was one.
 *
 * `orphans NAME value` does the same, but only for processes whose parent has ended: they are children
 * of the process that adopts orphans. Each is examined once: `seen` holds all examined processes,
 * `tagged` those with a variable NAME, with its value. So this takes 0.1 ms where `marked` takes 7 ms,
 * with a hundred processes. One that begins another program is examined again, for half a second at most,
 * because one that was started without an environment looks like that for ever.
 *
 * `reaper` answers the id of that process, or nothing where its children cannot be read.
 */
export const SCANS: string = `
reaper=$( (
  read -r line < /proc/self/stat; parent=\${line%% *}
  (
    while read -r line < /proc/self/stat; do
      set -- \${line##*) }
      [ "$2" = "$parent" ] || break
    done
    echo "$2"
  ) &
) 2>/dev/null )
children=/proc/$reaper/task/$reaper/children
name= seen= tagged=
${SIGNAL_MARKED}
living() { # living GROUP
  tail='[-0-9[:space:]]*$'
  lives="[^ZX] [0-9]+ $1 |[ZX] [0-9]+ $1( -?[0-9]+){14} ([2-9]|[1-9][0-9]+) "
  if grep -qszE -- "\\) ($lives)$tail" /proc/[0-9]*/stat; then
    found=yes
  elif ! grep -qszE -- "\\) [ZX] [0-9]+ $1 $tail" /proc/[0-9]*/stat; then
    kill -s 0 -- "-$1" 2>/dev/null && found=yes
  fi
}

orphans() { # orphans NAME value
  if [ -z "$reaper" ] || [ ! -r "$children" ]; then
    signal_marked KILL "$1=$2" /proc/[0-9]*/environ
    return
  fi
  if [ "$1" != "$name" ]; then name=$1 seen= tagged= looks=0; fi
  pids=
  read -r pids < "$children"
  new=
  for pid in $pids; do
    case " $seen " in *" $pid "*) ;; *) new="$new /proc/$pid/environ" ;; esac
  done
  seen=$pids
  beginning=
  if [ -n "$new" ]; then
    settle $new
    for line in $(grep -Hzo -- "^$name=[0-9A-Za-z]*" $new 2>/dev/null | tr '\\000' ' '); do
      pid=\${line#/proc/}; pid=\${pid%%/*}
      tagged="$tagged $pid=\${line##*=}"
    done
  fi
  still= mine=
  for one in $tagged; do
    case " $pids " in *" \${one%%=*} "*) still="$still $one" ;; *) continue ;; esac
    [ "\${one#*=}" = "$2" ] && mine="$mine /proc/\${one%%=*}/environ"
  done
  tagged=$still
  if [ -z "$beginning" ] || [ "$looks" = ${LOOKS} ]; then
    looks=0
  else
    looks=$((looks + 1)) found=yes # the scan is repeated
    for file in $beginning; do
      pid=\${file#/proc/}; pid=\${pid%/environ}
      unseen=
      for one in $seen; do [ "$one" = "$pid" ] || unseen="$unseen $one"; done
      seen=$unseen
    done
  fi
  [ -z "$mine" ] || signal_marked KILL "$1=$2" $mine # looked at again: a number may have a new owner
}

while read -r op a b; do
  found=no
  case "$op" in
    living) living "$a" ;;
    marked) signal_marked KILL "$a" /proc/[0-9]*/environ ;;
    orphans) orphans "$a" "$b" ;;
    reaper) found=; if [ -n "$reaper" ] && [ -r "$children" ]; then found=$reaper; fi ;;
  esac
  echo "$found"
done`;
