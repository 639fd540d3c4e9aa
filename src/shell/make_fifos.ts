/**
 * Makes named pipes, for which the runtime has no function. One shell that keeps running makes them all:
 * if the daemon started `mkfifo` each time, its thread would be blocked, and it would take several times
 * as long.
 *
 * @module
 */

import { shellWord } from "../base/shell_word.ts";
import { startShellCoprocess } from "./shell_coprocess.ts";

/** Makes named pipes in one directory, until it is disposed. */
export interface FifoMaker extends AsyncDisposable {
  /**
   * Makes pipes with these names, of letters, digits, dots and dashes. Only this user can open them.
   *
   * @returns Whether all were made: some systems have no `mkfifo`, some file systems have no pipes.
   */
  make(names: readonly string[]): Promise<boolean>;
}

/** A maker for this directory, with the `mkfifo` that is found on `path`. */
export function startFifoMaker(directory: string, path: string): FifoMaker {
  const shell = startShellCoprocess(
    `cd ${shellWord(directory)} || exit; PATH=${shellWord(path)}
while read -r names; do if mkfifo -m 600 $names; then echo yes; else echo no; fi; done`,
  );
  return {
    make: async (names) => await shell.ask(names.join(" ")) === "yes",
    [Symbol.asyncDispose]: () => shell[Symbol.asyncDispose](),
  };
}
