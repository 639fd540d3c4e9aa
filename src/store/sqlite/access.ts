/**
 * Which methods of the store write. This is the one list of their names that exists at run time: a
 * method of `Store` that is missing here does not compile.
 *
 * @module
 */

import type { StoreMethod } from "../store.ts";

/**
 * Access of each method. A batch of calls that all read needs no write transaction, and continues
 * while another process writes.
 */
export const ACCESS: { readonly [Name in StoreMethod]: "read" | "write" } = {
  loadResources: "read",
  changeResources: "write",
  recordDelivery: "write",
  recordHandshake: "write",
  recordRejections: "write",
  listDeliveries: "read",
  findDeliveries: "read",
  readDelivery: "read",
  recordSourceEvent: "write",
  claimSourceEvents: "write",
  routeSourceEvent: "write",
  postponeSourceEvent: "write",
  replaySourceEvent: "write",
  listSourceEvents: "read",
  findSourceEvents: "read",
  findEventOfDelivery: "read",
  findThreadOfTask: "read",
  pruneSourceEvents: "write",
  bindThread: "write",
  listBindings: "read",
  findBindings: "read",
  recordKeyUse: "write",
  listKeyUse: "read",
  listTasks: "read",
  findTasks: "read",
  claimTasks: "write",
  claimInterrupted: "write",
  countRestarts: "write",
  saveStep: "write",
  finishTask: "write",
  requeueTask: "write",
  cancelTask: "write",
  retryTask: "write",
  setTaskDirectory: "write",
  addToInbox: "write",
  listInbox: "read",
  listTaskEnds: "read",
  forgetTaskEnd: "write",
  pruneTasks: "write",
  pruneDeliveries: "write",
  findCursor: "read",
  moveCursor: "write",
  findPlan: "read",
  startAudit: "write",
  finishAudit: "write",
  recordAudit: "write",
  claimInterruptedAudits: "write",
  listAudit: "read",
  findAudit: "read",
  verifyAudit: "read",
  pruneAudit: "write",
  recordControl: "write",
  finishControl: "write",
  listControl: "read",
  createToken: "write",
  findToken: "read",
  listTokens: "read",
  revokeToken: "write",
  findIds: "read",
  counts: "read",
  databaseSize: "read",
  reclaimSpace: "write",
};
