/**
 * The rate at which this machine starts processes through `Deno.Command` alone, measured in a
 * separate process (`spawns_program.ts`).
 *
 * @module
 */

import { fileURLToPath } from "node:url";

export interface Spawns {
  /** How many at once. */
  readonly atOnce: number;
  /** How many in total. */
  readonly spawns: number;
  /** The shell line; if absent, one that does nothing. */
  readonly line?: string;
  readonly cwd?: string;
  /** Bytes of standard input. */
  readonly inputBytes?: number;
  /** A program that starts the shell; none if absent. */
  readonly starter?: string;
}

export interface SpawnTimes {
  /** Lines run a second. */
  readonly perSecond: number;
  /** The milliseconds of each run. */
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
