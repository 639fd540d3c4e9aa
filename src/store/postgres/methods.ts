/**
 * Every method of the store that is not part of a batch (`batched.ts`), by name: a transaction of
 * its own where it writes.
 *
 * @module
 */

import * as bindings from "../sql/bindings.ts";
import * as connections from "../sql/connections.ts";
import * as control from "../sql/control_audit.ts";
import * as cursors from "../sql/cursors.ts";
import * as ids from "../sql/id_search.ts";
import * as inbox from "../sql/inbox.ts";
import * as keyUses from "../sql/key_uses.ts";
import * as deliveries from "../sql/deliveries.ts";
import * as outbox from "../sql/outbox.ts";
import { recordSourceEvent } from "../sql/record_source_event.ts";
import { retryTask } from "../sql/retry_task.ts";
import * as prunedEvents from "../sql/source_event_pruning.ts";
import * as eventQueue from "../sql/source_event_queue.ts";
import { routeSourceEvent } from "../sql/source_event_routing.ts";
import * as sourceEvents from "../sql/source_events.ts";
import { forgetTaskEnd } from "../sql/task_ends.ts";
import * as tasks from "../sql/tasks.ts";
import * as tokens from "../sql/tokens.ts";
import type { StoreMethod } from "../store.ts";
import type { StoreArgs, StoreResult } from "../store_calls.ts";
import type { AuditMethod } from "./audit_batcher.ts";
import * as chain from "./audit/audit_chain.ts";
import * as auditPruning from "./audit/audit_pruning.ts";
import * as audit from "./audit/audit_rows.ts";
import type { ChangeTasks } from "../transactions/task_rows.ts";
import { claimMessages, LANE_IS_MINE } from "./claim_messages.ts";
import type { Batched } from "./batched.ts";
import * as chatLists from "./chat/chat_lists.ts";
import * as chatClaims from "./chat/claim_source_events.ts";
import type { Session } from "./database/connections.ts";
import * as size from "./database/database_size.ts";
import * as deliveryLists from "./deliveries/delivery_lists.ts";
import * as deliveryPruning from "./deliveries/prune_rows.ts";
import * as rejections from "./deliveries/rejection_rows.ts";
import * as deletion from "./deletion_rows.ts";
import * as nodes from "./nodes/node_lists.ts";
import * as adopted from "./resources/adopted_resources.ts";
import type { Waiting } from "./resources/adopted_resources.ts";
import * as resources from "./resources/resource_rows.ts";
import * as retention from "./retention_rows.ts";
import * as taskPruning from "./tasks/prune_rows.ts";
import type { Claiming } from "./tasks/task_claims.ts";
import * as taskCounts from "./tasks/task_counts.ts";
import * as taskEnds from "./tasks/task_end_rows.ts";
import * as taskLists from "./tasks/task_lists.ts";
import { changeTasks } from "./working_set/change_tasks.ts";

/** A method of {@linkcode Store} as it runs in a session. */
type Inside<Name extends StoreMethod> = (
  db: Session,
  ...args: StoreArgs<Name>
) => Promise<StoreResult<Name>>;

/** Names of those methods; audits, claims and what waits for others have classes of their own. */
export type Separate = Exclude<StoreMethod, Batched | AuditMethod | Claiming | Waiting>;

/** A method of both databases that runs a transaction of `store/transactions/` as a part of its own. */
function changing<Args extends readonly unknown[], Result>(
  method: (db: Session, changeTasks: ChangeTasks, ...args: Args) => Promise<Result>,
): (db: Session, ...args: Args) => Promise<Result> {
  return (db, ...args) =>
    method(db, (request, transaction) => changeTasks(db, request, transaction), ...args);
}

/** The methods by name. */
export const METHODS: { readonly [Name in Separate]: Inside<Name> } = {
  // nodes
  listNodes: nodes.listNodes,
  forgetNode: nodes.forgetNode,
  drainNode: nodes.drainNode,
  reportNode: nodes.reportNode,
  // resources
  loadResources: resources.loadResources,
  changeResources: resources.changeResources,
  resourceVersion: resources.resourceVersion,
  adoptResources: adopted.adoptResources,
  // deliveries
  listDeliveries: deliveryLists.listDeliveries,
  findDeliveries: deliveries.findDeliveries,
  readDelivery: deliveries.readDelivery,
  readDeliveries: deliveries.readDeliveries,
  recordRejections: rejections.recordRejections,
  listHeaderValues: deliveryLists.listHeaderValues,
  recordKeyUse: keyUses.recordKeyUse,
  listKeyUse: keyUses.listKeyUse,
  findCursor: cursors.findCursor,
  claimRun: cursors.claimRun,
  // chat
  recordSourceEvent: changing(recordSourceEvent),
  claimSourceEvents: chatClaims.claimSourceEvents,
  routeSourceEvent: changing(routeSourceEvent),
  postponeSourceEvent: eventQueue.postponeSourceEvent,
  replaySourceEvent: eventQueue.replaySourceEvent,
  listSourceEvents: chatLists.listSourceEvents,
  findSourceEvents: sourceEvents.findSourceEvents,
  findEventOfDelivery: sourceEvents.findEventOfDelivery,
  findThreadOfTask: bindings.findThreadOfTask,
  pruneSourceEvents: prunedEvents.pruneSourceEvents,
  bindThread: bindings.bindThread,
  listBindings: chatLists.listBindings,
  findBindings: bindings.findBindings,
  // tasks
  listTasks: taskLists.listTasks,
  findTasks: taskLists.findTasks,
  findPlan: tasks.findPlan,
  addToInbox: inbox.addToInbox,
  listInbox: inbox.listInbox,
  counts: taskCounts.counts,
  retryTask: changing(retryTask(taskLists.findTasks)),
  listTaskEnds: taskEnds.listTaskEnds,
  forgetTaskEnd,
  pruneDeliveries: deliveryPruning.pruneDeliveries,
  pruneTasks: taskPruning.pruneTasks,
  pruneRecords: retention.pruneRecords,
  deleteBodies: deletion.deleteBodies,
  listRecordTriggers: retention.listRecordTriggers,
  emptyLog: retention.emptyLog,
  deleteTask: deletion.deleteTask,
  deleteDelivery: deletion.deleteDelivery,
  // outbox
  addToOutbox: outbox.addToOutbox,
  claimMessages,
  finishMessage: outbox.finishMessage(LANE_IS_MINE),
  listMessages: outbox.listMessages,
  findMessages: outbox.findMessages,
  retryMessage: outbox.retryMessage,
  dropMessage: outbox.dropMessage,
  outboxCounts: outbox.outboxCounts,
  pruneOutbox: outbox.pruneOutbox,
  // connections
  listConnectionStates: connections.listConnectionStates,
  noteConnection: connections.noteConnection,
  // audit
  claimInterruptedAudits: audit.claimInterruptedAudits,
  listAudit: audit.listAudit,
  findAudit: audit.findAudit,
  verifyAudit: chain.verifyAudit,
  pruneAudit: auditPruning.pruneAudit,
  recordControl: control.recordControl,
  finishControl: control.finishControl,
  listControl: control.listControl,
  createToken: tokens.createToken,
  findToken: tokens.findToken,
  listTokens: tokens.listTokens,
  revokeToken: tokens.revokeToken,
  // ids and size
  findIds: ids.findIds,
  nthId: ids.nthId,
  databaseSize: size.databaseSize,
  reclaimSpace: size.databaseSize,
};
