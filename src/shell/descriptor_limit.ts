/**
 * The limit of file descriptors of this process. Deno has no function for it, and reads
 * `/proc/self/limits` only with all permissions. A shell inherits the limit and can print it.
 *
 * @module
 */

/** The limit if the system has none, or the shell has no `ulimit -n`. */
const PLENTY = 20_000;

/** The limit of this process. */
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
