/**
 * Named pipes, which the runtime cannot make.
 *
 * @module
 */

/**
 * Makes named pipes that only this user can open, with the `mkfifo` on the PATH that is given.
 *
 * @returns Whether all of them were made: a system may have no `mkfifo`, a file system no pipes.
 */
export async function makeFifos(paths: readonly string[], path: string): Promise<boolean> {
  const { success } = await new Deno.Command("/bin/sh", {
    args: ["-c", 'exec mkfifo -m 600 "$@"', "sh", ...paths],
    clearEnv: true,
    env: { PATH: path },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).output();
  return success;
}
