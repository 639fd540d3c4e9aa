/**
 * Traces of control operations (contract 5): secrets that were read, admin work, refusals.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { NewId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Store } from "../store/store.ts";
import type { Caller } from "../auth/caller.ts";

/** Leaves traces. */
export interface AuditLog {
  /**
   * Of something that is about to be done; without the trace it is not done.
   *
   * @throws {AppError} `overloaded` when the trace cannot be written.
   */
  readonly trace: (operation: string, target: string, caller: Caller) => Promise<void>;
  /** Of something that was refused. */
  readonly traceRefusal: (operation: string, caller: Caller) => Promise<void>;
}

/** A tracer that writes to the store, and refusals to the log too. */
export function createAuditLog(host: {
  readonly store: Store;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly log: Log;
}): AuditLog {
  const write = (
    what: { operation: string; target: string; result: "done" | "denied" },
    by: Caller,
  ) =>
    host.store.recordControl({
      ...what,
      id: host.newId(),
      createdAt: host.clock.now(),
      caller: by.name,
      role: by.role,
    });
  return {
    trace: (operation, target, caller) => write({ operation, target, result: "done" }, caller),
    async traceRefusal(operation, caller) {
      host.log.warn("refused on the control plane", {
        operation,
        caller: caller.name,
        role: caller.role,
      });
      await write({ operation, target: "", result: "denied" }, caller).catch((error) =>
        host.log.error("the trace of a refusal could not be written", { error })
      );
    },
  };
}
