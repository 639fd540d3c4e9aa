/**
 * What the program asks of storage about the audit of plugins and of the control plane, and about
 * tokens.
 *
 * @module
 */

import type {
  AuditEnd,
  AuditQuery,
  AuditRow,
  AuditStart,
  AuditVerdict,
  ControlEvent,
  ControlToken,
} from "./audit_records.ts";
import type { ListQuery } from "./list_query.ts";

/** Records what plugins do. Rows form a chain, in which a change or a gap shows. */
export interface AuditRecorder {
  /** Writes a row that says `running`; without it nothing may run. */
  startAudit(start: AuditStart): Promise<void>;
  /** Finishes a running row, once. */
  finishAudit(id: string, end: AuditEnd): Promise<void>;
  /** Writes rows of things that are over when they are known. */
  recordAudit(
    rows: readonly { readonly start: AuditStart; readonly end: AuditEnd }[],
  ): Promise<void>;
}

/** The audit of plugins as an operator sees it. */
export interface AuditStore {
  /** Newest first. */
  listAudit(query: AuditQuery): Promise<AuditRow[]>;
  /** Audit rows whose id starts with `prefix`, at most two. */
  findAudit(prefix: string): Promise<AuditRow[]>;
  /** Whether rows were changed or removed. */
  verifyAudit(): Promise<AuditVerdict>;
  /** Takes over the running rows of a node that is gone, oldest first; each has to be finished. */
  claimInterruptedAudits(): Promise<AuditRow[]>;
  /** Removes the oldest rows from before `before`, or beyond `keep` rows, a few at a time. */
  pruneAudit(before: number, keep: number): Promise<number>;
}

/** The audit of the control plane. */
export interface ControlAuditStore {
  /** Writes a trace of a control operation. */
  recordControl(event: ControlEvent): Promise<void>;
  /** Newest first. */
  listControl(query: ListQuery): Promise<ControlEvent[]>;
}

/** Bearer tokens of the control plane, found by the hash of their text. */
export interface TokenStore {
  /** Stores a token under the hash of its text. */
  createToken(token: ControlToken, hash: string): Promise<void>;
  /** The token with this hash. */
  findToken(hash: string): Promise<ControlToken | undefined>;
  /** Newest first. */
  listTokens(): Promise<ControlToken[]>;
  /** Ends a token. */
  revokeToken(id: string, now: number): Promise<void>;
}
