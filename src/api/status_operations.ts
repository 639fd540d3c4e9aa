/**
 * The operations on the daemon as a whole.
 *
 * @module
 */

import { defineOperation, json } from "./operation.ts";
import { EVERY_RUN } from "./roles.ts";

/** State of the daemon. */
export interface Status {
  /** Version of the daemon. */
  readonly version: string;
  /** Base address of the webhook server; `null` when it is off. */
  readonly webhook_url: string | null;
  /** Absolute path of the data directory. */
  readonly data_dir: string;
  /** Process id of the daemon. */
  readonly pid: number;
  /** Whole seconds since it was ready. */
  readonly uptime_secs: number;
  /** Resources by plural name, and tasks that wait or run. */
  readonly counts: Readonly<Record<string, number>>;
  /** What waits and runs. */
  readonly queue: {
    /** Tasks that wait. */
    readonly pending: number;
    /** Of these, those that wait for their time or for room beside others. */
    readonly held: number;
    /** Tasks that run. */
    readonly running: number;
    /** Seconds the oldest waits; `null` when none does. */
    readonly oldest_pending_secs: number | null;
    /** The same of those that wait for a worker only. */
    readonly oldest_ready_secs: number | null;
  };
  /** What happened lately: deliveries by outcome, and tasks that ended by state. */
  readonly rates: Readonly<Record<"deliveries" | "tasks", Readonly<Record<string, Rate>>>>;
  /** Sizes in bytes. */
  readonly database: {
    /** `svc.db`. */
    readonly bytes: number;
    readonly wal_bytes: number;
    /** What `svc db vacuum` would give back. */
    readonly unused_bytes: number;
    /** Room left on its disk; `null` where that cannot be read. */
    readonly disk_free_bytes: number | null;
  };
  /** What does not work as it should, one sentence each. */
  readonly degraded: readonly string[];
}

/** How often something happened since the daemon was started. */
export interface Rate {
  /** In the last minute. */
  readonly last_minute: number;
  /** In the last five minutes. */
  readonly last_five_minutes: number;
}

/** The operations on the daemon, by name. */
export const STATUS_OPERATIONS = {
  "status": defineOperation({
    summary: "Tells the state of the daemon",
    input: {},
    output: json<Status>(),
    role: "read_only",
    grants: EVERY_RUN,
  }),
};
