/**
 * The audit of the control plane: reads of secrets, admin operations, refusals.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { NewId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { ControlAuditStore } from "../store/audit_store.ts";
import type { Caller } from "../auth/caller.ts";

/** Writes audit rows. */
export interface AuditLog {
  /**
   * Records an operation before it is carried out; without its row it is not carried out.
   *
   * @throws {AppError} `overloaded` when the row cannot be written.
   */
  readonly audit: (operation: string, target: string, caller: Caller) => Promise<void>;
  readonly auditRefusal: (operation: string, caller: Caller) => Promise<void>;
}

/** An audit log that writes to the store; refusals go to the daemon's log too. */
export function createAuditLog(host: {
  readonly store: ControlAuditStore;
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
    audit: (operation, target, caller) => write({ operation, target, result: "done" }, caller),
    async auditRefusal(operation, caller) {
      host.log.warn("refused on the control plane", {
        operation,
        caller: caller.name,
        role: caller.role,
      });
      await write({ operation, target: "", result: "denied" }, caller).catch((error) =>
        host.log.error("a refusal could not be written to the audit", { error })
      );
    },
  };
}
