/**
 * The text of `bin/svc` of a data directory: a script for any POSIX shell, which asks the daemon inside
 * a run and starts the program everywhere else. `calls.ts` describes the protocol.
 *
 * A call takes as long as the processes that it starts: the shell that reads this, and `cat` if the
 * command reads standard input. Everything else is built into the shell. Names of variables start
 * with `svc_`, so that no variable that the caller has exported is changed.
 *
 * @module
 */

import { shellWord } from "../base/shell_word.ts";

/** File name of the pipe by which callers wake the daemon. */
export const WAKE_PIPE = "bell";

/** The program, the data directory and the pipes of a script. */
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
# In a script of a plugin or a step it first asks the daemon, which carries out the commands that
# scripts use most: starting the program takes long. If the daemon cannot do exactly what the program
# would do, this starts the program.

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

# Wakes the daemon, which may read what this has written so far.
svc_ring() {
  printf '%s\\n' "\${svc_pipe##*/}" >&3
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

# Copies standard input into a file, from which the daemon or the program reads it. It can be as long as
# the program takes (64 MiB, in blocks of 512 bytes). Fails if nothing has been read. The file is opened
# for writing and for reading before the copy: a daemon that ends removes the file, and another one of
# this name must not be read instead.
svc_keep_input() {
  { command exec 7>"$svc_pipe.input" 8<"$svc_pipe.input"; } 2>/dev/null || {
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

# The daemon is asked only in one of its runs, and only if no terminal is involved.
[ -n "\${SVC_RUN_TOKEN-}" ] && [ -z "\${SVC_SERVER-}\${SVC_TOKEN-}" ] &&
  [ "\${SVC_DATA_DIR-}" = ${shellWord(root)} ] && [ -p "$svc_calls/${WAKE_PIPE}" ] &&
  ! [ -t 0 ] && ! [ -t 1 ] && ! [ -t 2 ] && command -v cat >/dev/null &&
  { true 9>&2 2>/dev/null 9<&0 9>&1; } || svc_program "$@"

# Takes a pipe by creating its file, which only one process can. If the call that had the pipe has
# ended in between, the pipe is gone, and the next one is tried.
set -C
svc_pipe=
for svc_out in "$svc_calls"/*.out; do
  [ -p "$svc_out" ] || continue
  svc_pipe=\${svc_out%.out}
  { true >"$svc_pipe.taken"; } 2>/dev/null && [ -p "$svc_out" ] && break
  svc_pipe=
done
set +C
[ -n "$svc_pipe" ] || svc_program "$@"

# Opening a pipe for both directions never waits for another process, so that comes first.
{
  command exec 3<>"$svc_calls/${WAKE_PIPE}" 4<>"$svc_pipe.out" 5<"$svc_pipe.out" 4>&- 6<>"$svc_pipe.taken"
} 2>/dev/null || svc_program "$@"
svc_ask "$@"
svc_program "$@"
`;
}
