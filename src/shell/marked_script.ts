/**
 * Shell functions that signal processes by a mark in their environment, for other scripts. They keep no
 * process ids, so they never signal a new process with the id of an old one.
 *
 * @module
 */

/**
 * `signal_marked SIGNALS MARKS FILE...` signals every process with one of the marks (`NAME=value`, one a
 * line) in its environment, and its whole group: a process can clear, overwrite or hide its own
 * environment, but not that of the rest of its group. It spares the group of the daemon, to which a new
 * child belongs for a moment. It sets `found` if it has signalled a process.
 *
 * `settle FILE...` waits for those processes that begin another program at this moment: the kernel shows
 * them without an environment. Zombies and the kernel's own (process 2 and its children) never have one. A
 * program that was started without any looks like them, so the wait is short.
 */
export const SIGNAL_MARKED = `
group_of() { # group_of PID: the last line of its stat has the end of its name
  group= stat=
  while read -r line; do stat=$line; done 2>/dev/null < "/proc/$1/stat"
  set -- \${stat##*) }
  state=$1 parent=$2 group=$3
}
group_of "$PPID"
own=$group

settle() {
  for try in 1 2 3; do
    beginning=
    for file in $(grep -Lz -- '' "$@" 2>/dev/null); do
      pid=\${file#/proc/}; pid=\${pid%/environ}
      group_of "$pid"
      case "$state:$parent" in :*|[ZX]:*|*:[02]) ;; *) beginning="$beginning $file" ;; esac
    done
    [ -n "$beginning" ] || return 0
    set -- $beginning
    sleep 0.01
  done
}

signal_marked() {
  signals=$1 marks_sought=$2; shift 2
  settle "$@"
  signalled=' '
  for file in $(grep -lzxF -- "$marks_sought" "$@" 2>/dev/null); do
    pid=\${file#/proc/}; pid=\${pid%/environ}
    group_of "$pid"
    if [ -z "$own" ] || [ "$group" = "$own" ]; then group=; fi
    case "$signalled" in *" $group "*) continue ;; esac
    for signal in $signals; do
      if [ -n "$group" ] && kill -s "$signal" -- "-$group" 2>/dev/null; then
        found=yes signalled="$signalled$group "
      else
        kill -s "$signal" -- "$pid" 2>/dev/null && found=yes
      fi
    done
  done
}
`;
