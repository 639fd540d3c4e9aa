/**
 * The row of the audit for work on a database without its daemon.
 *
 * @module
 */

import type { WallClock } from "../base/clock.ts";
import { idFactory } from "../base/ids.ts";
import type { ControlEvent } from "../store/audit_records.ts";

/** The row of work that is done. Its caller could open the files, and so is admin. */
export function ownRecord(operation: string, target: string, clock: WallClock): ControlEvent {
  const now = clock.now();
  return {
    id: idFactory(clock)(),
    createdAt: now,
    operation,
    target,
    caller: "files",
    role: "admin",
    result: "done",
    reason: "",
    finishedAt: now,
  };
}
