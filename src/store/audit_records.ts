/**
 * What is kept of plugins, of the control plane and of its tokens.
 *
 * @module
 */

import type { ListQuery } from "./list_query.ts";

/** What is recorded of a plugin before it runs, or of an apply of one. */
export interface AuditStart {
  /** Identifier, sorts by time. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** What was done with it. */
  readonly action: "apply" | "execute";
  /** Kind of the CRD it belongs to. */
  readonly crdKind: string;
  /** Its name; of a hook, `hook:create` and so on. */
  readonly pluginName: string;
  /** Its shell line, as written. */
  readonly command: string;
  /** `interceptor`, `transformer`, `cron` or `hook`. */
  readonly pluginType: string;
  /** Phase of the pipeline; empty outside of it. */
  readonly phase: string;
  /** Trigger it ran for; empty outside the pipeline. */
  readonly trigger: string;
  /** Delivery it ran for; empty outside the pipeline. */
  readonly deliveryId: string;
  /** Role of who applied it; `system` for an execution. */
  readonly role: string;
  /** Mode of the policy; `closed` when the policy could not be understood. */
  readonly policyMode: string;
}

/** Results of an audit row. */
export type AuditResult =
  | "allowed"
  | "denied"
  | "audit_warning"
  | "running"
  | "ok"
  | "rejected"
  | "failed"
  | "timeout"
  | "interrupted";

/** What is recorded when it is over. */
export interface AuditEnd {
  readonly result: Exclude<AuditResult, "running">;
  /** Milliseconds since the epoch. */
  readonly finishedAt: number;
  /** Exit status, where a process ran. */
  readonly exitCode?: number;
  /** Milliseconds it took. */
  readonly durationMs?: number;
  /** The beginning of its standard error, secrets hidden; or why it was denied. */
  readonly stderr: string;
}

/** One audit row. */
export type AuditRow = AuditStart & Omit<AuditEnd, "result" | "finishedAt"> & {
  /** Where it stands. */
  readonly result: AuditResult;
  /** Milliseconds since the epoch; absent while it runs. */
  readonly finishedAt?: number;
};

/** Which audit rows a list is to hold. */
export interface AuditQuery extends ListQuery {
  /** Only with this result. */
  readonly outcome?: string;
}

/** Whether the audit is as it was written. */
export interface AuditVerdict {
  /** Rows that were checked. */
  readonly rows: number;
  /** What is wrong, one sentence each; empty when nothing is. */
  readonly faults: readonly string[];
}

/** An operation of the control plane that leaves a trace: admin work, secrets read, refusals. */
export interface ControlEvent {
  /** Identifier, sorts by time. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Name of the operation. */
  readonly operation: string;
  /** What it was about, such as `secretstore/github`. */
  readonly target: string;
  /** Who asked: `socket`, `plugin`, `step`, or the name of a token. */
  readonly caller: string;
  /** Role of the caller. */
  readonly role: string;
  /** What came of it. */
  readonly result: "done" | "denied";
}

/** A bearer token of the control plane, without its text. */
export interface ControlToken {
  /** Identifier, sorts by time. */
  readonly id: string;
  /** What it is for, in the owner's words. */
  readonly name: string;
  /** What its holder may do. */
  readonly role: "read_only" | "operator" | "admin";
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Milliseconds since the epoch; absent while it holds. */
  readonly revokedAt?: number;
}
