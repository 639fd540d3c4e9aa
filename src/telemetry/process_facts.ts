/**
 * Resources that this process uses, as far as the system reports them.
 *
 * @module
 */

import { cpuUsage } from "node:process";

/** Number of open descriptors; `undefined` where there is no `/proc`. */
export function findOpenDescriptors(): number | undefined {
  try {
    let open = -1; // reading the directory opens one itself
    for (const _ of Deno.readDirSync("/proc/self/fd")) open++;
    return open;
  } catch {
    return undefined;
  }
}

/** Processor time since the start in seconds; `undefined` where the system does not report it. */
export function findCpuSecs(): number | undefined {
  try {
    const { user, system } = cpuUsage();
    return (user + system) / 1e6;
  } catch {
    return undefined;
  }
}
