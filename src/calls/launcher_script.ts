/**
 * `bin/svc` of a data directory as text: a script for any POSIX shell, which asks the daemon where
 * that can be and runs the program everywhere else. The protocol is told in `calls.ts`.
 *
 * A call costs as much as the processes it starts: the shell that reads this, and `cat` where the
 * command reads standard input. Everything else is builtin. Names of variables start with `svc_`,
 * so that none that the caller has exported is changed.
 *
 * @module
 */

import { shellWord } from "../base/shell_word.ts";

/** What the script is made for. */
export interface LauncherScript {
  /** Shell words that run the program, to be followed by its arguments. */
  readonly program: string;
  /** Data directory, as its runs know it. */
  readonly root: string;
  /** Directory that the daemon listens in. */
  readonly calls: string;
}

/** The text of `bin/svc`. */
export function launcherScript({ program, root, calls }: LauncherScript): string {
  return `#!/bin/sh
# Runs svc, for the data directory that this is in; written anew by every start of its daemon.
#
# In a script of a plugin or a step it first asks the daemon, which carries out what scripts use
# most by itself: the program is large, and starting it takes long. Whatever the daemon does not do
# exactly as the program would, the program does.

svc_program() {
  ${program} "$@"
}

# Asks the daemon. Returns when the program has to run instead.
svc_ask() {
  printf '%s\\0' "$SVC_RUN_TOKEN" "\${SVC_PROJECT-}" "$#" "$@" 2>/dev/null >&6
  svc_ring
  while IFS= read -r svc_line <&5; do
    case $svc_line in
      'env '*) svc_variables \${svc_line#env } 2>/dev/null >&6 ;;
      input) svc_keep_input || return 0 ;;
      answer) svc_answer ;;
      *) return 0 ;;
    esac
    svc_ring
  done
}

# What the daemon may read by now has been written.
svc_ring() {
  printf '%s\\n' "\${svc_slot##*/}" >&3
}

svc_answer() {
  while IFS= read -r svc_line <&6; do
    case $svc_line in
      'out '*) svc_print "\${svc_line#out }" ;;
      'err '*) printf '%b' "\${svc_line#err }" >&2 2>/dev/null ;;
      'exit '*) exit "\${svc_line#exit }" ;;
      'rest '*) cat <&6; exit "\${svc_line#rest }" ;;
    esac
  done
  echo 'error: The answer of the daemon is incomplete' >&2
  exit 3
}

svc_print() {
  trap 'exit 0' PIPE # the reader of the output has seen enough
  printf '%b' "$1" 2>/dev/null && return
  echo 'error: The output cannot be written' >&2
  exit 1
}

# Keeps standard input in a file, from which the daemon or the program reads it. It can be as long as the
# program takes (64 MiB, in blocks of 512 bytes). Fails when nothing has been read. The file is opened for
# both before anything is: a daemon that ends removes it, and what is written must be what is read.
svc_keep_input() {
  { command exec 7>"$svc_slot.input" 8<"$svc_slot.input"; } 2>/dev/null || {
    exec 7>&-
    return 1
  }
  (ulimit -f 131072; exec cat >&7 3>&- 5<&- 6<&- 7>&- 8<&-) 2>/dev/null || {
    echo 'error: Standard input cannot be kept: it is longer than 64 MiB, or the disk is full' >&2
    exit 1
  }
  exec <&8 7>&- 8<&-
}

svc_variables() {
  for svc_name do
    if eval "[ -n \\"\\\${$svc_name+set}\\" ]"; then
      eval "printf '=%s\\\\0' \\"\\$$svc_name\\""
    else
      printf '\\0'
    fi
  done
}

svc_calls=${shellWord(calls)}

# Only in a run of this daemon, and nowhere near a terminal.
[ -n "\${SVC_RUN_TOKEN-}" ] && [ -z "\${SVC_SERVER-}\${SVC_TOKEN-}" ] &&
  [ "\${SVC_DATA_DIR-}" = ${shellWord(root)} ] && [ -p "$svc_calls/bell" ] &&
  ! [ -t 0 ] && ! [ -t 1 ] && ! [ -t 2 ] && command -v cat >/dev/null &&
  { true 9>&2 2>/dev/null 9<&0 9>&1; } || svc_program "$@"

# Takes a pipe: nobody else can create the same file. One that is over by now is gone.
set -C
svc_slot=
for svc_out in "$svc_calls"/*.out; do
  [ -p "$svc_out" ] || continue
  svc_slot=\${svc_out%.out}
  { true >"$svc_slot.taken"; } 2>/dev/null && [ -p "$svc_out" ] && break
  svc_slot=
done
set +C
[ -n "$svc_slot" ] || svc_program "$@"

# Opened for both directions first, which never waits for the other end.
{
  command exec 3<>"$svc_calls/bell" 4<>"$svc_slot.out" 5<"$svc_slot.out" 4>&- 6<>"$svc_slot.taken"
} 2>/dev/null || svc_program "$@"
svc_ask "$@"
svc_program "$@"
`;
}
