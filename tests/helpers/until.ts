/**
 * Waits for something that happens in another process, by polling. The limit is far longer than a
 * busy machine needs: it only makes a test fail that would hang.
 *
 * @module
 */

/** How long `until` waits when no limit is given. */
export const PATIENCE_MS = 120_000;

/**
 * Calls `look` until it returns something, and returns that.
 *
 * @throws {Error} that names `what` when it has not come within `withinMs`.
 */
export async function until<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  withinMs = PATIENCE_MS,
): Promise<T> {
  for (const start = Date.now(); Date.now() - start < withinMs;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`Did not come within ${withinMs} ms: ${what}`);
}

/** The content of a file once it is there and not empty. */
export function untilFile(path: string, withinMs?: number): Promise<string> {
  return until(`the file ${path}`, async () => await findFile(path) || undefined, withinMs);
}

/** The content of a file, if it is there. */
export async function findFile(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Whether a process runs. One that has ended and is not waited for does not run, although `kill -0`
 * still finds it.
 */
export async function processRuns(pid: number): Promise<boolean> {
  const stat = await findFile(`/proc/${pid}/stat`).catch(() => undefined); // ESRCH: it just went
  // The name of a program may contain `)`: the state stands behind the last one.
  if (stat !== undefined) return !/\) [ZX] [^)]*$/.test(stat);
  const { success } = await new Deno.Command("/bin/sh", {
    args: ["-c", 'kill -0 "$1" 2>/dev/null', "sh", String(pid)],
  }).output();
  return success;
}

/** Ids of the processes whose command line holds this text. */
export async function processesWith(text: string): Promise<number[]> {
  const found = await Promise.all(
    pids().map(async (pid) => {
      const line = await findFile(`/proc/${pid}/cmdline`).catch(() => undefined);
      return line?.replaceAll("\0", " ").includes(text) ? [pid] : [];
    }),
  );
  return found.flat();
}

/** Whether a process has a child of this name. */
export async function hasChild(parent: number, name: string): Promise<boolean> {
  const stats = await Promise.all(
    pids().map((pid) => findFile(`/proc/${pid}/stat`).catch(() => undefined)),
  );
  return stats.some((stat) =>
    stat !== undefined && stat.includes(` (${name}) `) &&
    stat.slice(stat.lastIndexOf(")")).split(" ")[2] === String(parent)
  );
}

function pids(): number[] {
  return [...Deno.readDirSync("/proc")].map(({ name }) => Number(name)).filter(Number.isInteger);
}
