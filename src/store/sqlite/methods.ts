/**
 * Every method of the store that runs in its thread, by name. The type ensures that none is missing
 * and that each has the parameters and the result that `Store` declares.
 *
 * @module
 */

import * as bodies from "../sql/delete_bodies.ts";
import { SHARED_METHODS } from "../sql/methods.ts";
import { finishMessage } from "../sql/outbox.ts";
import { pauseTasks } from "../sql/pauses.ts";
import { recordSourceEvent } from "../sql/record_source_event.ts";
import { retryTask } from "../sql/retry_task.ts";
import { routeSourceEvent } from "../sql/source_event_routing.ts";
import type { StoreMethod } from "../store.ts";
import type { StoreArgs, StoreResult } from "../store_calls.ts";
import { cancelTask, finishTask } from "../transactions/end_task.ts";
import {
  recordDeliveries,
  recordDelivery,
  storeDelivery,
} from "../transactions/record_delivery.ts";
import type { ChangeTasks } from "../transactions/task_rows.ts";
import type { Database } from "./engine/database.ts";
import * as chain from "./audit/audit_chain.ts";
import * as audit from "./audit/audit_rows.ts";
import * as deliveryLists from "./deliveries/delivery_lists.ts";
import * as rejections from "./deliveries/rejection_rows.ts";
import { rowsOf, type SqliteDeliveryRows } from "./deliveries/sqlite_delivery_rows.ts";
import * as deletion from "./deletion_rows.ts";
import * as size from "./engine/database_size.ts";
import * as nodes from "./node_rows.ts";
import { claimMessages } from "./claim_messages.ts";
import * as prune from "./tasks/prune_rows.ts";
import * as resources from "./resources/resource_rows.ts";
import * as chatClaims from "./chat/claim_source_events.ts";
import * as chatLists from "./chat/chat_lists.ts";
import * as taskCounts from "./tasks/task_counts.ts";
import * as taskLists from "./tasks/task_lists.ts";
import * as scheduling from "./tasks/task_scheduling.ts";
import * as turns from "./turn_rows.ts";
import * as waits from "./wait_rows.ts";

/** A method of {@linkcode Store} as it runs inside a transaction. */
type Inside<Name extends StoreMethod> = (
  db: Database,
  ...args: StoreArgs<Name>
) => StoreResult<Name> | Promise<StoreResult<Name>>;

/** A transaction over the rows of the database. */
function over<Args extends readonly unknown[], Result>(
  transaction: (rows: SqliteDeliveryRows, ...args: Args) => Result,
): (db: Database, ...args: Args) => Result {
  return (db, ...args) => transaction(rowsOf(db), ...args);
}

/** A method of both databases that runs such a transaction as a part of its own. */
function changing<Args extends readonly unknown[], Result>(
  method: (db: Database, changeTasks: ChangeTasks, ...args: Args) => Promise<Result>,
): (db: Database, ...args: Args) => Promise<Result> {
  return (db, ...args) => method(db, (_request, transaction) => transaction(rowsOf(db)), ...args);
}

/** The methods by name. */
export const METHODS: { readonly [Name in StoreMethod]: Inside<Name> } = {
  ...SHARED_METHODS,
  listNodes: nodes.listNodes,
  forgetNode: nodes.forgetNode,
  drainNode: nodes.drainNode,
  reportNode: nodes.reportNode,
  loadResources: resources.loadResources,
  changeResources: resources.changeResources,
  resourceVersion: resources.resourceVersion,
  adoptResources: resources.adoptResources,
  awaitAdoption: resources.awaitAdoption,
  recordDelivery: over(recordDelivery),
  recordDeliveries: over(recordDeliveries),
  recordHandshake: over(storeDelivery),
  recordRejections: rejections.recordRejections,
  listDeliveries: deliveryLists.listDeliveries,
  listHeaderValues: deliveryLists.listHeaderValues,
  recordSourceEvent: changing(recordSourceEvent),
  claimSourceEvents: chatClaims.claimSourceEvents,
  routeSourceEvent: changing(routeSourceEvent),
  listSourceEvents: chatLists.listSourceEvents,
  listBindings: chatLists.listBindings,
  listTasks: taskLists.listTasks,
  findTasks: taskLists.findTasks,
  claimTasks: scheduling.claimTasks,
  claimInterrupted: scheduling.claimInterrupted,
  saveStep: over((rows, taskId, step) => rows.saveStep(taskId, step)),
  beginRound: over((rows, taskId, steps) => {
    for (const step of steps) rows.saveStep(taskId, step);
  }),
  finishTask: over(finishTask),
  requeueTask: scheduling.requeueTask,
  parkTask: scheduling.parkTask,
  takeTurn: turns.takeTurn,
  endTurn: turns.endTurn,
  noteLimit: turns.noteLimit,
  settleRun: turns.settleRun,
  askBudgetsAgain: turns.askBudgetsAgain,
  pruneSessions: turns.pruneSessions,
  openWait: waits.openWait,
  endWait: waits.endWait,
  answerWait: waits.answerWait,
  startChildren: changing(waits.startChildren),
  saveChildOutputs: waits.saveChildOutputs,
  endChild: waits.endChild,
  endWaits: over((rows, taskId, now) => rows.closeWaits(taskId, now)),
  pauseTasks,
  countRunning: taskCounts.countRunning,
  listProjectRooms: taskCounts.listProjectRooms,
  cancelTask: over(cancelTask),
  retryTask: changing(retryTask(taskLists.findTasks)),
  setTaskDirectory: over((rows, taskId, directory) => rows.setDirectory(taskId, directory)),
  listTaskEnds: taskLists.listTaskEnds,
  claimMessages,
  finishMessage: finishMessage("TRUE"),
  pruneTasks: prune.pruneTasks,
  pruneDeliveries: prune.pruneDeliveries,
  pruneRecords: prune.pruneRecords,
  deleteBodies: bodies.deleteBodies,
  listRecordTriggers: prune.listRecordTriggers,
  emptyLog: (db) => db.emptyLogSoon(),
  deleteTask: deletion.deleteTask,
  deleteDelivery: deletion.deleteDelivery,
  moveCursor: over((rows, cursor) => rows.moveCursor(cursor)),
  startAudit: audit.startAudit,
  finishAudit: audit.finishAudit,
  recordAudit: audit.recordAudit,
  claimInterruptedAudits: audit.claimInterruptedAudits,
  listAudit: audit.listAudit,
  findAudit: audit.findAudit,
  verifyAudit: chain.verifyAudit,
  pruneAudit: chain.pruneAudit,
  counts: taskCounts.counts,
  databaseSize: size.databaseSize,
  reclaimSpace: size.reclaimSpace,
};
