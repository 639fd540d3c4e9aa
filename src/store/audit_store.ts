/**
 * The storage interfaces for the audit of plugins and of the control plane, and for tokens.
 *
 * @module
 */

import type {
  AuditEnd,
  AuditQuery,
  AuditRow,
  AuditStart,
  AuditVerdict,
  ControlEnd,
  ControlEvent,
  ControlQuery,
  ControlToken,
} from "./audit_records.ts";

/** Records what plugins do. Rows form a hash chain, in which a change or a gap shows. */
export interface AuditRecorder {
  /** Writes a row with the result `running`; a plugin must not run without it. */
  startAudit(start: AuditStart): Promise<void>;
  /** Finishes a running row; has no effect on a finished one. */
  finishAudit(id: string, end: AuditEnd): Promise<void>;
  /** Writes rows of runs that are over already. */
  recordAudit(
    rows: readonly { readonly start: AuditStart; readonly end: AuditEnd }[],
  ): Promise<void>;
}

/** The audit of plugins, as an operator reads it. */
export interface AuditStore {
  /** Newest first. */
  listAudit(query: AuditQuery): Promise<AuditRow[]>;
  /** Audit rows whose id starts with `prefix`, at most two. */
  findAudit(prefix: string): Promise<AuditRow[]>;
  /** Checks whether rows were changed or removed. */
  verifyAudit(): Promise<AuditVerdict>;
  /**
   * Takes over the running rows of a node that is gone, oldest first; the caller has to finish
   * each.
   */
  claimInterruptedAudits(): Promise<AuditRow[]>;
  /**
   * Removes the oldest rows from before `before`, or beyond `keep` rows, a few at a time; returns
   * how many.
   */
  pruneAudit(before: number, keep: number): Promise<number>;
}

/** The audit of the control plane. */
export interface ControlAuditStore {
  /** Stores an operation, and removes the oldest rows of the same caller and result. */
  recordControl(event: ControlEvent): Promise<void>;
  /** Stores the end of an operation; has no effect on one that is not `started`. */
  finishControl(id: string, end: ControlEnd): Promise<void>;
  /** Newest first. */
  listControl(query: ControlQuery): Promise<ControlEvent[]>;
}

/** Bearer tokens of the control plane, found by the hash of their text. */
export interface TokenStore {
  createToken(token: ControlToken, hash: string): Promise<void>;
  findToken(hash: string): Promise<ControlToken | undefined>;
  /** Newest first. */
  listTokens(): Promise<ControlToken[]>;
  revokeToken(id: string, now: number): Promise<void>;
}
