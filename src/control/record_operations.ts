/**
 * The handlers of `task.delete` and `delivery.delete`, which delete a record with its content in
 * one transaction, and then the files of its tasks. Files that a crash leaves are removed after the
 * next start, as files without a task.
 *
 * @module
 */

import type { DeletedRecords, RECORD_OPERATIONS } from "../api/record_operations.ts";
import type { Caller } from "../auth/caller.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Deletion, DeletionStore } from "../store/deletion_store.ts";
import type { AuditLog } from "./records/audit_log.ts";
import type { Handlers } from "./server/server.ts";
import type { TasksHost } from "./tasks/task_actions.ts";

/** The records of a daemon, and the files of its tasks. */
interface DeletionHost extends Pick<AuditLog, "audited">, Pick<TasksHost, "directories" | "logs"> {
  readonly store: DeletionStore;
  readonly log: Log;
}

/** A deletion that a caller asks for. */
interface DeletionRequest {
  readonly operation: keyof typeof RECORD_OPERATIONS;
  readonly caller: Caller;
  readonly dryRun: boolean;
  readonly carryOut: (options: { readonly dryRun: boolean }) => Promise<Deletion>;
}

/** The handlers, by name of the operation. */
export function recordHandlers(
  host: DeletionHost,
): Pick<Handlers, keyof typeof RECORD_OPERATIONS> {
  const { store } = host;
  return {
    "task.delete": ({ id, dry_run: dryRun = false }, caller) =>
      deleteRecord({
        operation: "task.delete",
        caller,
        dryRun,
        carryOut: (options) => store.deleteTask(id, options),
      }, host),
    "delivery.delete": ({ id, cascade = false, dry_run: dryRun = false }, caller) =>
      deleteRecord({
        operation: "delivery.delete",
        caller,
        dryRun,
        carryOut: (options) => store.deleteDelivery(id, { cascade, ...options }),
      }, host),
  };
}

/** @throws {AppError} `conflict` while another record needs the deleted one. */
async function deleteRecord(
  { operation, caller, dryRun, carryOut }: DeletionRequest,
  host: DeletionHost,
): Promise<DeletedRecords> {
  // a refusal here leaves no audit row, because nothing was tried
  const planned = await carryOut({ dryRun: true });
  if (dryRun) return view(planned, []);
  // A row for each record, which has its id and nothing of its content.
  const audited = { operation, targets: planned.deleted, caller };
  const done = await host.audited(audited, () => carryOut({ dryRun: false }));
  return view(done, await removeFiles(done, host));
}

/** Removes the files of deleted tasks; returns a sentence for each task with files left. */
async function removeFiles(
  { tasks }: Deletion,
  { logs, directories, log }: DeletionHost,
): Promise<readonly string[]> {
  const left: string[] = [];
  for (const task of tasks) {
    try {
      await logs.left?.remove(task.id);
      await directories.discard(task);
    } catch (error) {
      log.warn("files of a deleted task could not be removed", { task: task.id, error });
      left.push(
        `files of task ${task.id} could not be removed (${messageOf(error)}): ` +
          "the daemon tries again after its next start",
      );
    }
  }
  return left;
}

function view({ deleted, keptBy }: Deletion, warnings: readonly string[]): DeletedRecords {
  return { deleted, kept_by: keptBy, warnings };
}
