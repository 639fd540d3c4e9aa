/**
 * What a pooled shell (`pooled_shell.ts`) reads on its standard input: once the functions below, and then
 * a text for each line that it runs.
 *
 * @module
 */

import { shellWord } from "../base/shell_word.ts";
import { ONE_FILE, type ShellLine } from "./shell_line.ts";

/** The first character of a mark, which output seldom has. */
export const MARK_START = "\x1e";
/** In the place of an exit status: nothing of the line has run. */
export const NEVER = "never";
/** Behind an exit status: no process has been orphaned since the line before. */
export const SAME = "=";

/**
 * The signals that a step may send to its whole group, which the shell survives. A child gets their
 * defaults back. Not those that the processor raises: a handler that returns would meet the fault again.
 */
const SURVIVED = "HUP INT QUIT TRAP ABRT USR1 USR2 PIPE ALRM TERM XCPU VTALRM PROF";

/**
 * `over` ends a line whose exit status is in `r`. It prints a mark, the nonce of the line and the status,
 * on both streams, and the shell can run another line. But the shell exits with the status, as one that
 * ran this line alone, if anything of the line could meet the next one:
 *
 * - A process is left in the group. A process outlives its parent only as a child of the process that
 *   adopts orphans, so the shell examines the children of that one which it has not seen before: state,
 *   group and number of threads in `stat`, after the last `)`, because a process may have any name. Only
 *   builtins of the shell are used.
 * - A pipe has other flags: a program has set `O_NONBLOCK`, which the writers of a pipe share.
 *
 * Behind the status it prints `=` if nothing at all was orphaned, in any group, since its line before: then
 * no process of the line can be left, and none has to be looked for.
 *
 * At the end of its standard input, too, the shell exits with the status of its last line.
 *
 * If the line could not be started, the status is `never`. A shell that cannot fork ends, so its `trap`
 * says it, and waits until the daemon has read that.
 */
export function pooledShellScript(reaper: string): string {
  return `
trap : ${SURVIVED}
trap 'if [ -n "$n" ] && [ -z "$r" ]; then say ${NEVER}; read -r _; fi' EXIT
exec 4>&2 2>/dev/null
n= r= seen= same= last=
say() { printf '\\036%s %s\\n' "$n" "$1"; printf '\\036%s %s\\n' "$n" "$1" >&4; }
flags_of() { flags=; { read -r _; read -r _ flags; } < "/proc/self/fdinfo/$1"; }
flags_of 1; flags1=$flags; flags_of 4; flags4=$flags
is_clean() {
  flags_of 1; [ "$flags" = "$flags1" ] || return
  flags_of 4; [ "$flags" = "$flags4" ] || return
  now=; { read -r now; :; } < /proc/${reaper}/task/${reaper}/children || return
  same='${SAME}'; [ "$now" != "$seen" ] || return 0
  same=
  for pid in $now; do
    case " $seen " in *" $pid "*) continue ;; esac
    [ "$pid" != "$$" ] || continue
    stat=; while read -r line; do stat=$line; done < "/proc/$pid/stat"
    set -- \${stat##*) }
    [ "$3" = "$$" ] || continue
    case "$1 \${18}" in "Z 1" | "X 1" | "Z 0" | "X 0") ;; *) return 1 ;; esac
  done
  seen=$now
}
over() {
  [ -z "$r" ] || is_clean || exit "$r"
  last=\${r:-0}
  say "\${r:-${NEVER}}$same"
  n= r= same=
  return "$last"
}
`;
}

/** Names of variables that the shell can hand on; some names mean something to the shell itself. */
const NAME = /^(?!(?:_|IFS|LINENO|OLDPWD|OPTIND|PPID|PS[124]|PWD)$)[A-Za-z_][A-Za-z0-9_]*$/;

/** Characters of the longest text: the kernel takes 128 KiB for one argument or variable. */
const MAX_SCRIPT = 32 * 1024;

/**
 * The text that runs a line, without the nonce, which goes before it; `undefined` for a line that a
 * pooled shell cannot run as a shell of its own would, or whose start the system might refuse.
 */
export function findPooledScript(command: ShellLine): string | undefined {
  const { line, args = [], cwd, env, stdin, stdinFile } = command;
  if (stdin !== undefined && stdinFile === undefined) return undefined;
  if (!cwd.startsWith("/")) return undefined;
  let variables = "";
  for (const name in env) {
    if (!NAME.test(name)) return undefined;
    variables += `${name}=${shellWord(env[name] ?? "")} `;
  }
  const isFile = ONE_FILE.test(line);
  const [path = ""] = line.split(" ", 1);
  const option = command.stopOnError === true ? "-ec" : "-c";
  const words = [option, isFile ? `exec ${line}` : line, "sh", ...args].map(shellWord).join(" ");
  const shell = `set -- /bin/sh ${words}`;
  const program = isFile
    ? `if [ -f ${path} ] && [ -x ${path} ]; then set -- ${line}; else ${shell}; fi`
    : shell;
  const umask = command.umask.toString(8).padStart(4, "0");
  const script = `if cd -P ${shellWord(cwd)}; then unset OLDPWD; umask ${umask}; ${program}
${variables}"$@" <${shellWord(stdinFile ?? "/dev/null")} 2>&4 4>&-; r=$?; cd /; fi; over\n`;
  return script.length > MAX_SCRIPT || script.includes("\0") ? undefined : script;
}
