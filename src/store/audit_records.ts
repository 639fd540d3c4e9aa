/**
 * Records of what plugins ran, of what was done over the control plane, and of its tokens.
 *
 * @module
 */

import type { ListQuery } from "./list_query.ts";

/** The part of an audit row that is written before a plugin runs, or when one is applied. */
export interface AuditStart {
  /** Sorts by time. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly action: "apply" | "execute";
  /** Kind of the CRD that the plugin belongs to. */
  readonly crdKind: string;
  /** Name of the plugin; for a hook `hook:create` and so on. */
  readonly pluginName: string;
  /** Shell line, as written. */
  readonly command: string;
  /** `interceptor`, `transformer`, `cron` or `hook`. */
  readonly pluginType: string;
  /** Phase of the pipeline; empty outside the pipeline. */
  readonly phase: string;
  /** Empty outside the pipeline. */
  readonly trigger: string;
  /** Empty outside the pipeline. */
  readonly deliveryId: string;
  /** Role of the caller that applied the plugin; `system` for an execution. */
  readonly role: string;
  /** Mode of the policy; `closed` when the policy file could not be understood. */
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

/** The part of an audit row that is written when the run is over. */
export interface AuditEnd {
  readonly result: Exclude<AuditResult, "running">;
  /** Milliseconds since the epoch. */
  readonly finishedAt: number;
  /** Exit status; absent where no process ran. */
  readonly exitCode?: number;
  readonly durationMs?: number;
  /** The beginning of the standard error, secrets hidden; or the reason of a denial. */
  readonly stderr: string;
}

/** One audit row. */
export type AuditRow = AuditStart & Omit<AuditEnd, "result" | "finishedAt"> & {
  readonly result: AuditResult;
  /** Milliseconds since the epoch; absent while the plugin runs. */
  readonly finishedAt?: number;
};

/** Filter of a list of audit rows. */
export interface AuditQuery extends ListQuery {
  readonly outcome?: string;
}

/** Result of verifying the audit chain. */
export interface AuditVerdict {
  /** Rows that were checked. */
  readonly rows: number;
  /** One sentence for each fault; empty when the audit is unchanged. */
  readonly faults: readonly string[];
}

/** A recorded operation of the control plane: admin work, secrets read, refusals. */
export interface ControlEvent {
  /** Sorts by time. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly operation: string;
  /** Object of the operation, such as `secretstore/github`. */
  readonly target: string;
  /** Caller: `socket`, `plugin`, `step`, the name of a Person, or that of a token (`token ci`). */
  readonly caller: string;
  /** Program through which it came, as that says itself; absent where it did not. */
  readonly client?: string;
  readonly role: string;
  /** `started` until its end is recorded, for good where the daemon died before. */
  readonly result: "started" | "done" | "failed" | "denied";
  /** Why it failed; else empty. */
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly finishedAt?: number;
}

/** Filter of a list of operations. */
export interface ControlQuery extends ListQuery {
  /** Only those of this caller. */
  readonly caller?: string;
}

/** The result of a recorded operation. */
export interface ControlEnd {
  readonly result: "done" | "failed";
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly finishedAt: number;
}

/** A bearer token of the control plane, without its text. */
export interface ControlToken {
  /** Sorts by time. */
  readonly id: string;
  /** Purpose of the token, in the owner's words. */
  readonly name: string;
  /** Its highest role; it acts with the lower of this and the role of its Person. */
  readonly role: "read_only" | "operator" | "admin";
  /** Name of the Person that it is for; absent for a token of nobody in particular. */
  readonly person?: string;
  /** Whether it acts for the Person that each request names, and never without one. */
  readonly gateway?: true;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Milliseconds since the epoch; absent while the token is valid. */
  readonly revokedAt?: number;
}
