/**
 * Every method of the store that runs in its thread, by name. The type makes sure that none is
 * missing and that each takes and gives what `Store` says.
 *
 * @module
 */

import type { Store, StoreMethod } from "../store.ts";
import type { Database } from "./database.ts";
import * as chain from "./audit_chain.ts";
import * as audit from "./audit_rows.ts";
import * as control from "./control_rows.ts";
import * as deliveries from "./delivery_rows.ts";
import * as keyUses from "./key_use_rows.ts";
import * as resources from "./resource_rows.ts";
import * as tasks from "./task_rows.ts";
import * as tokens from "./token_rows.ts";

/** A method of {@linkcode Store} as it runs inside a transaction. */
type Inside<Name extends StoreMethod> = (
  db: Database,
  ...args: Parameters<Store[Name]>
) => Awaited<ReturnType<Store[Name]>>;

/** The methods by name. */
export const METHODS: { readonly [Name in StoreMethod]: Inside<Name> } = {
  loadResources: resources.loadResources,
  changeResources: resources.changeResources,
  recordDelivery: deliveries.recordDelivery,
  recordHandshake: deliveries.recordHandshake,
  recordRejections: deliveries.recordRejections,
  listDeliveries: deliveries.listDeliveries,
  findDeliveries: deliveries.findDeliveries,
  readDelivery: deliveries.readDelivery,
  recordKeyUse: keyUses.recordKeyUse,
  listKeyUse: keyUses.listKeyUse,
  listTasks: tasks.listTasks,
  findTasks: tasks.findTasks,
  claimTasks: tasks.claimTasks,
  claimInterrupted: tasks.claimInterrupted,
  countRestarts: tasks.countRestarts,
  saveStep: tasks.saveStep,
  finishTask: tasks.finishTask,
  requeueTask: tasks.requeueTask,
  startAudit: audit.startAudit,
  finishAudit: audit.finishAudit,
  recordAudit: audit.recordAudit,
  interruptAudits: audit.interruptAudits,
  listAudit: audit.listAudit,
  findAudit: audit.findAudit,
  verifyAudit: chain.verifyAudit,
  pruneAudit: chain.pruneAudit,
  recordControl: control.recordControl,
  listControl: control.listControl,
  createToken: tokens.createToken,
  findToken: tokens.findToken,
  listTokens: tokens.listTokens,
  revokeToken: tokens.revokeToken,
  counts: tasks.counts,
};

/** Methods that change nothing; a batch of these alone needs no write transaction. */
export const READS: ReadonlySet<StoreMethod> = new Set<StoreMethod>([
  "loadResources",
  "listDeliveries",
  "findDeliveries",
  "readDelivery",
  "listKeyUse",
  "listAudit",
  "findAudit",
  "verifyAudit",
  "listControl",
  "findToken",
  "listTokens",
  "listTasks",
  "findTasks",
  "claimInterrupted",
  "counts",
]);
