/**
 * Shell functions that signal processes by a mark in their environment, for the scripts that need
 * them. A number of a process is never kept, so one that has a new owner is never hit.
 *
 * @module
 */

/**
 * `signal_marked SIGNALS MARKS FILE...`: signals every process with one of the marks (`NAME=value`,
 * one a line) in its environment, and its whole group, because a process can clear, overwrite and
 * hide its environment, but not that of the rest of its group. It spares the daemon's own group, in
 * which a child is for a moment. Sets `found` when there was one.
 */
export const SIGNAL_MARKED = `
group_of() { # group_of PID: the last line of its stat has the end of its name
  group= stat=
  while read -r line; do stat=$line; done 2>/dev/null < "/proc/$1/stat"
  set -- \${stat##*) }
  group=$3
}
group_of "$PPID"
own=$group

signal_marked() {
  signals=$1 marks_sought=$2; shift 2
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
