/**
 * The audit of the control plane: reads of secrets, admin operations, refusals.
 *
 * @module
 */

import type { Core } from "../../base/core.ts";
import { defined } from "../../base/defined.ts";
import { toAppError } from "../../base/errors.ts";
import { SparseLog } from "../../base/sparse_log.ts";
import type { NewId } from "../../base/ids.ts";
import type { ControlEvent } from "../../store/audit_records.ts";
import type { ControlAuditStore } from "../../store/audit_store.ts";
import { type Caller, withClient } from "../../auth/caller.ts";

/** An operation to record. */
export interface AuditedOperation {
  readonly operation: string;
  /**
   * The objects of the operation, such as `secretstore/github`. Each gets a row, so nothing is
   * recorded without one.
   */
  readonly targets: readonly string[];
  readonly caller: Caller;
}

/** Records the end of an operation, once: done, or failed with this error. */
export type RecordEnd = (failure?: unknown) => Promise<void>;

/** Records operations before and after they are carried out. */
export interface AuditLog {
  /**
   * Records an operation as `started` before it is carried out; without its row it is not. The
   * returned function records its end: if the daemon dies in between, the row stays as it is.
   *
   * @throws {AppError} `overloaded` when the row cannot be written.
   */
  readonly startAudited: (audited: AuditedOperation) => Promise<RecordEnd>;
  /**
   * Carries out an operation between its two records.
   *
   * @throws {AppError} as {@linkcode startAudited}, and whatever `work` throws.
   */
  readonly audited: <T>(audited: AuditedOperation, work: () => Promise<T>) => Promise<T>;
  /**
   * Records a refused call. A stranger may tell a step what to call: of the calls of a run to one
   * operation, the first has a row, and then those of each minute together, with their number.
   *
   * @param what Of which object, and why, where that is known.
   */
  readonly auditRefusal: (
    operation: string,
    caller: Caller,
    what?: { readonly target: string; readonly reason: string },
  ) => Promise<void>;
}

/** Refused calls of one caller to one operation. */
interface Refusals {
  readonly operation: string;
  readonly caller: Caller;
  readonly count: number;
  readonly target?: string;
  /** Why the last of them was refused. */
  readonly reason?: string;
}

/** An audit log that writes to the store; refusals go to the daemon's log too. */
export function createAuditLog(
  host: Core & {
    readonly store: ControlAuditStore;
    readonly newId: NewId;
    /** Hides secrets in the reasons of failures. */
    readonly secrets: { readonly redact: (text: string) => string };
  },
): AuditLog & AsyncDisposable {
  const write = async (
    what: Pick<ControlEvent, "operation" | "target" | "result"> & { readonly reason?: string },
    by: Caller,
  ): Promise<string> => {
    const id = host.newId();
    await host.store.recordControl({
      reason: "",
      ...what,
      id,
      createdAt: host.clock.now(),
      caller: by.name,
      ...defined({ client: by.client }),
      role: by.role,
    });
    return id;
  };
  const startAudited = async (
    { operation, targets, caller }: AuditedOperation,
  ): Promise<RecordEnd> => {
    const ids: string[] = [];
    for (const target of targets) {
      ids.push(await write({ operation, target, result: "started" }, caller));
    }
    return async (failure) => {
      const result = failure === undefined ? "done" : "failed";
      const reason = failure === undefined ? "" : toAppError(failure).message;
      const end = { result, reason: host.secrets.redact(reason) } as const;
      for (const id of ids) {
        // The operation is done and its answer stays true; the row then keeps the result `started`.
        await host.store.finishControl(id, { ...end, finishedAt: host.clock.now() }).catch(
          (error) =>
            host.log.error("the end of an operation could not be written to the audit", {
              id,
              error,
            }),
        );
      }
    };
  };
  const recordRefusals = async (
    { operation, caller, count, target = "", reason: why = "" }: Refusals,
  ): Promise<void> => {
    const reason = [
      host.secrets.redact(why),
      ...count > 1 ? [`${count} calls within a minute`] : [],
    ].filter((part) => part !== "").join("; ");
    host.log.warn("control plane refused a call", {
      operation,
      caller: withClient(caller.name, caller.client),
      role: caller.role,
      ...count > 1 && { count },
      ...reason !== "" && { reason },
    });
    await write({ operation, target, result: "denied", reason }, caller).catch((error) =>
      host.log.error("a refusal could not be written to the audit", { error })
    );
  };
  let written = Promise.resolve();
  const ofRuns = new SparseLog({
    clock: host.clock,
    log: {
      ...host.log,
      warn(_message, facts = {}) {
        written = Promise.all([written, recordRefusals(facts as unknown as Refusals)]).then(
          () => {},
        );
      },
    },
  });
  return {
    startAudited,
    async audited(what, work) {
      const end = await startAudited(what);
      let result;
      try {
        result = await work();
      } catch (error) {
        await end(error);
        throw error;
      }
      await end();
      return result;
    },
    async auditRefusal(operation, caller, what) {
      const { grant } = caller;
      if (grant === undefined) {
        return await recordRefusals({ operation, caller, count: 1, ...what });
      }
      const { kind, project, taskId = "", deliveryId = "" } = grant;
      const key = [operation, kind, project, taskId, deliveryId].join(" ");
      ofRuns.warn("", { operation, caller, ...what }, { key });
      await written;
    },
    async [Symbol.asyncDispose]() {
      ofRuns[Symbol.dispose]();
      await written;
    },
  };
}
