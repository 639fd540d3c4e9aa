/**
 * Every method of the store that is not part of a batch (`batched.ts`), by name: a transaction of
 * its own where it writes.
 *
 * @module
 */

import type { Store, StoreMethod } from "../store.ts";
import * as chain from "./audit/audit_chain.ts";
import * as auditPruning from "./audit/audit_pruning.ts";
import * as audit from "./audit/audit_rows.ts";
import * as control from "./audit/control_rows.ts";
import type { Batched } from "./batched.ts";
import type { Session } from "./database/connections.ts";
import * as outboxQueue from "./outbox/outbox_queue.ts";
import * as outbox from "./outbox/outbox_rows.ts";

/** A method of {@linkcode Store} as it runs in a session. */
type Inside<Name extends StoreMethod> = (
  db: Session,
  ...args: Parameters<Store[Name]>
) => ReturnType<Store[Name]>;

/** The methods by name. */
export const METHODS: { readonly [Name in Exclude<StoreMethod, Batched>]?: Inside<Name> } = {
  // resources
  // deliveries
  // chat
  // tasks
  // outbox
  addToOutbox: outbox.addToOutbox,
  claimMessages: outboxQueue.claimMessages,
  finishMessage: outboxQueue.finishMessage,
  listMessages: outbox.listMessages,
  findMessages: outbox.findMessages,
  retryMessage: outbox.retryMessage,
  dropMessage: outbox.dropMessage,
  outboxCounts: outbox.outboxCounts,
  pruneOutbox: outbox.pruneOutbox,
  // connections
  // audit
  startAudit: audit.startAudit,
  finishAudit: audit.finishAudit,
  recordAudit: audit.recordAudit,
  claimInterruptedAudits: audit.claimInterruptedAudits,
  listAudit: audit.listAudit,
  findAudit: audit.findAudit,
  verifyAudit: chain.verifyAudit,
  pruneAudit: auditPruning.pruneAudit,
  recordControl: control.recordControl,
  finishControl: control.finishControl,
  listControl: control.listControl,
  // ids and size
};
