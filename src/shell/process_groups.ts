/**
 * Signals whole process groups. Deno can signal a group only with unrestricted `--allow-run`, and a
 * new shell per signal costs a spawn, so an idle shell with its builtin `kill` does it. Also finds
 * processes that left their group, by a mark in their environment.
 *
 * @module
 */

import { systemClock } from "../base/clock.ts";
import { findShortage } from "../base/shortage.ts";
import { type ShellCoprocess, startShellCoprocess } from "./shell_coprocess.ts";
import { SCANS } from "./scan_script.ts";
import { findSetsid } from "./setsid.ts";

/** Ends and watches process groups. */
export interface ProcessGroups extends AsyncDisposable {
  /** Program that starts another one in a group of its own; `undefined` where there is none. */
  readonly setsid: string | undefined;
  /** Whether any process of the group is left. */
  alive(group: number): Promise<boolean>;
  /** TERM, then KILL after `graceMs`; resolves when no process of the group is left. */
  end(group: number, graceMs: number): Promise<void>;
  /**
   * Kills every process whose environment holds `NAME=value`, whatever its group or session,
   * together with its group; does nothing on a system without `/proc`. The value must be an
   * identifier made by svc.
   */
  endMarked(name: string, value: string): Promise<void>;
  /**
   * The same for processes whose parent has ended: enough where all groups of a task are over,
   * because no other process can be left then. Cheap enough to be called always.
   */
  endOrphans(name: string, value: string): Promise<void>;
}

/** Prints `yes` when a signal found a process in the group. */
const SIGNALS = `
while read -r signal group; do
  if kill -s "$signal" -- "-$group" 2>/dev/null; then echo yes; else echo no; fi
done`;

/** Rounds against a process that forks as fast as it is killed. */
const MAX_ROUNDS = 20;

/** How long a machine without descriptors or processes may keep a scan from starting. */
const [SCAN_TRIES, SCAN_PAUSE_MS] = [100, 100];

/** Time for a killed process to be gone; the kernel needs it only under heavy load. */
const GONE_WITHIN_MS = 5000;

/**
 * Starts the shell that signals; the one that scans every process starts when it is first needed.
 */
export function openProcessGroups(): ProcessGroups {
  const signals = startShellCoprocess(SIGNALS);
  let scans: ShellCoprocess | undefined;

  const signal = async (name: string, group: number) =>
    await signals.ask(`${name} ${group}`) === "yes";
  const scan = async (line: string) => {
    for (let tries = 1;; tries++) {
      try {
        scans ??= startShellCoprocess(SCANS);
        return await scans.ask(line) === "yes";
      } catch (error) {
        // what a process has left behind is ended once there are descriptors for it again
        if (findShortage(error) === undefined || tries === SCAN_TRIES) throw error;
        await systemClock.pause(SCAN_PAUSE_MS);
      }
    }
  };

  const alive = async (group: number) => await signal("0", group) && await scan(`living ${group}`);

  const gone = async (group: number, withinMs: number): Promise<boolean> => {
    // The real clock, because processes live by no other. A deadline instead of a count, because on
    // a busy machine a scan takes far longer than the pause after it.
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
      // also processes that the scan missed
      if (await signal("KILL", group)) await gone(group, GONE_WITHIN_MS);
    },
    endMarked: (name, value) => untilNone(`marked ${name}=${value}`),
    endOrphans: (name, value) => untilNone(`orphans ${name} ${value}`),
    async [Symbol.asyncDispose]() {
      await signals[Symbol.asyncDispose]();
      await scans?.[Symbol.asyncDispose]();
    },
  };
}
