/**
 * Every method of the store that runs in its thread, by name. The type ensures that none is missing
 * and that each has the parameters and the result that `Store` declares.
 *
 * @module
 */

import * as bindings from "../sql/bindings.ts";
import * as connections from "../sql/connections.ts";
import * as control from "../sql/control_audit.ts";
import * as cursors from "../sql/cursors.ts";
import * as bodies from "../sql/delete_bodies.ts";
import * as ids from "../sql/id_search.ts";
import * as inbox from "../sql/inbox.ts";
import * as keyUses from "../sql/key_uses.ts";
import * as deliveries from "../sql/deliveries.ts";
import * as outbox from "../sql/outbox.ts";
import { recordSourceEvent } from "../sql/record_source_event.ts";
import { retryTask } from "../sql/retry_task.ts";
import * as prunedEvents from "../sql/source_event_pruning.ts";
import * as queue from "../sql/source_event_queue.ts";
import { routeSourceEvent } from "../sql/source_event_routing.ts";
import * as sourceEvents from "../sql/source_events.ts";
import { forgetTaskEnd } from "../sql/task_ends.ts";
import * as tasks from "../sql/tasks.ts";
import * as tokens from "../sql/tokens.ts";
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
  findDeliveries: deliveries.findDeliveries,
  readDelivery: deliveries.readDelivery,
  readDeliveries: deliveries.readDeliveries,
  listHeaderValues: deliveryLists.listHeaderValues,
  recordSourceEvent: changing(recordSourceEvent),
  claimSourceEvents: chatClaims.claimSourceEvents,
  routeSourceEvent: changing(routeSourceEvent),
  postponeSourceEvent: queue.postponeSourceEvent,
  replaySourceEvent: queue.replaySourceEvent,
  listSourceEvents: chatLists.listSourceEvents,
  findSourceEvents: sourceEvents.findSourceEvents,
  findEventOfDelivery: sourceEvents.findEventOfDelivery,
  findThreadOfTask: bindings.findThreadOfTask,
  pruneSourceEvents: prunedEvents.pruneSourceEvents,
  bindThread: bindings.bindThread,
  listBindings: chatLists.listBindings,
  findBindings: bindings.findBindings,
  recordKeyUse: keyUses.recordKeyUse,
  listKeyUse: keyUses.listKeyUse,
  listTasks: taskLists.listTasks,
  findTasks: taskLists.findTasks,
  claimTasks: scheduling.claimTasks,
  claimInterrupted: scheduling.claimInterrupted,
  saveStep: over((rows, taskId, step) => rows.saveStep(taskId, step)),
  finishTask: over(finishTask),
  requeueTask: scheduling.requeueTask,
  cancelTask: over(cancelTask),
  retryTask: changing(retryTask(taskLists.findTasks)),
  setTaskDirectory: over((rows, taskId, directory) => rows.setDirectory(taskId, directory)),
  addToInbox: inbox.addToInbox,
  listInbox: inbox.listInbox,
  listTaskEnds: taskLists.listTaskEnds,
  forgetTaskEnd,
  addToOutbox: outbox.addToOutbox,
  claimMessages,
  finishMessage: outbox.finishMessage("TRUE"),
  listMessages: outbox.listMessages,
  findMessages: outbox.findMessages,
  retryMessage: outbox.retryMessage,
  dropMessage: outbox.dropMessage,
  outboxCounts: outbox.outboxCounts,
  pruneOutbox: outbox.pruneOutbox,
  pruneTasks: prune.pruneTasks,
  pruneDeliveries: prune.pruneDeliveries,
  pruneRecords: prune.pruneRecords,
  deleteBodies: bodies.deleteBodies,
  listRecordTriggers: prune.listRecordTriggers,
  emptyLog: (db) => db.emptyLogSoon(),
  deleteTask: deletion.deleteTask,
  deleteDelivery: deletion.deleteDelivery,
  listConnectionStates: connections.listConnectionStates,
  noteConnection: connections.noteConnection,
  findCursor: cursors.findCursor,
  moveCursor: over((rows, cursor) => rows.moveCursor(cursor)),
  claimRun: cursors.claimRun,
  findPlan: tasks.findPlan,
  startAudit: audit.startAudit,
  finishAudit: audit.finishAudit,
  recordAudit: audit.recordAudit,
  claimInterruptedAudits: audit.claimInterruptedAudits,
  listAudit: audit.listAudit,
  findAudit: audit.findAudit,
  verifyAudit: chain.verifyAudit,
  pruneAudit: chain.pruneAudit,
  recordControl: control.recordControl,
  finishControl: control.finishControl,
  listControl: control.listControl,
  createToken: tokens.createToken,
  findToken: tokens.findToken,
  listTokens: tokens.listTokens,
  revokeToken: tokens.revokeToken,
  findIds: ids.findIds,
  nthId: ids.nthId,
  counts: taskCounts.counts,
  databaseSize: size.databaseSize,
  reclaimSpace: size.reclaimSpace,
};
