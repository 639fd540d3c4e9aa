/**
 * The limit of file descriptors of this process. Deno has no call for it and reads
 * `/proc/self/limits` only with every permission; a shell has one, and inherits the limit.
 *
 * @module
 */

/** Used where there is no limit, or the shell lacks `ulimit -n`. */
const PLENTY = 20_000;

/** The descriptor limit in force for this process. */
export async function readDescriptorLimit(): Promise<number> {
  const { success, stdout } = await new Deno.Command("/bin/sh", {
    args: ["-c", "ulimit -n"],
    cwd: "/",
    clearEnv: true,
    stdin: "null",
    stderr: "null",
  }).output();
  const text = new TextDecoder().decode(stdout).trim();
  return success && /^[0-9]{1,15}$/.test(text) ? Number(text) : PLENTY;
}
