/**
 * Every method of the store that is not part of a batch (`batched.ts`), by name: a transaction of
 * its own where it writes.
 *
 * @module
 */

import { SHARED_METHODS } from "../sql/methods.ts";
import { finishMessage } from "../sql/outbox.ts";
import { recordSourceEvent } from "../sql/record_source_event.ts";
import { retryTask } from "../sql/retry_task.ts";
import { routeSourceEvent } from "../sql/source_event_routing.ts";
import type { StoreMethod } from "../store.ts";
import type { StoreArgs, StoreResult } from "../store_calls.ts";
import type { ChangeTasks } from "../transactions/task_rows.ts";
import type { AuditMethod } from "./audit_batcher.ts";
import * as chain from "./audit/audit_chain.ts";
import * as auditPruning from "./audit/audit_pruning.ts";
import * as audit from "./audit/audit_rows.ts";
import type { Batched } from "./batched.ts";
import * as chatLists from "./chat/chat_lists.ts";
import * as chatClaims from "./chat/claim_source_events.ts";
import { claimMessages, LANE_IS_MINE } from "./claim_messages.ts";
import type { Session } from "./database/connections.ts";
import * as size from "./database/database_size.ts";
import * as deliveryLists from "./deliveries/delivery_lists.ts";
import * as deliveryPruning from "./deliveries/prune_rows.ts";
import * as rejections from "./deliveries/rejection_rows.ts";
import * as deletion from "./deletion_rows.ts";
import * as nodes from "./nodes/node_lists.ts";
import * as adopted from "./resources/adopted_resources.ts";
import type { WaitMethod } from "./resources/adopted_resources.ts";
import * as resources from "./resources/resource_rows.ts";
import * as retention from "./retention_rows.ts";
import * as taskPruning from "./tasks/prune_rows.ts";
import type { ClaimMethod } from "./tasks/task_claims.ts";
import {
  askAgain,
  noteAgentLimit,
  pruneSessions,
  settleAgentRun,
  type TurnMethod,
} from "./tasks/turn_rows.ts";
import * as taskCounts from "./tasks/task_counts.ts";
import { answerOpenWait, endAnyChild, endOpenWait } from "./tasks/wait_rows.ts";
import { pauseClaims } from "./tasks/closed_projects.ts";
import * as taskLists from "./tasks/task_lists.ts";
import { changeTasks } from "./working_set/change_tasks.ts";

/** A method of {@linkcode Store} as it runs in a session. */
type Inside<Name extends StoreMethod> = (
  db: Session,
  ...args: StoreArgs<Name>
) => Promise<StoreResult<Name>>;

/** Names of those methods. The others need more than a session, such as the claims of this store. */
export type Separate = Exclude<
  StoreMethod,
  Batched | AuditMethod | ClaimMethod | TurnMethod | WaitMethod
>;

/** A method of both databases that runs a transaction of `store/transactions/` as a part of its own. */
function changing<Args extends readonly unknown[], Result>(
  method: (db: Session, changeTasks: ChangeTasks, ...args: Args) => Promise<Result>,
): (db: Session, ...args: Args) => Promise<Result> {
  return (db, ...args) =>
    method(db, (request, transaction) => changeTasks(db, request, transaction), ...args);
}

/** The methods by name. */
export const METHODS: { readonly [Name in Separate]: Inside<Name> } = {
  ...SHARED_METHODS,
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
  recordRejections: rejections.recordRejections,
  listHeaderValues: deliveryLists.listHeaderValues,
  // chat
  recordSourceEvent: changing(recordSourceEvent),
  claimSourceEvents: chatClaims.claimSourceEvents,
  routeSourceEvent: changing(routeSourceEvent),
  listSourceEvents: chatLists.listSourceEvents,
  listBindings: chatLists.listBindings,
  // tasks
  listTasks: taskLists.listTasks,
  findTasks: taskLists.findTasks,
  counts: taskCounts.counts,
  retryTask: changing(retryTask(taskLists.findTasks)),
  listTaskEnds: taskLists.listTaskEnds,
  noteLimit: noteAgentLimit,
  settleRun: settleAgentRun,
  askBudgetsAgain: askAgain,
  pruneSessions,
  endWait: endOpenWait,
  answerWait: answerOpenWait,
  endChild: endAnyChild,
  pauseTasks: pauseClaims,
  countRunning: taskCounts.countRunning,
  listProjectRooms: taskCounts.listProjectRooms,
  pruneDeliveries: deliveryPruning.pruneDeliveries,
  pruneTasks: taskPruning.pruneTasks,
  pruneRecords: retention.pruneRecords,
  deleteBodies: deletion.deleteBodies,
  listRecordTriggers: retention.listRecordTriggers,
  emptyLog: retention.emptyLog,
  deleteTask: deletion.deleteTask,
  deleteDelivery: deletion.deleteDelivery,
  // outbox
  claimMessages,
  finishMessage: finishMessage(LANE_IS_MINE),
  // audit
  claimInterruptedAudits: audit.claimInterruptedAudits,
  listAudit: audit.listAudit,
  findAudit: audit.findAudit,
  verifyAudit: chain.verifyAudit,
  pruneAudit: auditPruning.pruneAudit,
  // size
  databaseSize: size.databaseSize,
  reclaimSpace: size.databaseSize,
};
