/**
 * Signals whole process groups. Deno can signal a group only with the right to run any program, and a new
 * shell for each signal takes a spawn. So one shell keeps running, and signals with its builtin `kill`.
 * Another one finds processes that have left their group, by a mark in their environment.
 *
 * @module
 */

import { systemClock } from "../base/clock.ts";
import { findShortage } from "../base/shortage.ts";
import { type ShellCoprocess, startShellCoprocess } from "./shell_coprocess.ts";
import { SCANS } from "./scan_script.ts";
import { ShellPool } from "./shell_pool.ts";

/** Starts, watches and ends process groups. */
export interface ProcessGroups extends AsyncDisposable {
  /** Path of the program that starts another one in a group of its own; `undefined` without it. */
  readonly setsid: string | undefined;
  /** Shells that run one line after another. */
  readonly shells: ShellPool;
  /** Whether any process of the group is left. */
  alive(group: number): Promise<boolean>;
  /** Sends TERM, and KILL after `graceMs`; resolves when no process of the group is left. */
  end(group: number, graceMs: number): Promise<void>;
  /** Ends what a line that is over has left behind in its group; resolves when no process is left. */
  endLeft(group: number): Promise<void>;
  /**
   * Kills every process whose environment holds `NAME=value`, in any group or session, together with its
   * group. Does nothing on a system without `/proc`. The value must be an identifier made by svc.
   */
  endMarked(name: string, value: string): Promise<void>;
  /**
   * The same, only for processes whose parent has ended: when all groups of a task are over, no other
   * process of it can be left. Fast enough to be called for each task.
   */
  endOrphans(name: string, value: string): Promise<void>;
}

/** Prints `yes` when a signal found a process in the group. */
const SIGNALS = `
while read -r signal group; do
  if kill -s "$signal" -- "-$group" 2>/dev/null; then echo yes; else echo no; fi
done`;

/** Most rounds against a process that forks as fast as it is killed. */
const MAX_ROUNDS = 20;

/** How often, and with which pause, a scan is tried that a shortage of the machine keeps from starting. */
const [SCAN_TRIES, SCAN_PAUSE_MS] = [100, 100];

/** Time for a killed process to be gone; it takes longer than an instant only under heavy load. */
const GONE_WITHIN_MS = 5000;

/** Time between TERM and KILL for background processes, when the line itself has ended. */
const LEFTOVER_GRACE_MS = 1000;

/** Starts the shell that signals; the shell that scans processes starts when it is first needed. */
export function openProcessGroups(): ProcessGroups {
  const signals = startShellCoprocess(SIGNALS);
  let scans: ShellCoprocess | undefined;

  const signal = async (name: string, group: number) =>
    await signals.ask(`${name} ${group}`) === "yes";
  const ask = async (line: string) => {
    for (let tries = 1;; tries++) {
      try {
        scans ??= startShellCoprocess(SCANS);
        return await scans.ask(line);
      } catch (error) {
        // Processes that are left behind are ended when there are descriptors for it again.
        if (findShortage(error) === undefined || tries === SCAN_TRIES) throw error;
        await systemClock.pause(SCAN_PAUSE_MS);
      }
    }
  };

  const scan = async (line: string) => await ask(line) === "yes";

  const alive = async (group: number) => await signal("0", group) && await scan(`living ${group}`);

  const gone = async (group: number, withinMs: number): Promise<boolean> => {
    // The real clock, because processes know no other. A deadline and not a number of scans, because on
    // a busy machine a scan takes far longer than the pause after it.
    const start = systemClock.monotonicMs();
    for (let step = 2; await alive(group); step = Math.min(step * 2, 50)) {
      if (systemClock.monotonicMs() - start >= withinMs) return false;
      await systemClock.pause(step);
    }
    return true;
  };

  /** Repeats a scan until it finds no process: one may fork while it is killed, or leave orphans. */
  const untilNone = async (line: string) => {
    for (let round = 0; round < MAX_ROUNDS && await scan(line); round++) await systemClock.pause(5);
  };

  const end = async (group: number, graceMs: number) => {
    if (!await signal("TERM", group)) return;
    await signal("CONT", group);
    await gone(group, graceMs);
    // Reaches processes that the scan has missed, too.
    if (await signal("KILL", group)) await gone(group, GONE_WITHIN_MS);
  };
  const endLeft = async (group: number) => {
    if (await alive(group)) await end(group, LEFTOVER_GRACE_MS);
  };

  const setsid = findSetsid();
  const findReaper = () => ask("reaper");
  const shells = new ShellPool({ clock: systemClock, setsid, findReaper, endLeft });
  return {
    setsid,
    shells,
    alive,
    end,
    endLeft,
    endMarked: (name, value) => untilNone(`marked ${name}=${value}`),
    endOrphans: (name, value) => untilNone(`orphans ${name} ${value}`),
    async [Symbol.asyncDispose]() {
      await shells[Symbol.asyncDispose]();
      await signals[Symbol.asyncDispose]();
      await scans?.[Symbol.asyncDispose]();
    },
  };
}

const SETSID_PATHS = ["/usr/bin/setsid", "/bin/setsid"];

/**
 * The path of `setsid`, which makes a process group; `undefined` where it is missing, or svc may not run
 * it. Deno's own `detached`, which is used then, copies the page tables of the whole daemon for each
 * process (measured: 330 spawns/s, against 900/s through `setsid` and 1,100/s without a group).
 */
export function findSetsid(): string | undefined {
  return SETSID_PATHS.find((path) => {
    const command = { name: "run", command: path } as const;
    if (Deno.permissions.querySync(command).state !== "granted") return false;
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
}
