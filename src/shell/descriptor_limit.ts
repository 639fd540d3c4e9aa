/**
 * How many descriptors this process may have. Deno does not tell, and reads `/proc/self/limits`
 * only with every permission; a shell knows, and inherits the limit.
 *
 * @module
 */

/** Taken where there is no limit, or the shell does not know `ulimit -n`. */
const PLENTY = 20_000;

/** The limit on descriptors that is in force for this process. */
export async function readDescriptorLimit(): Promise<number> {
  const { success, stdout } = await new Deno.Command("/bin/sh", {
    args: ["-c", "ulimit -n"],
    clearEnv: true,
    stdin: "null",
    stderr: "null",
  }).output();
  const text = new TextDecoder().decode(stdout).trim();
  return success && /^[0-9]{1,15}$/.test(text) ? Number(text) : PLENTY;
}
