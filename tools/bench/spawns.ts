/**
 * How fast this machine starts processes through `Deno.Command` with nothing else around it,
 * measured in a process of its own (`spawns_program.ts`).
 *
 * @module
 */

import { fileURLToPath } from "node:url";

/** What to start, and how. */
export interface Spawns {
  /** How many at once. */
  readonly atOnce: number;
  /** How many in all. */
  readonly spawns: number;
  /** Shell line; one that does nothing when absent. */
  readonly line?: string;
  readonly cwd?: string;
  /** Bytes of standard input. */
  readonly inputBytes?: number;
  /** Program that starts the shell; none when absent. */
  readonly starter?: string;
}

/** What came of it. */
export interface SpawnTimes {
  /** Lines run a second. */
  readonly perSecond: number;
  /** Milliseconds each of them took. */
  readonly timesMs: readonly number[];
}

/** Runs shell lines and measures them. */
export async function measureSpawns(
  { atOnce, spawns, line = ":", cwd = "/", inputBytes = 0, starter = "" }: Spawns,
): Promise<SpawnTimes> {
  const program = fileURLToPath(new URL("./spawns_program.ts", import.meta.url));
  const args = [atOnce, spawns, line, cwd, inputBytes, starter].map(String);
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--no-config", "--allow-all", program, ...args],
    stdin: "null",
    stderr: "inherit",
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}
