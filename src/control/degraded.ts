/**
 * Faults of the daemon, for `svc status` and the metrics: health conditions that other parts have
 * set, and those that this file checks. It only reads, so it may be called often.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { HealthConditions } from "../base/health_conditions.ts";
import type { DataDir } from "../base/data_dir.ts";
import { diskFault, findDiskSpace } from "../base/disk_space.ts";
import { findOpenToOthers } from "../base/private_files.ts";
import { readPolicy } from "../plugins/policy/policy_file.ts";
import { socketRole } from "../auth/caller.ts";
import type { WorkerLoad } from "../tasks/worker_load.ts";
import { workerFaults } from "./worker_faults.ts";

/** The parts of a daemon that are checked for faults. */
export interface DegradedHost {
  readonly dirs: DataDir;
  readonly health: HealthConditions;
  /** The numbers of plugins that run and that wait. */
  readonly semaphore: { readonly running: number; readonly waiting: number };
  readonly clock: Pick<Clock, "now">;
  readonly worker: { readonly load: () => WorkerLoad };
  /** Number of pending tasks; `undefined` if the database does not answer. */
  readonly pending: () => Promise<number | undefined>;
  /** Why no sandbox can be made; `undefined` if one can, or nothing asks for one. */
  readonly sandboxFault: () => Promise<string | undefined>;
  /** Connections of the webhook server; `undefined` while there is none. */
  readonly connections: () => { readonly open: number; readonly most: number } | undefined;
}

/** From this number of waiting plugins on, plugins count as overloaded. */
const MANY_WAITING = 100;

/** One sentence for each fault found. */
export async function findDegraded(host: DegradedHost): Promise<readonly string[]> {
  const { dirs, health, semaphore } = host;
  const [policy, { fault }, disk, open, sandbox] = await Promise.all([
    readPolicy(dirs),
    socketRole(dirs),
    findDiskSpace(dirs.root),
    findOpenToOthers(dirs),
    host.sandboxFault(),
  ]);
  const found: string[] = [];
  if ("closed" in policy) {
    found.push(`no plugin runs: the policy file is not usable: ${policy.closed}`);
  }
  if (fault !== undefined) found.push(fault);
  if (sandbox !== undefined) found.push(sandbox);
  const full = diskFault(disk, dirs.root);
  if (full !== undefined) found.push(full);
  if (semaphore.waiting >= MANY_WAITING) {
    found.push(`plugins cannot keep up: ${semaphore.running} run and ${semaphore.waiting} wait`);
  }
  const connections = host.connections();
  if (connections !== undefined && connections.open >= connections.most) {
    found.push(`all ${connections.most} connections of the webhook server are in use`);
  }
  const ofTasks = await workerFaults(host.worker.load(), {
    now: host.clock.now(),
    pending: host.pending,
  });
  return [...found, ...open, ...ofTasks, ...health.list()];
}
