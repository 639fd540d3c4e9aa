/**
 * The shell script that scans processes, for `process_groups.ts`: it reads one line and answers
 * `yes` or `no`.
 *
 * @module
 */

import { SIGNAL_MARKED } from "./marked_script.ts";

/**
 * `living GROUP`: whether a process of a group that a signal has found is more than a zombie, which
 * waits for process 1 and can do nothing. The answer is `no` only when every process of the group
 * has been seen to be dead: a group without visible processes is alive as long as a signal finds
 * it.
 *
 * A process may have any name, even `) Z 1 1` or a line end: only the text after the last `)` of
 * its `stat` counts, read as a whole. A process whose first thread, which `stat` describes, is dead
 * may live on in its other threads, whose number is there too.
 *
 * `marked NAME=value`: kills every process with that in its environment, and its whole group
 * (`marked_script.ts`). Answers whether there was one.
 *
 * `orphans NAME value`: the same, but only for processes whose parent has ended, which are children
 * of the process that adopts orphans here. Each is examined once: `seen` holds all examined ones,
 * `tagged` those with a NAME, and its value. So this costs 0.1 ms where `marked` takes 7 ms among a
 * hundred processes.
 */
export const SCANS = `
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
  if [ "$1" != "$name" ]; then name=$1 seen= tagged=; fi
  pids=
  read -r pids < "$children"
  new=
  for pid in $pids; do
    case " $seen " in *" $pid "*) ;; *) new="$new /proc/$pid/environ" ;; esac
  done
  seen=$pids
  if [ -n "$new" ]; then
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
  [ -z "$mine" ] || signal_marked KILL "$1=$2" $mine # looked at again: a number may have a new owner
}

while read -r op a b; do
  found=no
  case "$op" in
    living) living "$a" ;;
    marked) signal_marked KILL "$a" /proc/[0-9]*/environ ;;
    orphans) orphans "$a" "$b" ;;
  esac
  echo "$found"
done`;
