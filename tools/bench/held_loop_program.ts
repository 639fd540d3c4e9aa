/**
 * A program that starts shell lines as the daemon starts steps and plugins of one definition, through
 * `runShell`, and prints for each how long it held the event loop. Arguments: how many, and the milliseconds from
 * one start to the next.
 *
 * Meanwhile the event loop does nothing but turn. A turn that takes long was held: by the start
 * itself, or by what the start made the loop do until the next one. The time for which this thread
 * was ready and another one had the processor is taken off.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import { systemClock } from "../../src/base/clock.ts";
import { openProcessGroups } from "../../src/shell/process_groups.ts";
import { runShell } from "../../src/shell/run_shell.ts";

const [starts = 0, pauseMs = 0] = Deno.args.map(Number);
/** Starts that are not counted: code is compiled, and the shells of the pool are started. */
const WARM_UP = 20;

/** Longest turn since the last start. */
let heldMs = 0;
let last = { at: 0, waitedMs: 0 };
let isOver = false;

function turn(): void {
  const now = readClocks();
  if (last.at > 0) heldMs = Math.max(heldMs, now.at - last.at - (now.waitedMs - last.waitedMs));
  last = now;
  if (!isOver) setImmediate(turn);
}

/** Reads both clocks at one moment: a wait between the two would count for one turn and not the other. */
function readClocks(): typeof last {
  for (;;) {
    const before = waitedMs();
    const at = performance.now();
    if (waitedMs() === before) return { at, waitedMs: before };
  }
}

/** For how long this thread was ready and had no processor so far. */
function waitedMs(): number {
  return Number(Deno.readTextFileSync("/proc/thread-self/schedstat").split(" ")[1]) / 1e6;
}

await using groups = openProcessGroups();
const held: number[] = [];
const running: Promise<unknown>[] = [];
turn();
for (let n = 0; n < WARM_UP + starts; n++) {
  heldMs = 0;
  running.push(runShell({
    line: ":",
    pool: "bench",
    stopOnError: true,
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    umask: 0o077,
    graceMs: 1000,
    onOutput: () => {},
  }, { groups, clock: systemClock }));
  await systemClock.pause(pauseMs);
  if (n >= WARM_UP) held.push(heldMs);
}
isOver = true;
await Promise.all(running);
console.log(JSON.stringify(held));
