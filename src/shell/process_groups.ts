/**
 * Signals to whole process groups. Deno can signal a group only with unrestricted `--allow-run`,
 * and a shell per signal costs a spawn, so an idle shell does it: `kill` is built into it. Also
 * finds processes that left their group, by a mark in their environment.
 *
 * @module
 */

import { systemClock } from "../base/clock.ts";
import { type ShellCoprocess, startShellCoprocess } from "./shell_coprocess.ts";
import { SCANS } from "./scan_script.ts";
import { findSetsid } from "./setsid.ts";

/** Ends and watches process groups. */
export interface ProcessGroups extends AsyncDisposable {
  /** Program that starts another one in a group of its own, where there is one. */
  readonly setsid: string | undefined;
  /** Whether any process of the group is left. */
  alive(group: number): Promise<boolean>;
  /** TERM, then KILL after `graceMs`; resolves when no process of the group is left. */
  end(group: number, graceMs: number): Promise<void>;
  /**
   * Kills every process whose environment holds `NAME=value`, in whatever group or session it is,
   * and with each its group; does nothing where the system has no `/proc`. The value must be an
   * identifier of ours.
   */
  endMarked(name: string, value: string): Promise<void>;
  /**
   * The same for those whose parent has ended: for processes all of whose groups are over, where
   * no other process can be left. Quick enough to be done always.
   */
  endOrphans(name: string, value: string): Promise<void>;
}

/** Answers `yes` when a signal found a process in the group. */
const SIGNALS = `
while read -r signal group; do
  if kill -s "$signal" -- "-$group" 2>/dev/null; then echo yes; else echo no; fi
done`;

/** Rounds against a process that forks as fast as it is killed. */
const MAX_ROUNDS = 20;

/** How long a killed process may take to be gone; the kernel needs this only under heavy load. */
const GONE_WITHIN_MS = 5000;

/** Starts the shell that signals; the one that looks at every process starts when it is needed. */
export function openProcessGroups(): ProcessGroups {
  const signals = startShellCoprocess(SIGNALS);
  let scans: ShellCoprocess | undefined;

  const signal = async (name: string, group: number) =>
    await signals.ask(`${name} ${group}`) === "yes";
  const scan = async (line: string) => {
    scans ??= startShellCoprocess(SCANS);
    return await scans.ask(line) === "yes";
  };

  const alive = async (group: number) => await signal("0", group) && await scan(`living ${group}`);

  const gone = async (group: number, withinMs: number): Promise<boolean> => {
    // The machine's own clock, as processes live by no other. By the clock and not by counting: on a
    // busy machine a look takes far longer than the pause after it.
    const start = systemClock.monotonicMs();
    for (let step = 2; await alive(group); step = Math.min(step * 2, 50)) {
      if (systemClock.monotonicMs() - start >= withinMs) return false;
      await systemClock.pause(step);
    }
    return true;
  };

  /**
   * Killing can race with forking, and a killed process leaves orphans: repeats until none is
   * found.
   */
  const untilNone = async (line: string) => {
    for (let round = 0; round < MAX_ROUNDS && await scan(line); round++) await systemClock.pause(5);
  };

  return {
    setsid: findSetsid(),
    alive,
    async end(group, graceMs) {
      if (!await signal("TERM", group)) return;
      await signal("CONT", group);
      await gone(group, graceMs);
      if (await signal("KILL", group)) await gone(group, GONE_WITHIN_MS); // also processes that were not seen
    },
    endMarked: (name, value) => untilNone(`marked ${name}=${value}`),
    endOrphans: (name, value) => untilNone(`orphans ${name} ${value}`),
    async [Symbol.asyncDispose]() {
      await signals[Symbol.asyncDispose]();
      await scans?.[Symbol.asyncDispose]();
    },
  };
}
