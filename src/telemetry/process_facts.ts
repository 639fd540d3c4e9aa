/**
 * What this process uses, as far as the system tells.
 *
 * @module
 */

import { cpuUsage } from "node:process";

/** Open files and sockets; `undefined` where there is no `/proc`. */
export function findOpenDescriptors(): number | undefined {
  try {
    let open = -1; // looking opens one itself
    for (const _ of Deno.readDirSync("/proc/self/fd")) open++;
    return open;
  } catch {
    return undefined;
  }
}

/** Processor time since the start, in seconds; `undefined` where it cannot be had. */
export function findCpuSecs(): number | undefined {
  try {
    const { user, system } = cpuUsage();
    return (user + system) / 1e6;
  } catch {
    return undefined;
  }
}
