/**
 * The files of control groups, through a shell: the compiled program itself has no right to files below
 * `/proc` and `/sys` (docs/decisions/0010-permissions.md).
 *
 * @module
 */

import { startShellCoprocess } from "./shell_coprocess.ts";

/** What is done with the files of control groups and with `/proc`. No path has blanks. */
export interface CgroupFiles extends AsyncDisposable {
  /** The lines of a file; `undefined` if it cannot be read. */
  read(path: string): Promise<readonly string[] | undefined>;
  /** Writes a line into a file that exists, in one call; whether that was taken. */
  write(path: string, text: string): Promise<boolean>;
  /** Makes a directory. Gives the reason, in English, if that fails. */
  make(path: string): Promise<string | undefined>;
  /** Removes a group without processes and without groups below it; whether it is gone. */
  remove(path: string): Promise<boolean>;
  /** The names of the groups in a group. */
  groupsIn(path: string): Promise<readonly string[]>;
}

/**
 * Answers each line with a line: `ok` or `no`, and after it, separated by tabs, lines of a file, names, or
 * an error. Files are read and written by the shell's builtins, so only `make` and `remove` start a
 * process. A shell says no more of a failed write than that it failed.
 */
const SCRIPT = `
export LC_ALL=C
tab=$(printf '\\t')
while read -r op path text; do
  case "$op" in
    read)
      if [ -r "$path" ]; then
        out=
        while IFS= read -r line || [ -n "$line" ]; do out="$out$tab$line"; done < "$path"
        printf 'ok%s\\n' "$out"
      else echo no; fi ;;
    write) if [ -f "$path" ] && echo "$text" > "$path"; then echo ok; else echo no; fi ;;
    make) if out=$(mkdir -- "$path" 2>&1); then echo ok; else echo "no$tab\${out##*: }"; fi ;;
    remove) if rmdir -- "$path" || [ ! -e "$path" ]; then echo ok; else echo no; fi ;;
    list)
      out=
      for one in "$path"/*/; do
        one=\${one%/}
        [ -d "$one" ] && out="$out$tab\${one##*/}"
      done
      printf 'ok%s\\n' "$out" ;;
    *) echo no ;;
  esac
done`;

/** Starts the shell. */
export function openCgroupFiles(): CgroupFiles {
  const shell = startShellCoprocess(SCRIPT);
  const ask = async (op: string, path: string, text = "") => {
    const line = text === "" ? `${op} ${path}` : `${op} ${path} ${text}`;
    // A blank would end the path, a backslash or an empty line would mislead the shell's `read`.
    if (!/^\/[^\s\\]*$/.test(path) || /[\n\\]/.test(text)) return ["no"];
    return (await shell.ask(line)).split("\t");
  };
  const isTaken = async (op: string, path: string, text?: string) =>
    (await ask(op, path, text))[0] === "ok";
  return {
    async read(path) {
      const [answer, ...lines] = await ask("read", path);
      return answer === "ok" ? lines : undefined;
    },
    write: (path, text) => isTaken("write", path, text),
    async make(path) {
      const [answer, reason = "the path cannot be used"] = await ask("make", path);
      return answer === "ok" ? undefined : reason;
    },
    remove: (path) => isTaken("remove", path),
    async groupsIn(path) {
      const [, ...names] = await ask("list", path);
      return names;
    },
    [Symbol.asyncDispose]: () => shell[Symbol.asyncDispose](),
  };
}
