/**
 * What is done to a database without its daemon, as a row of its audit.
 *
 * @module
 */

import type { WallClock } from "../base/clock.ts";
import { idFactory } from "../base/ids.ts";
import type { ControlEvent } from "../store/audit_records.ts";

/** The row of work that is done; who may open the files is admin. */
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
